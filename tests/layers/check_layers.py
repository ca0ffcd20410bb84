#!/usr/bin/env python3
"""Fails on an include that points backward, and on mpi.h outside the modules that may use it.

usage: check_layers.py [project folder]
"""
import functools
import re
import sys
from pathlib import Path

from checker import check

# module: the modules to its left; those behind the blank line are satellites that it builds on directly
LEFT_OF = {
    "base": set(),
    "topology": {"base"},
    "pattern": {"base"},
    "route": {"topology"},
    "plan": {"pattern", "route"},
    "model": {"plan"},
    "select": {"model"},
    "context": {"model"},
    "exchange": {"context", "select"},
    "executor": {"plan"},
    "neighbor": {"executor", "exchange"},
    "array": {"neighbor"},
    "gather": {"neighbor"},
    "stream": {"context", "select"},
    "c": {"array", "gather", "stream"},

    "simulator": {"exchange"},
    "fortran": {"c", "device"},
    "mpi_advance": {"c"},
    "gslib": {"c"},
    "drop_in": {"device"},
    "petsc": {"device"},
    "hypre": {"pattern", "drop_in"},
    "device": {"c"},
}
MPI_MODULES = {"neighbor", "gather", "c", "fortran", "mpi_advance", "gslib", "drop_in", "petsc", "hypre", "device"}

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def may_include(module):
    """The module itself and everything to its left."""
    return {module}.union(*(may_include(left) for left in LEFT_OF[module]))


# The module of each header that users include; those of `detail` lie in a folder of their module.
MODULE_OF_PUBLIC = {
    "base": "block_partition communicator error operation types version",
    "topology": "discover_topology topology",
    "pattern": "make_pattern pattern",
    "route": "route",
    "plan": "plan",
    "model": "machine price",
    "select": "route_choice",
    "context": "context",
    "c": "extend",
    "exchange": "exchange_algorithm sparse_exchange",
    "neighbor": "neighbor_exchange",
    "array": "distributed_array",
    "gather": "gather_scatter",
    "stream": "request_stream stream",
}
PUBLIC = {name: module for module, names in MODULE_OF_PUBLIC.items() for name in names.split()}
# Of these, the ones that include mpi.h.
PUBLIC_WITH_MPI = set(
    "communicator context discover_topology distributed_array extend make_pattern request_stream sparse_exchange "
    "stream".split()
)
# They include all of a library.
ENTRIES = {"core", "crossdock"}


def is_mpi_file(path):
    path = Path(path)
    if path.parent.name == "crossdock" and path.suffix == ".hpp":
        return path.stem in PUBLIC_WITH_MPI
    return path.stem.endswith("_mpi")


def module_of(project, path):
    """The module a file lies in, or None outside the modules; crossdock.h is module c's."""
    public = project / "include/crossdock"
    if path == public / "crossdock.h":
        return "c"
    if path.parent == public:
        return None if path.stem in ENTRIES else PUBLIC.get(path.stem, "an unknown module")
    for top in (public / "detail", project / "src"):
        if path.is_relative_to(top):
            parts = path.relative_to(top).parts
            return parts[0] if len(parts) > 1 else None
    if path.is_relative_to(project / "satellites"):
        satellite, folder, *_ = path.relative_to(project / "satellites").parts
        return satellite if folder in ("include", "src") and satellite in LEFT_OF else None
    return None


@functools.cache
def folders_of_satellites(project):
    return tuple((project / "satellites").glob("*/include"))


def resolve(project, file, include):
    """The project's file that an include names, or None."""
    folders = (file.parent, project / "include", project, *folders_of_satellites(project))
    candidates = ((folder / include).resolve() for folder in folders)
    return next((path for path in candidates if path.is_file()), None)


def faults_of_include(project, file, module, include):
    """What is wrong with one include of a file."""
    uses_mpi = module in MPI_MODULES or is_mpi_file(file)
    if include == "mpi.h" or (include.startswith("crossdock/") and is_mpi_file(include)):
        if not uses_mpi:
            yield f"{include} outside the MPI modules and *_mpi files"
    target = resolve(project, file, include)
    if target is not None and file.is_relative_to(project / "include") and not target.is_relative_to(project / "include"):
        yield f"{include} is not installed"
    if target is None:
        if include.startswith("crossdock/"):
            yield f"{include} does not exist"
        return
    allowed = may_include(module) | (may_include("exchange") if is_mpi_file(file) else set())
    target_module = module_of(project, target)
    if target_module not in allowed:
        yield f"{include}: module {module} may not use {target_module or 'what lies outside the modules'}"
    elif target_module in MPI_MODULES and not uses_mpi:
        yield f"{include} of the MPI module {target_module} outside the MPI modules and *_mpi files"


EXPORTED = "namespace CROSSDOCK_EXPORT crossdock"
OPENED = re.compile(r"^namespace (?:\w+ )*crossdock\b", re.MULTILINE)


def faults_of_exports(project, file, text):
    """What an installed header declares is exported."""
    if file.is_relative_to(project / "include") and file.suffix == ".hpp":
        if any(opened != EXPORTED for opened in OPENED.findall(text)):
            yield f"a namespace is opened without '{EXPORTED}'"


def faults_outside_the_core(project):
    """What the command line includes of the benchmarks, and satellites of what public headers include for them."""
    for file in sorted(path for top in ("satellites", "tools") for path in (project / top).rglob("*.[ch]pp")):
        name = file.relative_to(project)
        for include in INCLUDE.findall(file.read_text(encoding="utf-8")):
            if "tools" in name.parts and include.startswith("bench/"):
                yield f"{name}: {include}: the command line may not use benchmarks"
            if name.parts[2] == "src" and re.match("crossdock/detail/(?!base/|exchange/exchange_rules\.hpp$)", include):
                yield f"{name}: {include}: satellites include public headers"


def find_faults(project):
    """All faults of a project, one sentence each."""
    project = project.resolve()
    files = (path for top in ("include/crossdock", "src", "satellites") for path in (project / top).rglob("*.[ch]*"))
    faults = []
    for file in sorted(files):
        module = module_of(project, file)
        if module is None:
            continue
        name = file.relative_to(project)
        if module not in LEFT_OF:
            faults.append(f"{name}: {module} is not a module; add it to LEFT_OF in {Path(__file__).name}")
            continue
        text = file.read_text(encoding="utf-8")
        faults += (f"{name}: {fault}" for fault in faults_of_exports(project, file, text))
        for include in INCLUDE.findall(text):
            faults += (f"{name}: {fault}" for fault in faults_of_include(project, file, module, include))
    return [*faults, *faults_outside_the_core(project)]


if __name__ == "__main__":
    sys.exit(check(find_faults, "every include points to the left"))
