"""Streams: chunks of rows from files and iterators, in constant memory.

A source has ``n_features``, ``n_labels``, ``facts()``, which makes a pass, and ``chunks(rows,
epoch)``, which begins a pass and gives ``(X, y, weight)`` for ``rows`` rows at a time:

- ``SvmlightFile`` and ``VWFile``: text in the formats of svmlight and Vowpal Wabbit, packed or not
- ``RowsFile``: a file that ``write_rows`` wrote, mapped into memory
- ``Chunks``: chunks that your program makes; ``as_source`` makes a source from any chunks

``cached`` parses a source once into a file of rows; ``Shuffled`` changes the order within windows.
``mapped`` makes one matrix of all rows, mapped into memory.  The rows do not depend on the size of
the chunks.

>>> from lazynet.data import Chunks, Shuffled
>>> source = Chunks([([[1.0, 0.0], [0.0, 2.0]], [1, 0])])
>>> for X, y, weight in Shuffled(source, window=100, seed=1).chunks(rows=2):
...     print(X.toarray().tolist(), y, weight)
[[1.0, 0.0], [0.0, 2.0]] [1. 0.] None
"""

from lazynet.data.chunks import Chunk
from lazynet.data.mapped_files import RowsFile, cached, write_rows
from lazynet.data.mapped_matrix import mapped
from lazynet.data.source import Chunks, Facts, Shuffled, Source, as_source
from lazynet.data.text_files import SvmlightFile, VWFile

__all__ = [
    "Chunk",
    "Chunks",
    "Facts",
    "RowsFile",
    "Shuffled",
    "Source",
    "SvmlightFile",
    "VWFile",
    "as_source",
    "cached",
    "mapped",
    "write_rows",
]
