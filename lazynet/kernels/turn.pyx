"""A lock that is held for the length of one call.

The class is compiled because a signal may arrive between any two instructions of Python: between
taking a lock and entering the block that releases it, for example.  Here a signal arrives before,
during or after the call.

Property: after any interrupts the lock is free (tests/safe/test_interrupts.py).
"""

cimport cython

from os import getpid
from threading import RLock, get_ident


@cython.binding(False)  # a method then checks the type of self
cdef class Turn:
    """Calls that share a turn happen one after the other; a call within a call happens at once."""

    cdef object lock
    cdef object owner      # the thread that holds the lock, while depth > 0
    cdef Py_ssize_t depth  # calls under way, one within the other
    cdef object process    # the process that made the lock

    def __cinit__(self):
        self.begin()

    cdef void begin(self) except *:
        self.lock, self.owner, self.depth, self.process = RLock(), None, 0, getpid()

    cdef void begin_if_forked(self) except *:
        """Make a new lock in a forked process, where the thread that held the lock is missing."""
        if self.process != getpid():
            self.begin()

    def held(self):
        """Whether this thread is in a call already."""
        self.begin_if_forked()
        return self.depth > 0 and self.owner == get_ident()

    def call(self, function, *arguments, **options):
        """Wait for the turn, and call ``function``."""
        self.begin_if_forked()
        self.lock.acquire()
        self.owner = get_ident()
        self.depth += 1
        try:
            return function(*arguments, **options)
        finally:
            self.depth -= 1
            self.lock.release()
