#!/usr/bin/env python3
"""Shows that check_layers finds each kind of fault, and none where there is none."""
import re
import unittest
from pathlib import Path

from check_layers import LEFT_OF, find_faults
from checker import faults_of_files


NO_EXPORT = "a namespace is opened without 'namespace CROSSDOCK_EXPORT crossdock'"
# What is shown, the files of a project, and what is wrong in them.
CASES = [
    ("arrows to the left", {
        "include/crossdock/types.hpp": "#include <vector>\n",
        "include/crossdock/topology.hpp": '#include "crossdock/types.hpp"\n',
        "include/crossdock/plan.hpp": '#include "crossdock/topology.hpp"\n',
        "src/plan/plan.cpp": '#include "crossdock/plan.hpp"\n#include "detail.hpp"\n',
        "src/plan/detail.hpp": "",
    }, []),
    ("MPI and the exchange in MPI modules and MPI files", {
        "include/crossdock/sparse_exchange.hpp": "#include <mpi.h>\n",
        "src/topology/discover_mpi.cpp": '#include "crossdock/sparse_exchange.hpp"\n',
        "src/plan/compile_mpi.cpp": '#include <mpi.h>\n#include "crossdock/sparse_exchange.hpp"\n',
    }, []),
    ("public headers that export nothing", {
        "include/crossdock/plan.hpp": "namespace CROSSDOCK_EXPORT crossdock {\n}\n",
        "include/crossdock/route.hpp": "namespace crossdock {\n}\n",
        "include/crossdock/detail/plan/kept.hpp": "namespace crossdock::detail {\n}\n",
        "src/plan/detail.hpp": "namespace crossdock {\n}\n",
    }, [f"include/crossdock/detail/plan/kept.hpp: {NO_EXPORT}", f"include/crossdock/route.hpp: {NO_EXPORT}"]),
    ("a backward arrow", {
        "include/crossdock/plan.hpp": "",
        "include/crossdock/route.hpp": '#  include "crossdock/plan.hpp"\n',
    }, ["include/crossdock/route.hpp: crossdock/plan.hpp: module route may not use plan"]),
    ("a backward arrow by a relative path", {
        "src/plan/detail.hpp": "",
        "src/base/error.cpp": '#include "../plan/detail.hpp"\n',
    }, ["src/base/error.cpp: ../plan/detail.hpp: module base may not use plan"]),
    ("modules side by side", {
        "include/crossdock/topology.hpp": "",
        "src/pattern/pattern.cpp": '#include "crossdock/topology.hpp"\n',
    }, ["src/pattern/pattern.cpp: crossdock/topology.hpp: module pattern may not use topology"]),
    ("an MPI module outside MPI files", {
        "include/crossdock/neighbor_exchange.hpp": "#include <mpi.h>\n",
        "include/crossdock/detail/array/array_mpi.hpp": '#include "crossdock/neighbor_exchange.hpp"\n',
        "src/array/requests.cpp": '#include "crossdock/neighbor_exchange.hpp"\n',
    }, ["src/array/requests.cpp: crossdock/neighbor_exchange.hpp of the MPI module neighbor outside the MPI modules and "
        "*_mpi files"]),
    ("MPI outside its modules", {
        "include/crossdock/communicator.hpp": "#include <mpi.h>\n",
        "src/plan/plan.cpp": "#include <mpi.h>\n",
        "src/plan/verify.cpp": '#include "crossdock/communicator.hpp"\n',
    }, ["src/plan/plan.cpp: mpi.h outside the MPI modules and *_mpi files",
        "src/plan/verify.cpp: crossdock/communicator.hpp outside the MPI modules and *_mpi files"]),
    ("the exchange in a plain file", {
        "include/crossdock/detail/exchange/exchange.hpp": "",
        "src/plan/compile.cpp": '#include "crossdock/detail/exchange/exchange.hpp"\n',
    }, ["src/plan/compile.cpp: crossdock/detail/exchange/exchange.hpp: module plan may not use exchange"]),
    ("an unknown module", {"src/attic/old.cpp": ""},
     ["src/attic/old.cpp: attic is not a module; add it to LEFT_OF in check_layers.py"]),
    ("a public header that nobody knows", {"include/crossdock/attic.hpp": ""},
     ["include/crossdock/attic.hpp: an unknown module is not a module; add it to LEFT_OF in check_layers.py"]),
    ("a header that is not installed in one that is", {
        "src/plan/detail.hpp": "",
        "include/crossdock/plan.hpp": '#include "../../src/plan/detail.hpp"\n',
    }, ["include/crossdock/plan.hpp: ../../src/plan/detail.hpp is not installed"]),
    ("benchmarks in the command line", {
        "verbs/try.cpp": '#include "bench/common/share.hpp"\n',
        "satellites/simulator/tools/simulate.cpp": '#include "bench/common/share.hpp"\n',
        "tools/crossdock/info.cpp": '#include "bench/common/share.hpp"\n',
    }, [f"{name}: bench/common/share.hpp: the command line may not use benchmarks"
        for name in ("satellites/simulator/tools/simulate.cpp", "tools/crossdock/info.cpp")]),
    ("the core's own headers in a satellite", {
        "satellites/python/src/a.cpp": '#include "crossdock/detail/base/export.hpp"\n',
        "satellites/python/src/b.cpp": '#include "crossdock/detail/plan/kept.hpp"\n',
    }, ["satellites/python/src/b.cpp: crossdock/detail/plan/kept.hpp: satellites include public headers"]),
    ("an include that names no file", {"src/base/error.cpp": '#include "crossdock/base/eror.hpp"\n'},
     ["src/base/error.cpp: crossdock/base/eror.hpp does not exist"]),
]


class CheckLayers(unittest.TestCase):
    def test_what_is_wrong_is_found(self):
        for shown, files, faults in CASES:
            with self.subTest(shown):
                self.assertEqual(faults_of_files(find_faults, files), faults)

    def test_the_page_has_the_same_arrows(self):
        page = (Path(__file__).parents[2] / "ARCHITECTURE.md").read_text(encoding="utf-8")
        rows = re.findall(r"^\| `(\w+)` \|.*\| ([\w, ]*?) ?\|$", page, re.MULTILINE)
        shown = {module: set(filter(None, left.split(", "))) for module, left in rows if module in LEFT_OF}

        self.assertEqual(shown, LEFT_OF)


if __name__ == "__main__":
    unittest.main()
