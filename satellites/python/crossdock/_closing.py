"""What ends with a ``with`` statement."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import TypeVar

Own = TypeVar("Own", bound="Closing")


class Closing(ABC):
    """An object that all ranks close together."""

    @abstractmethod
    def close(self) -> None:
        """Free what only all ranks together can; nothing if it is closed. Collective."""

    def _closes_after_failure(self) -> bool:
        """Return whether a rank that fails alone may close: where the others never come, a collective call waits."""
        return False

    def __enter__(self: Own) -> Own:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        if kind is None or self._closes_after_failure():
            self.close()
