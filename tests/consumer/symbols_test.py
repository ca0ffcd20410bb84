"""What the shared library exports and needs.

usage: symbols_test.py BUILD

compares with installed headers, and the table of docs/install.md. BUILD is the folder where it was built.
"""

import re
import subprocess
import sys
import unittest
from pathlib import Path

PROJECT = Path(__file__).parents[2]
INSTALLING = PROJECT / "docs/install.md"
HEADERS = [*(PROJECT / "include").rglob("*.h*")]
LIBRARY = Path(sys.argv[1]) / "libcrossdock.so"
FORTRAN = [Path(sys.argv[1]) / f"libcrossdock_{name}.so" for name in ("fortran", "fortran_device")]
DROP_IN = Path(sys.argv[1]) / "libcrossdock_mpi.so"
MPI_ADVANCE = Path(sys.argv[1]) / "libcrossdock_mpi_advance.so"
# Every program in C++ has them.
OF_THE_LANGUAGE = re.compile(r"^(libstdc\+\+|libm|libgcc_s|libc|libpthread|ld-linux.*)\.so")


def output_of(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def exported(library):
    """What no other library may define: no inline functions, tables of classes, and instances of templates."""
    lines = output_of("nm", "--dynamic", "--defined-only", "--demangle", str(library)).splitlines()
    return sorted({line.split(maxsplit=2)[2] for line in lines if line.split()[1] in "TDBR"})


def needed(library):
    names = re.findall(r"\(NEEDED\).*\[(.+)\]", output_of("readelf", "--dynamic", str(library)))
    # Which of Abseil's hold its hash table depends on its version.
    return {re.sub("^libabsl_.*", "libabsl_", name.split(".so")[0]) for name in names if not OF_THE_LANGUAGE.match(name)}


def identifiers(symbol):
    """The names of a symbol and of what it lies in, without arguments."""
    symbol = re.sub(r"\[abi:\w+\]", "", symbol)
    while (shorter := re.sub(r"<[^<>]*>", "", symbol)) != symbol:
        symbol = shorter
    name = symbol.partition("(")[0].split()[-1]
    return [part.lstrip("~") for part in name.split("::") if not part.startswith("operator")]


class Symbols(unittest.TestCase):
    maxDiff = None

    def test_exports_have_our_names(self):
        for symbol in exported(LIBRARY):
            self.assertRegex(symbol, r"^(crossdock(::|_)|operator[^(]*\(crossdock::)")

    def test_exports_stand_in_installed_headers(self):
        declared = {word for path in HEADERS for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))}
        self.assertEqual([symbol for symbol in exported(LIBRARY)
                          if not declared.issuperset(identifiers(symbol))], [])

    @unittest.skipUnless(FORTRAN[0].exists(), "the library was built without Fortran")
    def test_exports_of_fortran_have_the_names_of_its_modules(self):
        for library, module in zip(FORTRAN, ("crossdock", "crossdock_devices")):
            for symbol in exported(library):
                self.assertRegex(symbol, rf"^__{module}_MOD_")

    def test_exports_of_mpi_advance_have_its_names_and_are_of_no_other_library(self):
        for symbol in exported(MPI_ADVANCE):
            self.assertRegex(symbol, r"^(MPIL_|MPIX_|mpil_|crossdock_)")
        self.assertEqual(set(exported(MPI_ADVANCE)) & set(exported(LIBRARY)), set())

    @unittest.skipUnless(DROP_IN.exists(), "the drop-in was not built")
    def test_drop_in_defines_nothing_of_the_others(self):
        others = [library for library in (LIBRARY, *FORTRAN) if library.exists()]
        self.assertEqual(set(exported(DROP_IN)) & {symbol for library in others for symbol in exported(library)}, set())

    def test_needs_what_the_page_says(self):
        rows = re.findall(r"^\| `(crossdock::\w+)` \|.*\| ([^|]+) \|$", INSTALLING.read_text(encoding="utf-8"), re.MULTILINE)
        said = {name: set(re.findall(r"`(lib\w+)\*?`", last)) for name, last in rows}
        self.assertEqual(said, {"crossdock::crossdock": needed(LIBRARY), "crossdock::core": {"libfmt"},
                                "crossdock::analysis": {"libfmt"}})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
