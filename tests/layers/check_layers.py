#!/usr/bin/env python3
"""Fails on an include that points backward between rooms, and on mpi.h outside the rooms that may use it.

usage: check_layers.py [project folder]
"""
import re
import sys
from pathlib import Path

from checker import check

# room: the rooms to its left that it builds on directly
LEFT_OF = {
    "base": set(),
    "topology": {"base"},
    "pattern": {"base"},
    "route": {"topology"},
    "plan": {"pattern", "route"},
    "model": {"plan"},
    "select": {"model"},
    "exchange": {"select"},
    "executor": {"plan"},
    "simulator": {"model", "exchange"},
    "neighbor": {"executor", "exchange"},
    "array": {"neighbor"},
    "stream": {"select"},
    "c": {"neighbor", "stream"},
    "mpix": {"c"},
}
MPI_ROOMS = {"neighbor", "c", "mpix"}

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def may_include(room):
    """The room itself and everything to its left."""
    return {room}.union(*(may_include(left) for left in LEFT_OF[room]))


def is_mpi_file(path):
    return Path(path).stem.endswith("_mpi")


def room_of(project, path):
    """The room a file lies in, or None outside the rooms; crossdock.h is room c's, mpix.h room mpix's."""
    for header, room in (("crossdock.h", "c"), ("mpix.h", "mpix")):
        if path == project / "include/crossdock" / header:
            return room
    for top in (project / "include/crossdock", project / "src"):
        if path.is_relative_to(top):
            parts = path.relative_to(top).parts
            return parts[0] if len(parts) > 1 else None
    return None


def resolve(project, file, include):
    """The project's file that an include names, or None."""
    folders = (file.parent, project / "include", project / "src")
    candidates = ((folder / include).resolve() for folder in folders)
    return next((path for path in candidates if path.is_file()), None)


def faults_of_include(project, file, room, include):
    """What is wrong with one include of a file."""
    uses_mpi = room in MPI_ROOMS or is_mpi_file(file)
    if include == "mpi.h" or (include.startswith("crossdock/") and is_mpi_file(include)):
        if not uses_mpi:
            yield f"{include} outside the MPI rooms and *_mpi files"
    target = resolve(project, file, include)
    if target is None:
        if include.startswith("crossdock/"):
            yield f"{include} does not exist"
        return
    allowed = may_include(room) | (may_include("exchange") if is_mpi_file(file) else set())
    target_room = room_of(project, target)
    if target_room not in allowed:
        yield f"{include}: room {room} may not use {target_room or 'what lies outside the rooms'}"
    elif target_room in MPI_ROOMS and not uses_mpi:
        yield f"{include} of the MPI room {target_room} outside the MPI rooms and *_mpi files"


def find_faults(project):
    """All faults of a project, one sentence each."""
    project = project.resolve()
    files = (path for top in ("include/crossdock", "src") for path in (project / top).rglob("*.[ch]*"))
    faults = []
    for file in sorted(files):
        room = room_of(project, file)
        if room is None:
            continue
        name = file.relative_to(project)
        if room not in LEFT_OF:
            faults.append(f"{name}: {room} is not a room; add it to LEFT_OF in {Path(__file__).name}")
            continue
        for include in INCLUDE.findall(file.read_text(encoding="utf-8")):
            faults += (f"{name}: {fault}" for fault in faults_of_include(project, file, room, include))
    return faults


if __name__ == "__main__":
    sys.exit(check(find_faults, "every include points to the left"))
