"""Examples of modules that need what is not installed are left out."""

from importlib.util import find_spec

_NEED_DASK = ["lazynet/dask/*", "paper_repro/killed_workers.py"]
collect_ignore_glob = [] if find_spec("distributed") else _NEED_DASK
