"""The same words for the same things in C, Fortran, C++ and Python, and few of them in the glossary."""
import ast
import re
import unittest
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
C = (PROJECT / "include/crossdock/crossdock.h").read_text(encoding="utf-8")
PYTHON = PROJECT / "satellites/python/crossdock"
FORTRAN = "".join((PROJECT / "satellites/fortran/src" / name).read_text(encoding="utf-8")
                  for name in ("crossdock.f90.in", "options.inc"))
DEVICES_IN_C = (PROJECT / "satellites/device/include/crossdock/crossdock_device.h").read_text(encoding="utf-8")
DEVICES_IN_FORTRAN = (PROJECT / "satellites/fortran/src/crossdock_devices.f90").read_text(encoding="utf-8")

# An object, its headers in C++, and its class in Python.
OBJECTS = {
    "context": (["context.hpp"], "Context"),
    "topology": (["topology.hpp", "discover_topology.hpp"], "Topology"),
    "pattern": (["pattern.hpp", "make_pattern.hpp"], "Pattern"),
    "plan": (["plan.hpp"], "Plan"),
    "neighbor_exchange": (["neighbor_exchange.hpp"], "NeighborExchange"),
    "gather_scatter": (["gather_scatter.hpp"], "GatherScatter"),
    "distributed_array": (["distributed_array.hpp"], "DistributedArray"),
    "prepared_batch": (["distributed_array.hpp"], "PreparedBatch"),
    "stream": (["stream.hpp"], "Stream"),
    "stream_port": (["stream.hpp"], "StreamPort"),
}
# Constructors and destructors have no name in C++ and Python, and overloads and lists make others superfluous.
CONSTRUCTED = {"create", "create_from_plan", "free", "get_port"}
CPP = {"compile_all": "compile", "discover": "discover_topology", "flush_to": "flush",
       "from_needed_range": "from_needed", "gather": "gather(_topology)?", "is_equal": "operator==",
       "num_stages": "stages", "num_tried_routes": "tried_routes", "owner": "owners", "start_types": "start",
       "test_drain": "test", "tried_route": "tried_routes", "update_with": "update", "wait_drain": "wait",
       "write": "write(_pattern)?"}
PYTHON_WORDS = {"combine_fields": "combine", "first_index": "owned", "flush_to": "flush",
                "from_needed_range": "from_needed", "from_string": "of", "id": "worker",
                "num_tried_routes": "tried_routes", "push_urgent": "push", "size": "__len__", "start_fields": "start",
                "start_reverse_fields": "start_reverse", "start_types": "start", "tried_route": "tried_routes",
                "update_with": "update"}
# Lengths, types and addresses, which arrays of the other languages know.
ONLY_IN_C = {"check_item", "create_from_arguments", "datatype", "num_gathered", "sizes", "start_arrays",
             "start_reverse_arrays"}
# What Python has not, because handlers, `str` or a gather of mpi4py tell it, `planning.Plans` has it for all ranks, or it
# reads JSON by itself.
NOT_IN_PYTHON = {"topology": {"gather", "to_string"}, "stream_port": {"source"},
                 "plan": {"buffer_items", "compile", "compile_all", "from_json", "is_equal", "num_stages",
                          "stage_traffic", "total_traffic", "verify"}}
# Structures of C, those of C++ with their headers, and where Python has the words: a class, or a file with texts.
FIELDS = {
    "context_options": ("context.hpp", "Context"),
    "neighbor_options": ("neighbor_exchange.hpp", "NeighborExchange"),
    "gather_options": ("gather_scatter.hpp", "GatherScatter"),
    "array_options": ("distributed_array.hpp", "DistributedArray"),
    "stream_options": ("detail/stream/stream_options.hpp", "Stream"),
    "traffic": ("plan.hpp", "Traffic"),
    "array_counts": ("detail/array/array_statistics.hpp", "array.cpp"),
    "stream_counts": ("detail/stream/stream_options.hpp", "stream.cpp"),
}
# The size of a structure; and functions with their argument, which are parameters of templates in C++.
OF_C = {"size", "user", "key", "combine"}
MEASURING = {"measure_max_candidates", "measure_exchanges_each", "measure_max_lost_seconds", "measure_clock"}
# What C++ has in structures of these structures.
NESTED = {"neighbor_options": MEASURING, "gather_options": MEASURING,
          "array_options": {"combine_locally", "combine_on_the_way"},
          "array_counts": {"messages", "inter_region_messages", "inter_region_sent", "combine_locally_seconds",
                           "combine_on_the_way_seconds", "write_seconds", "read_seconds", "split_seconds",
                           "communicate_seconds"},
          "stream_counts": {"latency_samples", "latency_median_seconds", "latency_p99_seconds", "latency_max_seconds"}}
