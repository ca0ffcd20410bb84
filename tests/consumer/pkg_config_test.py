"""Programs in C, C++ and Fortran are built as mpicc's users build them, with what pkg-config says of the installed library."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

FOLDER = Path(__file__).parent
PREFIX = Path(os.environ["CROSSDOCK_PREFIX"])


def run(*words, **variables):
    done = subprocess.run(["timeout", "120", *words], env={**os.environ, **variables}, check=False,
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def pkg_config(*words):
    folders = {str(path.parent) for path in PREFIX.rglob("*.pc")}
    return run("pkg-config", *words, PKG_CONFIG_PATH=":".join(folders)).split()


class PkgConfig(unittest.TestCase):
    def build_and_run(self, package, *compile_words):
        with tempfile.TemporaryDirectory() as folder:
            program = f"{folder}/program"
            run(*compile_words, *pkg_config("--cflags", "--libs", package), "-o", program)
            libraries = pkg_config("--variable=libdir", package)
            run(program, LD_LIBRARY_PATH=":".join(libraries), ASAN_OPTIONS="detect_leaks=0")

    def test_program_in_c(self):
        version = pkg_config("--modversion", "crossdock")[0]
        self.build_and_run("crossdock", os.environ["CROSSDOCK_MPICC"], str(FOLDER / "project/main.c"),
                           f'-DPACKAGE_VERSION="{version}"')

    def test_program_in_cpp(self):
        self.build_and_run("crossdock", os.environ["CROSSDOCK_MPICXX"], "-std=c++20", str(FOLDER / "project/main.cpp"))

    @unittest.skipUnless(os.environ["CROSSDOCK_MPIFORT"], "the library was built without Fortran")
    def test_program_in_fortran(self):
        self.build_and_run("crossdock-fortran", os.environ["CROSSDOCK_MPIFORT"], os.environ["CROSSDOCK_FORTRAN_EXAMPLE"])

    def test_programs_for_other_libraries(self):
        for name, package in (("gslib", "gslib"), ("mpi_advance", "mpi-advance"), ("mpix", "mpi-advance")):
            self.build_and_run(f"crossdock-{package}", os.environ["CROSSDOCK_MPICC"],
                               str(FOLDER / f"project/{name}.c"))

    def test_headers_with_names_of_other_libraries_are_not_found_by_accident(self):
        names = ("gslib.h", "locality_aware.h", "mpi_advance.h", "mpix.h")
        found = {}
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "names.c"
            source.write_text("".join(f"#if __has_include(<{name}>)\n{name}\n#endif\n" for name in names))
            for package in ("", "-core", "-analysis", "-gslib", "-mpi-advance"):
                flags = pkg_config("--cflags", f"crossdock{package}")
                found[package] = run(os.environ["CROSSDOCK_MPICC"], "-nostdinc", "-E", "-P", *flags, str(source)).split()

        self.assertEqual(found, {"": [], "-core": [], "-analysis": [], "-gslib": [],
                                 "-mpi-advance": ["locality_aware.h", "mpi_advance.h"]})

    def test_programs_without_mpi(self):
        for name in ("core", "analysis"):
            self.build_and_run(f"crossdock-{name}", os.environ["CROSSDOCK_CXX"], "-std=c++20",
                               str(FOLDER / f"without_mpi/{name}.cpp"))


if __name__ == "__main__":
    unittest.main()
