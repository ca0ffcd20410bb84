#!/usr/bin/env python3
"""Fails where two files define a type of the same name in one namespace.

A linker keeps one of the two and says nothing: members that the compiler wrote, such as destructors, then
run on objects of the other type. In src, types of unnamed namespaces count, too: unity builds join its files.

usage: check_types.py [project folder]
"""
import re
import sys
from collections import defaultdict

from checker import check

FOLDERS = ("include", "src", "satellites", "tools", "bench", "verbs", "examples")
UNNAMED = re.compile(r"^namespace \{$.*?^\}  // namespace$", re.MULTILINE | re.DOTALL)
# What the formatter leaves at the beginning of a line: a namespace, or a type that lies in no other type.
NAMESPACE_OR_TYPE = re.compile(
    r"^(?:namespace (?P<namespace>[\w:]+)"
    r"|(?:struct|class|union|enum class|enum) (?:alignas\(.*\) )?(?P<type>\w+)[^:;{<]*(?::[^:][^;{]*)?) \{",
    re.MULTILINE)


def types_of(text):
    """The full names of the types that a file defines."""
    namespace = ""
    for found in NAMESPACE_OR_TYPE.finditer(text):
        if found["namespace"]:
            namespace = found["namespace"]
        else:
            yield f"{namespace}::{found['type']}"


def find_faults(project):
    """All faults of a project, one sentence each."""
    files_by_type = defaultdict(list)
    for path in sorted(path for folder in FOLDERS for path in (project / folder).rglob("*.[ch]pp")
                       if "tests" not in path.parts):
        name_in_project = path.relative_to(project)
        text = path.read_text(encoding="utf-8")
        for name in set(types_of(text if name_in_project.parts[0] == "src" else UNNAMED.sub("", text))):
            files_by_type[name].append(str(name_in_project))
    return [f"{name} is defined in {' and '.join(files)}"
            for name, files in sorted(files_by_type.items()) if len(files) > 1]


if __name__ == "__main__":
    sys.exit(check(find_faults, "every type has one definition"))
