"""What an installation has is complete, whatever was built before; what it lacks, it names.

usage: partial_install_test.py SOURCES GENERATOR CMAKE_OPTION...

Nothing is compiled: the libraries and programs that a build would make are empty files.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCES, GENERATOR, *OPTIONS = sys.argv[1:]
VERSION = "0.1.0"
LIBRARIES = ["crossdock", "crossdock_analysis", "crossdock_core", "crossdock_device", "crossdock_gslib",
             "crossdock_mpi_advance"]
FORTRAN = {"crossdock_fortran", "crossdock_fortran_device"}
PROGRAMS = {"crossdock_tool": "tools/crossdock/crossdock", "crossdock_analyze": "tools/crossdock/crossdock-analyze",
            "crossdock_bench": "tools/crossdock/crossdock-bench"}


def run(*words):
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{words}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class PartialInstall(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def configure(self, preset, *options):
        """Empty libraries and programs have no paths that an installation could change."""
        self.build = self.folder / preset
        return run("cmake", "-S", SOURCES, "--preset", preset, "-B", self.build, "-G", GENERATOR, *OPTIONS,
                   "-DCMAKE_SKIP_RPATH=ON", *options)

    def make(self, *targets):
        for target in targets:
            name = PROGRAMS.get(target, f"lib{target}")
            for end in [""] if target in PROGRAMS else [".a", ".so", ".so.0", f".so.{VERSION}"]:
                (self.build / f"{name}{end}").touch()

    def install(self, *words):
        """Returns what was said to be left out, and the components that were installed."""
        prefix = self.folder / "prefix"
        shutil.rmtree(prefix, ignore_errors=True)
        printed = run("cmake", "--install", self.build, "--prefix", prefix, *words)
        left_out = re.findall(r"Left out, as it was not built: (\w+); cmake --build \. --target \1 builds it", printed)

        libraries = {path.name.partition(".")[0][3:] for path in prefix.glob("lib*/libcrossdock*")}
        descriptions = {path.stem: path.read_text() for path in prefix.rglob("*.pc")}
        self.assertEqual({name.replace("-", "_") for name in descriptions}, libraries)
        for text in descriptions.values():
            self.assertLessEqual(set(re.findall(r"(crossdock\S*) =", text)), set(descriptions))
        exports = {path.stem: path.read_text() for path in prefix.rglob("crossdock-*-targets*.cmake")}
        components = {name[10:-8] for name in exports if name.endswith("-targets")}
        self.assertEqual({"_".join(("crossdock", name)).replace("crossdock_crossdock", "crossdock") for name in components},
                         libraries)
        self.assertEqual({f"crossdock-{name}-targets{end}" for name in components for end in ("", "-release")},
                         set(exports))
        for text in exports.values():
            for path in re.findall(r'"\$\{_IMPORT_PREFIX\}/([^"]+\.(?:a|so)[^"]*)"', text):
                self.assertTrue((prefix / path).exists(), path)
        self.assertEqual("fortran" in components, any(prefix.rglob("crossdock.mod")))
        return set(left_out), components

    def left_out(self, printed):
        """The parts that CMake says it leaves out, with the reasons, and what it prints behind that."""
        found = re.findall(r"^-- Left out: (\w+), as (.*)$", printed, re.MULTILINE)
        return dict(found), re.sub(r"^.*-- Left out: [^\n]*\n", "", printed, flags=re.DOTALL)

    def test_WhatIsNotInstalledIsLeftOutAndNamed(self):
        found, behind = self.left_out(self.configure("install", "-DCMAKE_DISABLE_FIND_PACKAGE_HYPRE=ON",
                                                     "-DCROSSDOCK_WITH_FORTRAN=OFF"))
        by = "scripts/install-dependencies"
        expected = {
            "drop_in": f"there is no Boost.Context: {by} --drop-in installs it",
            "fortran": "CROSSDOCK_WITH_FORTRAN is OFF",
            "generators": f"there is no Random123: {by} installs it",
            "hypre": f"there is no hypre for this MPI: {by} --bench installs Open MPI's",
            "hypre_drop_in": f"there is no hypre for this MPI: {by} --bench installs Open MPI's",
            "metis": f"there is no METIS: {by} installs it",
            "petsc": f"there is no PETSc for this MPI: {by} --bench installs Open MPI's",
            "python": "CROSSDOCK_BUILD_PYTHON is OFF: pip install . builds it",
        }

        self.assertEqual(found, expected)
        self.assertRegex(behind, r"\A-- Configuring done")
        text = (self.build / "generated/build_text.cpp").read_text()
        build = json.loads(re.search(r'R"json\((.*)\)json"', text, re.DOTALL)[1])["build"]
        self.assertEqual(build["without"], expected)
        self.assertEqual([part for part, is_there in build["with"].items() if is_there],
                         ["device", "gslib", "mpi_advance", "tools"])
        # Matrix Market is no such part.
        commands = json.loads((self.build / "compile_commands.json").read_text())
        self.assertIn("tools/inputs/matrix_market.cpp",
                      [str(Path(one["file"]).relative_to(SOURCES)) for one in commands if one["file"].startswith(SOURCES)])

    def test_WhatWasAskedForIsNotLeftOut(self):
        sentence = r"CROSSDOCK_WITH_METIS is ON, but there is no METIS:\s+scripts/install-dependencies\s+installs it"
        with self.assertRaisesRegex(AssertionError, sentence):
            self.configure("install", "-DCROSSDOCK_WITH_METIS=ON", "-DCROSSDOCK_WITH_FORTRAN=OFF")

    def test_WithoutTheReaderOfMatricesThereIsNoCommandLine(self):
        with self.assertRaisesRegex(AssertionError, "fast_matrix_market"):
            self.configure("install", "-DCMAKE_DISABLE_FIND_PACKAGE_fast_matrix_market=ON")

    def test_WithoutSharedLibraries(self):
        self.configure("quickstart", "-DCROSSDOCK_WITH_FORTRAN=AUTO")
        fortran = FORTRAN if (self.build / "satellites/fortran").exists() else set()
        left_out, components = self.install()
        self.assertEqual((left_out, components), ({*LIBRARIES, *PROGRAMS, *fortran}, set()))
        self.make("crossdock", "crossdock_core", "crossdock_tool")
        self.assertEqual(self.install("--component", "library"), (set(), {"crossdock", "core"}))
        self.find_package("core")
        left_out, components = self.install()
        self.assertEqual(left_out, {*LIBRARIES[1:2], *LIBRARIES[3:], "crossdock_analyze", "crossdock_bench", *fortran})
        self.assertEqual(components, {"crossdock", "core"})

    def test_WithSharedLibraries(self):
        self.configure("install")
        fortran = (self.build / "satellites/fortran").exists()
        self.make(*LIBRARIES, *PROGRAMS)
        left_out, components = self.install()
        self.assertEqual(left_out, FORTRAN if fortran else set())
        self.assertEqual(components, {"crossdock", "analysis", "core", "device", "gslib", "mpi_advance"})
        if fortran:
            (self.build / "satellites/fortran/module").mkdir(exist_ok=True)
            (self.build / "satellites/fortran/module/crossdock.mod").touch()
            self.make(*FORTRAN)
            self.assertEqual(self.install(), (set(), components | {"fortran", "fortran_device"}))
        self.assertEqual(self.install("--component", "library"), (set(), {"crossdock", "core"}))

    def find_package(self, component):
        """Whoever asks for what is there gets it, and for what is not is told so."""
        project = self.folder / "project"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(f"""cmake_minimum_required(VERSION 3.25)
project(program LANGUAGES CXX)
find_package(crossdock REQUIRED COMPONENTS {component})
get_target_property(found crossdock::{component} IMPORTED_LOCATION_RELEASE)
find_package(crossdock COMPONENTS analysis)
if(crossdock_FOUND)
  message(FATAL_ERROR "there is no analysis")
endif()
""")
        run("cmake", "-S", project, "-B", project / "build", "-G", GENERATOR,
            f"-DCMAKE_PREFIX_PATH={self.folder / 'prefix'}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
