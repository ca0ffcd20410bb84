"""What is started and waited for, again and again."""

from __future__ import annotations

from typing import Any, NamedTuple

from crossdock._closing import Closing


class Traffic(NamedTuple):
    """What a rank sends: all of it, and the part that leaves its region."""

    messages: int
    items: int
    inter_region_messages: int
    inter_region_items: int


class Started:
    """What was started is active until `test` or `wait` completes it."""

    _inner: Any

    def test(self) -> bool:
        """Make progress without waiting; True if what was started is complete and its output valid.

        Raises
        ------
        InvalidStateError
            Nothing is active.
        PeerFailedError
            Another rank's start failed, so that items are missing; what was started is over.
        """
        return bool(self._inner.test())

    def wait(self) -> None:
        """Complete what was started. Releases the GIL.

        Ctrl-C raises KeyboardInterrupt; what was started is then still active.

        Raises
        ------
        InvalidStateError
            Nothing is active.
        PeerFailedError
            As `test`.
        """
        self._inner.wait()

    @property
    def is_active(self) -> bool:
        """Whether something was started and is not complete."""
        return bool(self._inner.is_active)


class Routed(Started, Closing):
    """Started, and travels on a route."""

    @property
    def route(self) -> str:
        """The route that items travel on; during trials that of the last start."""
        return str(self._inner.route)

    @property
    def is_open(self) -> bool:
        """Whether nobody has closed the object."""
        return bool(self._inner.is_open)

    @property
    def is_trying(self) -> bool:
        """Whether ``"auto:measure"`` is still trying routes, and methods of a gather-scatter."""
        return bool(self._inner.is_trying)

    @property
    def tried_routes(self) -> dict[str, float]:
        """What ``"auto:measure"`` tried so far: the seconds of each route on the slowest rank."""
        return dict(self._inner.tried_routes())

    def statistics(self) -> Traffic:
        """Return what this rank sends in all stages of a forward exchange, or of a combination that is not transposed."""
        return Traffic(*self._inner.statistics())

    def explain(self) -> str:
        """Return the route, a gather-scatter's method, and what each candidate was estimated to cost, as lines of text."""
        return str(self._inner.explain())

    def close(self) -> None:
        """Give memory back; nothing if it is closed. Does not communicate.

        Raises
        ------
        InvalidStateError
            Something is active.
        """
        self._inner.close()

    def _closes_after_failure(self) -> bool:
        return not self.is_active
