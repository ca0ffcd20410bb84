"""The recipes in packaging/ name options that CMakeLists.txt has."""

import re
import sys
import types
import unittest
from pathlib import Path

PROJECT = Path(__file__).parents[2]
PACKAGING = PROJECT / "packaging"
CMAKE = (PROJECT / "CMakeLists.txt").read_text(encoding="utf-8")
VERSION = re.search(r"project\(crossdock VERSION (\S+)", CMAKE)[1]
SPACK = PACKAGING / "spack/packages/crossdock/package.py"


def recipe(path):
    return (PACKAGING / path).read_text(encoding="utf-8")


def spack_recipe():
    """The class of the recipe, with as much of Spack as it needs; and the names of what it calls with its first arguments."""
    calls = []

    class CMakePackage:
        def define_from_variant(self, option, variant):
            return option, variant

        def define(self, option, _):
            return option, None

    package = types.ModuleType("spack.package")
    package.CMakePackage = CMakePackage
    for name in ("depends_on", "license", "variant", "version"):
        setattr(package, name, lambda first, *_, name=name, **__: calls.append((name, first)))
    sys.modules |= {"spack": types.ModuleType("spack"), "spack.package": package}
    found = {}
    exec(compile(SPACK.read_text(encoding="utf-8"), SPACK, "exec"), found)
    return found["Crossdock"], calls


class Recipes(unittest.TestCase):
    def test_options_are_those_of_the_project(self):
        known = set(re.findall(r"^\s*(?:option|set)\((CROSSDOCK_\w+)", CMAKE, re.MULTILINE))
        for path in ("conda/recipe.yaml", f"easybuild/crossdock-{VERSION}-gompi-2024a.eb", "debian/rules"):
            named = set(re.findall(r"-D(CROSSDOCK_\w+)=", recipe(path)))
            self.assertGreater(len(named), 5, path)
            self.assertEqual(named - known, set(), path)

    def test_options_of_spack_are_those_of_the_project_and_of_its_variants(self):
        known = set(re.findall(r"^\s*(?:option|set)\((\w+)", CMAKE, re.MULTILINE))
        made, calls = spack_recipe()
        options = made().cmake_args()

        self.assertEqual({option for option, _ in options} - known, set())
        self.assertEqual({variant for _, variant in options if variant}, {first for name, first in calls if name == "variant"})

    def test_debian_packages_have_the_number_of_the_binary_interface(self):
        number = re.search(r"set\(crossdock_binary_interface (\d+)\)", CMAKE)[1]
        self.assertIn(f"\nPackage: libcrossdock{number}\n", recipe("debian/control"))


if __name__ == "__main__":
    unittest.main()
