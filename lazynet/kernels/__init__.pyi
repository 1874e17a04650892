# The kernels are compiled: what they hold has no types for a type checker.
from typing import Any

def __getattr__(name: str) -> Any: ...
