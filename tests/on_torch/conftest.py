"""One thread: the tests of all packages share the processors."""

from importlib.util import find_spec

if find_spec("torch"):
    import torch

    torch.set_num_threads(1)
    torch.sparse.check_sparse_tensor_invariants.disable()  # and no warning that asks for a choice
else:
    collect_ignore = ["scripts.py", "twins.py"]
