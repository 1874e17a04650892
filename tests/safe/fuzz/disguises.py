"""Copies of arrays that lie in memory in unusual ways, with the same numbers."""

import ctypes
import mmap
import os

import numpy as np


def read_only(array):
    """A copy that cannot be written to."""
    copy = array.copy()
    copy.flags.writeable = False
    return copy


def byte_swapped(array):
    """A copy in the byte order of other machines."""
    return array.astype(array.dtype.newbyteorder())


def misaligned(array):
    """A copy that begins at an odd address."""
    if array.dtype.hasobject:
        return array.copy()
    room = np.zeros(array.nbytes + 1, dtype=np.uint8)
    copy = np.frombuffer(room.data, dtype=array.dtype, count=array.size, offset=1)
    copy = copy.reshape(array.shape)
    copy[...] = array
    return copy


def strided(array):
    """A view of every other entry of a longer array, with junk between."""
    room = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), dtype=array.dtype)
    view = room[..., ::2]
    view[...] = array
    return view


def fortran(array):
    """A copy, one column after the other."""
    return np.asfortranarray(array.copy())


_PAGE = mmap.PAGESIZE
_PROTECT = getattr(ctypes.CDLL(None), "mprotect", None) if os.name == "posix" else None


def fenced(array, *, front=False):
    """A copy behind whose end (or before whose beginning) there is memory that kills who reads it.

    Where the system has no such memory, a plain copy.
    """
    if _PROTECT is None or array.size == 0 or array.dtype.hasobject:
        return array.copy()
    pages = -(-array.nbytes // _PAGE)
    room = mmap.mmap(-1, (pages + 1) * _PAGE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(room))
    fence = 0 if front else pages * _PAGE
    _PROTECT(ctypes.c_void_p(address + fence), ctypes.c_size_t(_PAGE), 0)
    start = _PAGE if front else pages * _PAGE - array.nbytes
    copy = np.frombuffer(room, dtype=array.dtype, count=array.size, offset=start)
    copy = copy.reshape(array.shape)
    copy[...] = array
    return copy


#: Disguises by name; every one keeps shape and values.
DISGUISES = {
    disguise.__name__: disguise
    for disguise in (read_only, byte_swapped, misaligned, strided, fortran, fenced)
}


def overlapping(array, other):
    """An array of the length and type of ``array`` in the memory of ``other``, where it fits."""
    flat = np.ascontiguousarray(other).reshape(-1).view(np.uint8) if other.size else other
    if other.size == 0 or not other.flags.c_contiguous or array.nbytes > flat.nbytes:
        return array
    return flat[: array.nbytes].view(array.dtype).reshape(array.shape)


#: Integers that are seldom a place in an array; the last three fit in no signed integer of 64 bits.
ODD_INTEGERS = [-7, -1, 1, 7, 1000, 2**31 - 1, 2**31, -(2**31), 2**62, -(2**63), 2**63 - 1,
                2**63, 2**64, 10**30]  # fmt: skip
ODD_REALS = [np.nan, np.inf, -np.inf, 1e300, -1e300, -1.0, 0.0, -0.0, 5e-324, 1e18, 2.5]


def with_an_odd_entry(array, random):
    """A copy with an odd number at one place, and this number."""
    new, pool = array.copy(), ODD_REALS
    if array.dtype.kind != "f":
        limits = np.iinfo(array.dtype)
        pool = [min(max(odd, limits.min), limits.max) for odd in ODD_INTEGERS[:-3]]
    odd = pool[random.integers(len(pool))]
    with np.errstate(all="ignore"):
        new.flat[random.integers(new.size)] = odd
    return new, odd


def another_array(old, given, random):
    """Something else in place of an array, which may lie in the memory of those that are given."""
    choice = int(random.integers(8)) if old.ndim and old.dtype.kind in "fiu" else 6
    if choice == 0:
        name = str(random.choice(list(DISGUISES)))
        return DISGUISES[name](old), name
    if choice == 1:
        size = int(random.choice([0, max(0, len(old) - 1), len(old) + 1, 2 * len(old)]))
        new = np.zeros((size, *old.shape[1:]), dtype=old.dtype)
        new[: len(old)] = old[:size]
        return fenced(new), f"of length {size}"
    if choice == 2:
        kinds = ["f4", "f8", "i1", "i4", "i8", "u8", "O", "c16", "?", "U3", "V4", "f2"]
        kind = str(random.choice(kinds))
        return np.zeros(old.shape, dtype=kind), f"of type {kind}"
    if choice == 3:
        shape = [(1, *old.shape), (*old.shape, 1), (), old.shape[:1] * 2][random.integers(4)]
        return np.zeros(shape, dtype=old.dtype), f"of shape {shape}"
    if choice == 4:
        arrays = [other for other in given.values()
                  if isinstance(other, np.ndarray) and not other.dtype.hasobject]  # fmt: skip
        return overlapping(old, arrays[random.integers(len(arrays))]), "overlapping"
    if choice == 5 and old.size:
        new, odd = with_an_odd_entry(old, random)
        return fenced(new), f"holding {odd}"
    if choice == 6:
        new = [None, old.tolist(), memoryview(old.copy()), "x", 3, bytearray(64), object(),
               np.ma.masked_array(old.copy())][random.integers(8)]  # fmt: skip
        return new, f"{type(new).__name__}"
    return np.broadcast_to(np.zeros((), old.dtype), old.shape), "of strides 0"
