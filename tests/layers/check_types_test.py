#!/usr/bin/env python3
"""Shows that check_types finds types of the same name, and none where there are none."""
import unittest

from check_types import find_faults, types_of
from checker import faults_of_files


def in_namespace(text, name="crossdock::tool"):
    return f"namespace {name} {{\n\n{text}\n\n}}  // namespace {name}\n"


class CheckTypes(unittest.TestCase):
    def faults(self, files):
        return faults_of_files(find_faults, files)

    def test_all_kinds_of_types_are_seen(self):
        text = "struct a {\n};\nclass b final : public a {\n};\nenum class c : int { d };\nunion alignas(8) e {\n};"
        self.assertEqual(list(types_of(in_namespace(text))),
                         [f"crossdock::tool::{name}" for name in "abce"])

    def test_two_definitions_are_found(self):
        files = {
            "tools/a.hpp": in_namespace("struct result {\n    int a;\n};"),
            "tools/b.cpp": in_namespace("struct result {\n    double b;\n};"),
        }
        self.assertEqual(self.faults(files),
                         ["crossdock::tool::result is defined in tools/a.hpp and tools/b.cpp"])

    def test_other_and_unnamed_namespaces_and_declarations_pass(self):
        result = "struct result {\n};"
        files = {
            "tools/a.hpp": in_namespace(result),
            "bench/b.hpp": in_namespace(result, "crossdock::bench"),
            "tools/c.cpp": in_namespace(f"namespace {{\n\n{result}\n\n}}  // namespace"),
            "tools/d.cpp": in_namespace("struct result;\nstruct result::inner {\n};"),
        }
        self.assertEqual(self.faults(files), [])

    def test_unity_builds_join_unnamed_namespaces_of_the_library(self):
        unnamed = in_namespace("namespace {\n\nstruct run {\n};\n\n}  // namespace", "crossdock")
        files = {"src/a/a.cpp": unnamed, "src/b/b.hpp": in_namespace("struct run {\n};", "crossdock")}
        self.assertEqual(self.faults(files), ["crossdock::run is defined in src/a/a.cpp and src/b/b.hpp"])


if __name__ == "__main__":
    unittest.main()
