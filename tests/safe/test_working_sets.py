"""A working set stays inside its arrays, in whatever order its methods are called.

A call that makes no sense is refused before it touches memory, and changes nothing.
"""

import contextlib
import threading

import numpy as np
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from scipy import sparse
from support.matrices import compact_rows

from lazynet.data.arrays import as_examples
from lazynet.kernels.newton import NewtonColumns

NUMBERS = st.one_of(st.floats(), st.sampled_from([0.0, 1.0, 1e300, -1e300, 1e-300]))


def columns_of(X, y, *options):
    """All columns of the rows, filled."""
    columns = NewtonColumns(compact_rows(X), as_examples(X, y), *options)
    while columns.fill()[1] < X.shape[0]:
        pass
    return columns


@hypothesis_settings(max_examples=150)
@given(data=st.data())
def test_any_methods_in_any_order(data):
    """Any numbers, lengths and features: a result or a ValueError, and never a stray write."""
    n, d = data.draw(st.sampled_from([(0, 0), (0, 3), (3, 0), (1, 1), (6, 4)]))
    X = sparse.csr_matrix(np.arange(n * d, dtype=float).reshape(n, d) % 3)
    columns = columns_of(X, np.ones(n), data.draw(st.integers(0, 7)), 0.1, data.draw(NUMBERS),
                         data.draw(NUMBERS), data.draw(st.booleans()))  # fmt: skip

    def vector(length):
        sound = st.just(length) | st.just(length) | st.integers(0, 8)
        return np.full(data.draw(sound), data.draw(NUMBERS))

    def start():
        nu = data.draw(st.sampled_from([0.0, 0.5]) | NUMBERS)
        l1, l2, intercept = (data.draw(NUMBERS) for _ in range(3))
        columns.start(l1, l2, vector(d), intercept, nu, vector(n if nu > 0.0 else 0))

    calls = {
        "start": start,
        "model": lambda: columns.model(data.draw(NUMBERS)),
        "descend": lambda: columns.descend(data.draw(NUMBERS)),
        "read": lambda: columns.read(vector(d), vector(n)),
        "predictions": lambda: columns.predictions(vector(n)),
        "search": columns.search,
        "refresh": columns.refresh,
    }
    names = st.sampled_from(["join", "candidates", *calls])
    for method in data.draw(st.lists(names, max_size=25)):
        with contextlib.suppress(ValueError):
            if method == "join":
                numbers = st.integers(-1, d) | st.sampled_from([10**12, -(2**63), 2**63 - 1])
                new = data.draw(st.lists(numbers, max_size=4) | st.just(list(range(d))))
                before = len(columns)
                with contextlib.suppress(ValueError):
                    columns.join(np.array(new, dtype=np.int64))
                    assert {*new} <= {*range(d)}
                    assert len({*new}) == len(new)
                assert len(columns) in (before, before + len(new))
            elif method == "candidates":
                found = columns.candidates(vector(d), data.draw(NUMBERS))
                assert ((found >= 0) & (found < d)).all()
            else:
                calls[method]()
        assert 0 <= len(columns) <= d


def test_a_second_thread_is_refused_while_a_call_is_under_way():
    """Were it let in, it could move the arrays that the call works on."""
    X = sparse.random(3000, 600, density=0.3, format="csr", random_state=0)
    columns = columns_of(X, np.where(np.arange(3000) % 2, 1.0, -1.0), 0, 0.1, 0.25, 1 / 3000, True)
    columns.join(np.arange(300))
    columns.start(0.0, 0.0, np.zeros(600), 0.0, 0.0, np.zeros(0))
    done, refused = threading.Event(), []

    def work():
        for _ in range(20):
            with contextlib.suppress(RuntimeError):
                columns.model(0.0)
                columns.descend(1e-12)
                columns.refresh()
        done.set()

    worker = threading.Thread(target=work)
    worker.start()
    while not done.is_set():
        try:
            columns.join(np.zeros(1, np.int64))  # a column that has joined: refused at any time
        except RuntimeError as error:
            refused.append(str(error))
        except ValueError:
            pass
    worker.join()
    assert refused
    assert set(refused) == {"a working set is used by one thread at a time"}
    assert len(columns) == 300