# Python takes a dtype or a ufunc, or nobody has asked for it.
# A progress thread would wait for the interpreter's lock while a rank holds that and waits for the thread.
NOT_PYTHON_FIELDS = {"context_options": {"progress_thread"}, "neighbor_options": {"item_bytes", *MEASURING},
                     "gather_options": {"item_bytes", "max_message_bytes", *MEASURING},
                     "array_options": {"choose"}}


def in_c(name):
    """The functions of an object, without those of an object whose name begins with this one's."""
    names = set(re.findall(rf"\bcrossdock_{name}_(\w+)\(", C))
    longer = [other for other in OBJECTS if other.startswith(name + "_")]
    return {one for one in names if not any(f"{name}_{one}".startswith(other + "_") for other in longer)}


def in_all(name):
    return in_c(name) - ONLY_IN_C


def in_fortran(name, module=FORTRAN):
    declared = re.search(rf"type, public :: crossdock_{name}\n(.*?)end type", module, re.DOTALL)[1]
    return set(re.findall(r"(?:procedure|generic) :: (\w+) =>", declared))


def python_classes():
    return {node.name: node for path in sorted(PYTHON.glob("*.py"))
            for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.ClassDef)}


def in_python(kind, classes):
    """The functions of a class, and of those that it builds on; what a constructor takes."""
    node = classes[kind]
    functions = [one for one in node.body if isinstance(one, ast.FunctionDef)]
    words = {one.name for one in functions}
    words |= {one.target.id for one in node.body if isinstance(one, ast.AnnAssign)}
    words |= {one.targets[0].id for one in node.body if isinstance(one, ast.Assign)}
    words |= {argument.arg for one in functions if one.name == "__init__"
              for argument in [*one.args.args, *one.args.kwonlyargs]}
    for base in map(ast.unparse, node.bases):
        words |= in_python(base, classes) if base in classes else set()
    return words


def structure(name, header=C):
    """The fields of a structure of C, in their order."""
    found = re.search(rf"typedef struct crossdock_{name} {{(.*?)}} crossdock_{name};", header, re.DOTALL)
    body = re.sub("//.*", "", found[1])
    return re.findall(r"(\w+)(?:\[\w+\]|\)\([^)]*\))?;", body)


def fields(name):
    """Those that are no matter of C."""
    return set(structure(name)) - OF_C


def operations():
    """What the table in C++ calls each operation, in C++, Python and MPI."""
    table = (PROJECT / "include/crossdock/detail/executor/operations_mpi.hpp").read_text(encoding="utf-8")
    return re.findall(r'named_operation<(\w+)>\{"(\w+)", MPI_(\w+)', table)


