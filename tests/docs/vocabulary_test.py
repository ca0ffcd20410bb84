"""The same words for the same things in C, Fortran, C++ and Python, and few of them in the glossary."""
import re
import unittest
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
C = (PROJECT / "include/crossdock/crossdock.h").read_text(encoding="utf-8")
FORTRAN = (PROJECT / "satellites/fortran/src/crossdock.f90.in").read_text(encoding="utf-8")

# An object, its header in C++, and its class and file in Python.
OBJECTS = {
    "context": ("context.hpp", "Context", "_context.py"),
    "neighbor_exchange": ("neighbor_exchange.hpp", "NeighborExchange", "_neighbor.py"),
    "gather_scatter": ("gather_scatter.hpp", "GatherScatter", "_gather.py"),
    "distributed_array": ("distributed_array.hpp", "DistributedArray", "_array.py"),
    "prepared_batch": ("prepared_batch.hpp", "PreparedBatch", "_array.py"),
    "stream": ("stream.hpp", "Stream", "_stream.py"),
    "stream_port": ("stream.hpp", "StreamPort", "_stream.py"),
}
# Constructors and destructors have no name in C++ and Python, and overloads and lists make others superfluous.
CONSTRUCTED = {"create", "create_from_plan", "free", "get_port"}
CPP = {"flush_to": "flush", "num_tried_routes": "tried_routes", "owner": "owners", "start_types": "start",
       "test_drain": "test", "tried_route": "tried_routes", "update_with": "update", "wait_drain": "wait"}
PYTHON = {"combine_fields": "combine", "first_index": "owned", "flush_to": "flush", "id": "worker",
          "num_tried_routes": "tried_routes", "push_urgent": "push", "size": "__len__", "start_fields": "start",
          "start_types": "start", "tried_route": "tried_routes", "update_with": "update"}
# Lengths, types and addresses, which arrays of the other languages know.
ONLY_IN_C = {"check_item", "create_from_arguments", "datatype", "num_gathered", "sizes", "start_arrays",
             "start_reverse_arrays"}
# What Python has not, because arrays and handlers tell it, or nobody has asked for it.
NOT_IN_PYTHON = {"context": {"with_nodes", "with_topology"}, "prepared_batch": {"plan"}, "stream": {"drive"},
                 "stream_port": {"source", "statistics"}}


def in_c(name):
    """The functions of an object, without those of an object whose name begins with this one's."""
    names = set(re.findall(rf"\bcrossdock_{name}_(\w+)\(", C)) - ONLY_IN_C
    longer = [other for other in OBJECTS if other.startswith(name + "_")]
    return {one for one in names if not any(f"{name}_{one}".startswith(other + "_") for other in longer)}


def in_fortran(name):
    declared = re.search(rf"type, public :: crossdock_{name}\n(.*?)end type", FORTRAN, re.DOTALL)[1]
    return set(re.findall(r"(?:procedure|generic) :: (\w+) =>", declared))


class Vocabulary(unittest.TestCase):
    def test_FortranHasTheFunctionsOfC(self):
        for name in OBJECTS:
            with self.subTest(name):
                self.assertEqual(in_fortran(name) - {"alltoallv_init"}, in_c(name))

    def test_CppHasTheWordsOfC(self):
        for name, (header, _, _) in OBJECTS.items():
            text = re.sub("//.*", "", (PROJECT / "include/crossdock" / header).read_text(encoding="utf-8"))
            words = {CPP.get(word, word) for word in in_c(name) - CONSTRUCTED - {"source"}}
            self.assertEqual({word for word in words if not re.search(rf"\b{word}\(", text)}, set(), name)

    def test_PythonHasTheWordsOfC(self):
        for name, (_, kind, file) in OBJECTS.items():
            text = (PROJECT / "satellites/python/crossdock" / file).read_text(encoding="utf-8")
            body = re.search(rf"^class {kind}\b.*?(?=^class |^def |\Z)", text, re.DOTALL | re.MULTILINE)[0]
            words = {PYTHON.get(word, word) for word in in_c(name) - CONSTRUCTED}
            missing = {word for word in words if f"def {word}(" not in body}
            self.assertEqual(missing, NOT_IN_PYTHON.get(name, set()), name)

    def test_TheGlossaryIsShort(self):
        page = (PROJECT / "docs/glossary.md").read_text(encoding="utf-8")
        counts = {title: len(re.findall(r"^\| (?!word )\w.* \|$", section, re.MULTILINE))
                  for title, section in re.findall(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE)}
        self.assertLessEqual(sum(counts.values()), 50)
        self.assertLessEqual(counts["Words of this library"], 15)
        self.assertGreater(counts["Words of the field"], 0)


if __name__ == "__main__":
    unittest.main()
