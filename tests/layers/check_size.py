#!/usr/bin/env python3
"""Fails when the core grows: what is added is paid for by what goes."""
import sys

from checker import check

# Of src and include. A commit that makes the core smaller makes them smaller, and none makes them larger. Bytes keep
# lines from being joined; they are rounded, so that a longer word is no fault.
LIMITS = {"files": 315, "lines": 43_225, "bytes": 1_800_000}


def size_of(project):
    """The files, lines and bytes of the core."""
    texts = [path.read_bytes() for top in ("src", "include") for path in (project / top).rglob("*")
             if path.suffix in (".c", ".cpp", ".h", ".hpp", ".inc", ".in")]
    return {"files": len(texts), "lines": sum(text.count(b"\n") for text in texts),
            "bytes": sum(len(text) for text in texts)}


def find_faults(project, limits=None):
    """What has grown, and what could be lowered: a limit a hundredth above what there is holds nothing."""
    faults = []
    for what, size in size_of(project).items():
        limit = (limits or LIMITS)[what]
        if size > limit:
            faults.append(f"src and include have {size} {what}, {size - limit} more than allowed: let something go")
        elif size < 0.99 * limit:
            faults.append(f"src and include have {size} {what}, but {limit} are allowed: lower the number in "
                          "tests/layers/check_size.py")
    return faults


if __name__ == "__main__":
    sys.exit(check(find_faults, "the core has not grown"))
