from collections.abc import Callable
from typing import Any, TypeVar

Result = TypeVar("Result")

class Turn:
    def held(self) -> bool: ...
    def call(self, function: Callable[..., Result], *arguments: Any, **options: Any) -> Result: ...
