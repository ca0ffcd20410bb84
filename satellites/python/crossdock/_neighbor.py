"""The persistent neighbor exchange."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from crossdock import _operations
from crossdock._context import Context, Topology, inner_of
from crossdock._extension import extension, inner_property, place_of_caller
from crossdock._pattern import Pattern
from crossdock._pictured import Pictured, pictures
from crossdock._started import Routed

Array = npt.NDArray[Any]
Arrays = TypeVar("Arrays", Array, Sequence[Array])

_LISTED_RANKS = 32


class Plan(Pictured):
    """One rank's part of a plan, as `NeighborExchange.plan` and `PreparedBatch.plan` give it; it is not changed by what happens later.

    Its picture is that of ``crossdock draw`` with the messages that this rank sends or receives, in which up to 32
    ranks are shown each by itself.
    """

    def __init__(self, topology: Topology, json_text: str, text: str) -> None:
        self._topology = topology
        self._json = json_text
        self._text = text
        self._read: dict[str, Any] = json.loads(json_text)

    @property
    def rank(self) -> int:
        """The rank whose part it is."""
        return int(self._read["rank"])

    @property
    def route(self) -> str:
        """The route that it was compiled along."""
        return str(self._read["route"])

    def to_string(self) -> str:
        """Return it for people, a few lines for each stage."""
        return self._text

    def to_json(self) -> str:
        """Return it as JSON."""
        return self._json

    def __repr__(self) -> str:
        return f"<Plan of rank {self.rank} on {self._topology} by {self.route}>"

    def _stages(self) -> list[tuple[dict[int, int], dict[int, int]]]:
        """Return, for each stage, the items to each destination and from each source."""
        return [({one["destination"]: len(one["positions"]) for one in stage["sends"]},
                 {one["source"]: one["num_items"] for one in stage["receives"]}) for stage in self._read["stages"]]

    def _rows(self) -> list[dict[str, Any]]:
        return [{"stage": number, "messages sent": len(sent), "items sent": sum(sent.values()),
                 "messages received": len(received), "items received": sum(received.values())}
                for number, (sent, received) in enumerate(self._stages())]

    def _draw(self) -> Any:
        region_of = self._topology.region_of
        stages = [[*((self.rank, other, items) for other, items in sent.items()),
                   *((other, self.rank, items) for other, items in received.items())]
                  for sent, received in self._stages()]
        ranks = {self.rank}.union(*({source, destination} for stage in stages for source, destination, _ in stage))
        places = {rank: place for place, rank in enumerate(sorted(ranks, key=lambda rank: (region_of(rank), rank)))}
        sent = {name: [0] * len(places) for name in ("messages", "items", "inter_region_messages",
                                                     "inter_region_items")}
        drawn = []
        for messages in stages:
            cells = []
            for source, destination, items in messages:
                is_between = region_of(source) != region_of(destination)
                cells.append((places[source], places[destination], items, items * is_between))
                for prefix, times in (("", 1), ("inter_region_", is_between)):
                    sent[f"{prefix}messages"][places[source]] += times
                    sent[f"{prefix}items"][places[source]] += times * items
            drawn.append({"messages": len(cells), "items": sum(cell[2] for cell in cells), "cells": cells,
                          "sends": [cell[:3] for cell in cells]})
        return pictures("plan").draw({
            "rank": self.rank, "ranks": self._topology.num_ranks, "regions": self._topology.num_regions,
            "topology": str(self._topology), "route": self.route, "dedup": self._read["dedup"],
            "places": [{"rank": rank, "region": region_of(rank)} for rank in places],
            "ranks_per_cell": 0 if len(places) <= _LISTED_RANKS else 1, "sent": sent, "stages": drawn})


class NeighborExchange(Routed):
    """A pattern compiled along a route and ready to be exchanged again and again.

    A forward exchange copies items into the slots that need them; a reverse one brings what is in the slots home and
    combines it into the items. Items are what an index of the first dimension names: of an array of shape
    ``(num_items, 3)`` rows of 3 numbers travel. Arrays are C-contiguous NumPy arrays, or offer a buffer or DLPack; they
    are not copied, and have any dtype without Python objects, the same on all ranks.

    ============  ===================================================================  ==================
    state         legal calls                                                          next
    ============  ===================================================================  ==================
    idle          `start`, `start_reverse`                                             active
    idle          `exchange`, `reverse`, `prepare`, `duplicate`                        idle
    active        `test` that returns True, `wait`                                     idle
    active        `duplicate`                                                          active
    idle, closed  `close`                                                              closed
    ============  ===================================================================  ==================

    Every rank starts the same exchanges of one object in the same order. If a start fails on one rank, this rank takes
    part with nothing: `test` and `wait` of the ranks that need something of it raise `PeerFailedError`, which names the
    rank. Then all ranks may make the next start. While an exchange is active, the input must not change, the output
    must not be read, and the rank must not block elsewhere, in ``comm.Barrier`` say, for what another rank does only
    after its wait: ranks forward for others inside `test`, `wait` and the library's collective calls. An object that is
    dropped while it is active keeps its arrays for good; finalizers do not communicate.

    Collective over `world`; blocks.

    Parameters
    ----------
    world : Context
        Stays open as long as the exchange.
    pattern : Pattern
        This rank's; not kept.
    dtype : dtype_like, optional
        Of the items that exchanges are made ready for now, such as ``(float, 3)`` for rows of three; a start then
        waits for nobody. The first start with items of another size makes them ready: it blocks until the other ranks
        of the node start it too, and no rank may wait for another one in between. `prepare` avoids that. The last
        eight sizes stay ready. None: nothing is made ready now, and later only the direction that starts.
    route : str
        A route with its parameters, such as ``"three_step"`` or ``"grid:2"``; ``"auto"``: the one that is estimated to
        be cheapest; ``"auto:measure"``: the fastest of the cheapest few, which the first exchanges try.
    deduplicate : bool
        An item whose destinations share the next hop is sent there once.
    executor : {"auto", "persistent", "shared_memory"}
        What runs the plan.
    max_message_bytes : int
        Longer messages are sent in parts.
    prepare : {"both", "forward"}
        What is made ready, if `dtype` is given.
    reproducible : bool
        Reverse exchanges give the same bits on any route, executor and topology, for as many ranks and the same
        pattern. Nothing is combined on the way, as though `deduplicate` were False.
    name : str
        In reports; by default the place of the call, such as ``"solver.py:120"``. Rank 0's counts.

    Raises
    ------
    InvalidArgumentError
        An argument has another type, or differs between ranks; on all ranks.
    UnknownRouteError, InvalidRouteError
        As the route is; on all ranks.
    SizeMismatchError
        The pattern is of another number of ranks than the context; on all ranks.
    CountMismatchError
        A sender and its receiver disagree; on all ranks, with both in the text.

    Examples
    --------
    >>> halo = NeighborExchange(world, pattern)
    >>> halo.start(x, ghosts)
    >>> y = inner @ x
    >>> halo.wait()
    """

    _topology: Topology

    def __init__(self, world: Context, pattern: Pattern, dtype: npt.DTypeLike | None = float, *, route: str = "auto",
                 deduplicate: bool = True, executor: str = "auto", max_message_bytes: int = 1 << 30,
                 prepare: str = "both", reproducible: bool = False,
                 name: str = "") -> None:
        self._inner = extension.NeighborExchange.make(
            inner_of(world), getattr(pattern, "_inner", pattern), dtype, route, deduplicate, executor,
            max_message_bytes, prepare, reproducible, name or place_of_caller())
        self._topology = world.topology

    def duplicate(self) -> NeighborExchange:
        """Return a second exchange on the same plan, which may be active at the same time.

        Collective; waits for the ranks of the node.
        """
        made = NeighborExchange._of(self._inner.duplicate())
        made._topology = self._topology
        return made

    def prepare(self, dtype: npt.DTypeLike) -> None:
        """Make items of a size ready, so that no start waits: in both directions, or as `prepare` says.

        Collective; waits for the ranks of the node.

        Raises
        ------
        InvalidArgumentError
            There is no such dtype, or its values are Python objects; on all ranks.
        InvalidStateError
            An exchange is active, or something is closed.
        """
        self._inner.prepare(dtype)

    def start(self, items: Array | Sequence[Array], out: Array | Sequence[Array]) -> None:
        """Start to copy items into the slots that need them; waits for nobody, but where it makes items ready.

        `items` and `out` may be views of one array, if no item that is sent lies where a slot is filled. Lists of
        equally many arrays, of one dtype and equal trailing dimensions, travel in one set of messages.

        Parameters
        ----------
        items : ndarray, shape (num_items, ...), or list of them
            Must not change until the exchange is complete.
        out : ndarray, shape (num_slots, ...), or list of as many
            Of the same dtype and trailing dimensions. Slots that no item comes to stay as they are.

        Raises
        ------
        TypeError
            The dtypes differ or have Python objects, or something is no array.
        ValueError
            A length or shape does not fit, `out` is read-only, an array is not C-contiguous, or an item that is sent
            lies where a slot is filled.
        InvalidStateError
            An exchange is active, or something is closed.
        """
        self._inner.start(items, out)

    def start_reverse(self, slots: Array | Sequence[Array], out: Array | Sequence[Array],
                      op: _operations.Operation = "sum") -> None:
        """Start ``out[i] = op(out[i], all slots that item i is sent to)``; waits as `start`.

        Values combine in an order that depends on the plan alone: the same plan and input give the same bits.

        Parameters
        ----------
        slots : ndarray, shape (num_slots, ...), or list of them
            Must not change until the exchange is complete.
        out : ndarray, shape (num_items, ...), or list of as many
            Of the same dtype and trailing dimensions; combined into.
        op : {"sum", "prod", "min", "max", "fmin", "fmax", "bit_or", "bit_and", "bit_xor"}, numpy.ufunc or mpi4py.MPI.Op
            Associative and commutative. A ufunc of two arguments may be any, one of ``numpy.frompyfunc`` excepted;
            what it raises, `wait` and `test` raise when the exchange is complete.

        Raises
        ------
        TypeError, ValueError, InvalidStateError
            As `start`; or the values have no such operation.
        """
        self._inner.start_reverse(slots, out, op)

    @contextlib.contextmanager
    def _before_start(self, *, is_reverse: bool = False) -> Iterator[None]:
        """Do to the other ranks, where something raises, what a start that fails does."""
        try:
            yield
        except BaseException as fault:
            self._inner.fail_start(is_reverse, str(fault))
            raise

    def forward(self, items: Arrays, out: Arrays | None = None) -> Arrays:
        """Copy items into the slots that need them: `start` and `wait`.

        Parameters
        ----------
        items : ndarray, shape (num_items, ...), or list of them
        out : ndarray, shape (num_slots, ...), or list of as many, optional
            By default new arrays; slots that no item comes to are then zero.

        Returns
        -------
        ndarray, shape (num_slots, ...), or list of them
            `out`.
        """
        if out is None:
            with self._before_start():
                out = cast(Arrays, self._room_for(items))
        self._inner.forward(items, out)
        return out

    def _room_for(self, items: Any) -> Any:
        if isinstance(items, (list, tuple)):
            return [self._room_for(one) for one in items]
        array = extension.as_array(items, "items")
        return np.zeros((self.num_slots, *array.shape[1:]), array.dtype)

    def reverse(self, slots: Arrays, out: Arrays, op: _operations.Operation = "sum") -> Arrays:
        """Combine what is in the slots into the items: `start_reverse` and `wait`.

        Returns
        -------
        ndarray, shape (num_items, ...), or list of them
            `out`.
        """
        self.start_reverse(slots, out, op)
        self.wait()
        return out

    num_items = inner_property("num_items", int, "The length of the local array.")
    num_slots = inner_property("num_slots", int, "The length of the output array.")

    @property
    def plan(self) -> Plan:
        """This rank's part of the plan; during trials that of the last exchange.

        Raises
        ------
        InvalidStateError
            The exchange is closed.
        """
        return Plan(self._topology, *self._inner.plan())

    def __repr__(self) -> str:
        if not self.is_open:
            return "<NeighborExchange: closed>"
        return f"<NeighborExchange: {self.num_items} items to {self.num_slots} slots by {self.route}>"