class Vocabulary(unittest.TestCase):
    def test_FortranHasTheFunctionsOfC(self):
        # Overloads, and functions of several plans.
        only = {"pattern": {"from_needed_range"}, "plan": {"compile_all", "verify"}}
        for name in OBJECTS:
            with self.subTest(name):
                self.assertEqual(in_fortran(name) - {"alltoallv_init"}, in_all(name) - only.get(name, set()))

    def test_FortranHasTheFunctionsOfDevices(self):
        found = {"device_sparse_exchange"} & set(re.findall(r"public :: crossdock_(\w+)", DEVICES_IN_FORTRAN))
        for name in ("device", "device_neighbor_exchange", "device_gather_scatter", "device_messages"):
            found |= {f"{name}_{word}" for word in in_fortran(name, DEVICES_IN_FORTRAN)}
        self.assertEqual(found, set(re.findall(r"\bcrossdock_(\w+)\(", DEVICES_IN_C)))
        fields = re.search(r"type, bind\(C\) :: device_messages\n(.*?)end type", DEVICES_IN_FORTRAN, re.DOTALL)[1]
        self.assertEqual(re.findall(r":: (\w+) =", fields), structure("device_messages", DEVICES_IN_C))

    def test_CppHasTheWordsOfC(self):
        for name, (headers, _) in OBJECTS.items():
            text = "".join(re.sub("//.*", "", (PROJECT / "include/crossdock" / header).read_text(encoding="utf-8"))
                           for header in headers)
            words = {CPP.get(word, word) for word in in_all(name) - CONSTRUCTED - {"source"}}
            self.assertEqual({word for word in words if not re.search(rf"{word}\(|\b{word} ?[;=]", text)}, set(), name)

    def test_PythonHasTheWordsOfC(self):
        classes = python_classes()
        for name, (_, kind) in OBJECTS.items():
            words = {PYTHON_WORDS.get(word, word) for word in in_all(name) - CONSTRUCTED}
            self.assertEqual(words - in_python(kind, classes), NOT_IN_PYTHON.get(name, set()), name)

    def test_CppHasTheFieldsOfC(self):
        for name, (header, _) in FIELDS.items():
            text = re.sub("//.*", "", (PROJECT / "include/crossdock" / header).read_text(encoding="utf-8"))
            words = {word for word in fields(name) if not re.search(rf"\b{word}\b", text)}
            self.assertEqual(words, NESTED.get(name, set()), name)

    def test_PythonHasTheFieldsOfC(self):
        classes = python_classes()
        for name, (_, where) in FIELDS.items():
            words = in_python(where, classes) if where in classes else set(
                re.findall(r'result\["(\w+)"\]', (PROJECT / "satellites/python/src" / where).read_text(encoding="utf-8")))
            self.assertEqual(fields(name) - words, NOT_PYTHON_FIELDS.get(name, set()), name)

    def test_FortranHasTheStructuresOfC(self):
        types = dict(re.findall(r"type, bind\(C\)(?:, public)? :: (?:crossdock_)?(\w+)\n(.*?)end type", FORTRAN,
                                re.DOTALL))
        found = {name: re.findall(r":: (\w+)(?:\(.*\))?(?: =|$)", body, re.MULTILINE) for name, body in types.items()}
        for name in [*FIELDS, "exchange_options", "exchange_traffic"]:
            with self.subTest(name):
                self.assertEqual(found[name], structure(name))

    def test_PythonHasTheOperationsOfTheTable(self):
        text = (PYTHON / "_operations.py").read_text(encoding="utf-8")

        self.assertEqual(re.findall(r'np\.\w+: "(\w+)"', text), [name for _, name, _ in operations()])
        self.assertEqual(re.findall(r'\(MPI\.(\w+), "(\w+)"\)', text), [(op, name) for _, name, op in operations() if op != "OP_NULL"])

    def test_PagesNameTheOperationsOfTheTable(self):
        for page in ("array", "gather-scatter"):
            text = (PROJECT / f"docs/{page}.md").read_text(encoding="utf-8")
            self.assertEqual([name for name, *_ in operations() if f"`{name}`" not in text], [], page)

    def test_PageOfCListsTheFunctions(self):
        page = (PROJECT / "docs/c.md").read_text(encoding="utf-8")
        for name in OBJECTS:
            with self.subTest(name):
                row = re.search(rf"^\| `crossdock_{name}` \| (.*) \|$", page, re.MULTILINE)[1]
                self.assertEqual(set(re.findall(r"`(\w+)`", row)), in_c(name) - {"free"})

    def test_PageOfFortranListsTheLongArguments(self):
        sources = [path.read_text(encoding="utf-8") for path in (PROJECT / "satellites/fortran/src").iterdir()]
        declared = re.findall(r"^ +integer\(int64\),.*intent\(\w+\).*:: (.*)$", "\n".join(sources), re.MULTILINE)
        # Arguments of private procedures.
        names = {name for line in declared for name in re.findall(r"\w+", line)} - {"length", "wide"}
        page = (PROJECT / "satellites/fortran/docs/fortran.md").read_text(encoding="utf-8")
        row = re.search(r"^\| `integer\(int64\)` \| (.*) \|$", page, re.MULTILINE)[1]
        self.assertEqual(set(re.findall(r"`(\w+)`", row)), names)

    def test_TheGlossaryIsShort(self):
        page = (PROJECT / "docs/glossary.md").read_text(encoding="utf-8")
        counts = {title: len(re.findall(r"^\| (?!word )\w.* \|$", section, re.MULTILINE))
                  for title, section in re.findall(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE)}
        self.assertLessEqual(sum(counts.values()), 50)
        self.assertLessEqual(counts["Words of this library"], 15)
        self.assertGreater(counts["Words of the field"], 0)


if __name__ == "__main__":
    unittest.main()
