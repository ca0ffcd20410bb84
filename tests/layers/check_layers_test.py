#!/usr/bin/env python3
"""Shows that check_layers finds each kind of fault, and none where there is none."""
import re
import unittest
from pathlib import Path

from check_layers import LEFT_OF, find_faults
from checker import faults_of_files


class CheckLayers(unittest.TestCase):
    def faults(self, files):
        return faults_of_files(find_faults, files)

    def test_arrows_to_the_left_pass(self):
        files = {
            "include/crossdock/types.hpp": "#include <vector>\n",
            "include/crossdock/topology.hpp": '#include "crossdock/types.hpp"\n',
            "include/crossdock/plan.hpp": '#include "crossdock/topology.hpp"\n',
            "src/plan/plan.cpp": '#include "crossdock/plan.hpp"\n#include "detail.hpp"\n',
            "src/plan/detail.hpp": "",
        }
        self.assertEqual(self.faults(files), [])

    def test_a_public_header_that_exports_nothing_is_found(self):
        files = {
            "include/crossdock/plan.hpp": "namespace CROSSDOCK_EXPORT crossdock {\n}\n",
            "include/crossdock/route.hpp": "namespace crossdock {\n}\n",
            "include/crossdock/detail/plan/kept.hpp": "namespace crossdock::detail {\n}\n",
            "src/plan/detail.hpp": "namespace crossdock {\n}\n",
        }
        fault = "a namespace is opened without 'namespace CROSSDOCK_EXPORT crossdock'"
        self.assertEqual(
            self.faults(files),
            [f"include/crossdock/{name}.hpp: {fault}" for name in ("detail/plan/kept", "route")],
        )

    def test_a_backward_arrow_is_found(self):
        files = {
            "include/crossdock/plan.hpp": "",
            "include/crossdock/route.hpp": '#  include "crossdock/plan.hpp"\n',
        }
        self.assertEqual(
            self.faults(files),
            ["include/crossdock/route.hpp: crossdock/plan.hpp: module route may not use plan"],
        )

    def test_a_backward_arrow_by_a_relative_path_is_found(self):
        files = {"src/plan/detail.hpp": "", "src/base/error.cpp": '#include "../plan/detail.hpp"\n'}
        self.assertEqual(
            self.faults(files),
            ["src/base/error.cpp: ../plan/detail.hpp: module base may not use plan"],
        )

    def test_modules_side_by_side_may_not_use_each_other(self):
        files = {
            "include/crossdock/topology.hpp": "",
            "src/pattern/pattern.cpp": '#include "crossdock/topology.hpp"\n',
        }
        self.assertEqual(len(self.faults(files)), 1)

    def test_an_mpi_module_is_found_outside_mpi_files(self):
        files = {
            "include/crossdock/neighbor_exchange.hpp": "#include <mpi.h>\n",
            "include/crossdock/detail/array/array_mpi.hpp": '#include "crossdock/neighbor_exchange.hpp"\n',
            "src/array/requests.cpp": '#include "crossdock/neighbor_exchange.hpp"\n',
        }
        self.assertEqual(
            self.faults(files),
            [
                "src/array/requests.cpp: crossdock/neighbor_exchange.hpp of the MPI module neighbor "
                "outside the MPI modules and *_mpi files"
            ],
        )

    def test_mpi_is_found_outside_its_modules(self):
        files = {
            "include/crossdock/communicator.hpp": "#include <mpi.h>\n",
            "src/plan/plan.cpp": "#include <mpi.h>\n",
            "src/plan/verify.cpp": '#include "crossdock/communicator.hpp"\n',
        }
        self.assertEqual(
            self.faults(files),
            [
                "src/plan/plan.cpp: mpi.h outside the MPI modules and *_mpi files",
                "src/plan/verify.cpp: crossdock/communicator.hpp"
                " outside the MPI modules and *_mpi files",
            ],
        )

    def test_mpi_modules_and_mpi_files_may_use_mpi_and_the_exchange(self):
        files = {
            "include/crossdock/sparse_exchange.hpp": "#include <mpi.h>\n",
            "src/topology/discover_mpi.cpp": '#include "crossdock/sparse_exchange.hpp"\n',
            "src/plan/compile_mpi.cpp": '#include <mpi.h>\n#include "crossdock/sparse_exchange.hpp"\n',
        }
        self.assertEqual(self.faults(files), [])

    def test_a_plain_file_may_not_use_the_exchange(self):
        files = {
            "include/crossdock/detail/exchange/exchange.hpp": "",
            "src/plan/compile.cpp": '#include "crossdock/detail/exchange/exchange.hpp"\n',
        }
        self.assertEqual(len(self.faults(files)), 1)

    def test_the_page_has_the_same_arrows(self):
        page = (Path(__file__).parents[2] / "ARCHITECTURE.md").read_text(encoding="utf-8")
        rows = re.findall(r"^\| `(\w+)` \|.*\| ([\w, ]*?) ?\|$", page, re.MULTILINE)
        shown = {module: set(filter(None, left.split(", "))) for module, left in rows if module in LEFT_OF}

        self.assertEqual(shown, LEFT_OF)

    def test_an_unknown_module_is_found(self):
        self.assertEqual(len(self.faults({"src/attic/old.cpp": ""})), 1)

    def test_a_public_header_that_nobody_knows_is_found(self):
        self.assertEqual(len(self.faults({"include/crossdock/attic.hpp": ""})), 1)

    def test_a_header_that_is_not_installed_is_found_in_one_that_is(self):
        files = {
            "src/plan/detail.hpp": "",
            "include/crossdock/plan.hpp": '#include "../../src/plan/detail.hpp"\n',
        }
        self.assertEqual(self.faults(files),
                         ["include/crossdock/plan.hpp: ../../src/plan/detail.hpp is not installed"])

    def test_an_include_that_names_no_file_is_found(self):
        files = {"src/base/error.cpp": '#include "crossdock/base/eror.hpp"\n'}
        self.assertEqual(
            self.faults(files),
            ["src/base/error.cpp: crossdock/base/eror.hpp does not exist"],
        )


if __name__ == "__main__":
    unittest.main()
