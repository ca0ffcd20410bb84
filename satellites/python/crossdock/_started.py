"""What is started and waited for, again and again."""

from __future__ import annotations

from typing import NamedTuple

from crossdock._closing import Closing
from crossdock._extension import Wrapper, inner_property


class Traffic(NamedTuple):
    """What a rank sends: all of it, and the part that leaves its region."""

    messages: int
    items: int
    inter_region_messages: int
    inter_region_items: int


class Started(Wrapper):
    """What was started is active until `test` or `wait` completes it."""

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

    is_active = inner_property("is_active", bool, "Whether something was started and is not complete.")


class Routed(Started, Closing):
    """Started, and travels on a route."""

    route = inner_property("route", str, "The route that items travel on; during trials that of the last start.")
    is_open = inner_property("is_open", bool, "Whether nobody has closed the object.")
    is_trying = inner_property(
        "is_trying", bool, 'Whether ``"auto:measure"`` is still trying routes, and methods of a gather-scatter.')
    tried_routes: dict[str, float] = inner_property(
        "tried_routes", dict, 'What ``"auto:measure"`` tried so far: the seconds of each route on the slowest rank.')

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
