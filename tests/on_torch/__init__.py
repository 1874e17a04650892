"""Blocks of rows on Dask workers: the same bits as in one process, whatever happens."""
