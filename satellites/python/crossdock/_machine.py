"""Machines: what messages cost."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from crossdock._extension import extension
from crossdock._pictured import table_of

_LEVELS = ("self", "region", "node", "network")
_SCHEMA = "crossdock.machine/1"


@dataclass(frozen=True)
class Protocol:
    """How long a message is on its way: ``latency_seconds + bytes * seconds_per_byte``."""

    latency_seconds: float
    seconds_per_byte: float


@dataclass(frozen=True)
class Level:
    """What a message costs between two ranks of a level.

    Attributes
    ----------
    eager, rendezvous : Protocol
        The way of messages of up to `rendezvous_bytes`, and of longer ones.
    rendezvous_bytes : int
    send_overhead_seconds, receive_overhead_seconds : float
        How long a message keeps a core busy.
    """

    eager: Protocol
    rendezvous: Protocol
    rendezvous_bytes: int
    send_overhead_seconds: float
    receive_overhead_seconds: float


@dataclass(frozen=True)
class Machine:
    """The cost parameters of a machine; docs/machines.md says what each means.

    `dataclasses.replace` makes another machine of it. All that takes the name of a machine takes such an object.

    Attributes
    ----------
    name, description : str
    levels : dict of Level
        Of ``"self"``, ``"region"``, ``"node"`` and ``"network"``.
    injection_seconds_per_byte, matching_seconds, copy_seconds_per_byte, copy_seconds_per_item : float
    hand_over_seconds, time_slice_seconds : float
    num_cores : int
        That all ranks share; 0 if each has its own.
    sources : dict of str
        Where each number comes from.
    device : dict or None
        What it costs to exchange arrays of devices, as the file has it.
    fit_errors : dict of float
        If it was measured here: by what share, in the median, measurements are off what was fitted to them. It is no
        part of the machine's file.
    """

    name: str
    description: str
    levels: dict[str, Level]
    injection_seconds_per_byte: float
    matching_seconds: float
    copy_seconds_per_byte: float
    copy_seconds_per_item: float
    hand_over_seconds: float
    num_cores: int
    time_slice_seconds: float
    sources: dict[str, str]
    device: dict[str, Any] | None = None
    fit_errors: dict[str, float] = field(default_factory=dict, compare=False)

    @classmethod
    def load(cls, machine: str) -> Machine:
        """Return a machine that comes with the library, by its name, or that of a file, by its path.

        Raises
        ------
        FileError
            There is no such machine or file.
        ParseError, InvalidArgumentError
            The file describes no machine.
        """
        return machine_of(extension.machine_json(machine))

    def to_json(self) -> str:
        """Return what a machine's file has in it."""
        fields = asdict(self)
        del fields["fit_errors"]
        if self.device is None:
            del fields["device"]
        return json.dumps({"schema": _SCHEMA, **fields}, indent=2, default=str)

    def records(self) -> list[dict[str, Any]]:
        """Return a flat record for each level, as ``pandas.DataFrame`` takes them."""
        return [{"machine": self.name, "level": name}
                | {f"{protocol}_{number}": value for protocol in ("eager", "rendezvous")
                   for number, value in asdict(getattr(level, protocol)).items()}
                | {number: getattr(level, number) for number in
                   ("rendezvous_bytes", "send_overhead_seconds", "receive_overhead_seconds")}
                for name, level in self.levels.items()]

    def _repr_html_(self) -> str:
        return table_of(self.records())


def machine_of(text: str, fit_errors: dict[str, float] | None = None) -> Machine:
    """Return the machine that JSON describes."""
    fields = json.loads(text)
    del fields["schema"]
    given = fields.pop("levels")
    levels = {name: Level(**given[name] | {kind: Protocol(**given[name][kind]) for kind in ("eager", "rendezvous")})
              for name in _LEVELS}
    return Machine(**fields, levels=levels, fit_errors=fit_errors or {})


def text_of_machine(given: str | Machine) -> Any:
    """Return a machine as the extension takes it."""
    return given.to_json() if isinstance(given, Machine) else given
