"""What takes long of packages: they are built, looked into and used. `scripts/test --packages` runs it.

usage: packages_test.py FOLDER [TEST...]    FOLDER keeps what is built
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

PROJECT = Path(__file__).parents[2]
CONSUMER = PROJECT / "tests/consumer"
FOLDER = Path(sys.argv.pop(1)).resolve()
VERSION = "0.1.0"
# What the bare library can do without.
OPTIONAL = ("METIS", "fast_matrix_market", "Random123", "ZLIB", "CLI11", "Boost", "PETSc", "HYPRE", "GTest",
            "Python3", "nanobind")
# The least time, and the same objects as from everywhere else.
CHEAP = ["-G", "Ninja", "-DCMAKE_CXX_FLAGS=-O0", "-DCMAKE_UNITY_BUILD=ON", "-DCROSSDOCK_WARNINGS=OFF"]
BARE = ["-DCROSSDOCK_BUILD_TESTS=OFF", "-DCROSSDOCK_BUILD_EXAMPLES=OFF", "-DCROSSDOCK_BUILD_TOOLS=OFF",
        "-DCROSSDOCK_WITH_FORTRAN=OFF", *(f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in OPTIONAL)]


def run(*words, folder=PROJECT, **variables):
    done = subprocess.run([str(word) for word in words], cwd=folder, env={**os.environ, **variables}, check=False,
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{words}: {done.returncode}\n{done.stdout[-5000:]}{done.stderr[-5000:]}")
    return done.stdout


def fresh(name):
    shutil.rmtree(FOLDER / name, ignore_errors=True)
    (FOLDER / name).mkdir(parents=True)
    return FOLDER / name


def build(source, folder, *options):
    run("cmake", "-S", source, "-B", folder, *CHEAP, *options)
    run("cmake", "--build", folder, "-j2")


def pkg_config(prefix, *words):
    folders = ":".join(str(path.parent) for path in prefix.rglob("crossdock.pc"))
    return run("pkg-config", *words, "crossdock", PKG_CONFIG_PATH=folders).split()


def build_in_c(prefix, folder):
    """As a user without CMake does; returns the program."""
    program = folder / "program"
    run("mpicc", CONSUMER / "project/main.c", f'-DPACKAGE_VERSION="{VERSION}"',
        *pkg_config(prefix, "--cflags", "--libs"), "-o", program)
    return program


class Static(unittest.TestCase):
    """The bare library, static."""

    @classmethod
    def setUpClass(cls):
        cls.built = FOLDER / "static"
        cls.prefix = fresh("static-prefix")
        build(PROJECT, cls.built, *BARE, "-DBUILD_SHARED_LIBS=OFF")
        run("cmake", "--install", cls.built, "--prefix", cls.prefix)

    def test_libraries_are_static_and_nothing_else_is_installed(self):
        names = {path.name for path in (self.prefix / "lib").glob("lib*")}
        parts = ("", "_analysis", "_core", "_device", "_gslib", "_mpi_advance")
        self.assertEqual(names, {f"libcrossdock{part}.a" for part in parts})
        self.assertFalse((self.prefix / "bin").exists())

    def test_projects_in_one_language_link_with_it(self):
        for language in ("C", "CXX"):
            folder = fresh(f"static-{language}")
            build(CONSUMER / "one_language", folder, f"-DLANGUAGE={language}", f"-DCMAKE_PREFIX_PATH={self.prefix}")
            run(folder / "consumer")

    def test_pkg_config_gives_all_that_it_needs(self):
        run(build_in_c(self.prefix, fresh("static-pkg-config")))

    def test_cpack_makes_every_kind_of_package(self):
        folder = fresh("cpack")
        run("cpack", "-G", "TGZ;DEB;RPM", "-B", folder, folder=self.built)
        stem = f"crossdock-{VERSION}-Linux-{os.uname().machine}"
        library = "lib/libcrossdock.a"
        self.assertIn(f"{stem}/{library}\n", run("tar", "-tf", folder / f"{stem}.tar.gz"))
        self.assertIn(f"./usr/{library}\n", run("dpkg-deb", "--contents", folder / f"{stem}.deb"))
        self.assertIn(f"/usr/{library}\n", run("rpm", "-qlp", folder / f"{stem}.rpm"))


class FetchContent(unittest.TestCase):
    def test_program_in_c_builds_and_runs(self):
        folder = FOLDER / "fetch_content"
        run("cmake", "-S", CONSUMER / "subproject", "-B", folder, *CHEAP, f"-DCROSSDOCK_SOURCE={PROJECT}",
            "-DWITH_FETCH_CONTENT=ON", *(option for option in BARE if "DISABLE" in option))
        run("cmake", "--build", folder, "-j2", "--target", "consumer_c")
        run(folder / "consumer_c")


class Prefix(unittest.TestCase):
    """No root: what the library needs lies in a folder of the user's."""

    def test_dependencies_are_taken_from_the_prefix_path(self):
        prefix = fresh("dependencies")
        packages = run("bash", "-c", "dpkg -L $(dpkg-query -W -f '${db:Status-Status} ${binary:Package}\n' 'libfmt*' "
                                     "'libabsl*' 'libhwloc*' nlohmann-json3-dev | sed -n 's/^installed //p')").splitlines()
        for path in map(Path, packages):
            if path.is_file() and path.is_relative_to("/usr"):
                copy = prefix / path.relative_to("/usr")
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, copy, follow_symlinks=False)
        built = fresh("prefix-path")
        run("cmake", "-S", PROJECT, "-B", built, *CHEAP, *BARE, f"-DCMAKE_PREFIX_PATH={prefix}")
        cache = (built / "CMakeCache.txt").read_text(encoding="utf-8")
        for name in ("fmt_DIR", "absl_DIR", "nlohmann_json_DIR", "hwloc_LIBRARY", "hwloc_INCLUDE_DIR"):
            self.assertRegex(cache, rf"(?m)^{name}:\w+={prefix}/")


class Debian(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.packages = fresh("deb")
        cls.root = fresh("deb-root")
        # lintian ends it with an error if it finds one, or a warning.
        run(PROJECT / "packaging/build-deb", "--quick", cls.packages)
        for package in cls.packages.glob("*.deb"):
            run("dpkg-deb", "--extract", package, cls.root)

    def test_packages_are_these(self):
        names = {path.name.split("_")[0] for path in self.packages.glob("*.deb") if "dbgsym" not in path.name}
        self.assertEqual(names, {"crossdock", "libcrossdock0", "libcrossdock-dev", "libcrossdock-doc"})

    def test_another_build_gives_the_same_bytes(self):
        again = fresh("deb-again")
        run("sh", "-c", 'umask 0002; exec "$@"', "sh", PROJECT / "packaging/build-deb", "--quick", again,
            TZ="Pacific/Kiritimati", LC_ALL="C.UTF-8")
        first, second = ({path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.deb")}
                         for folder in (self.packages, again))
        self.assertEqual(first, second)

    def test_demo_runs(self):
        libraries = ":".join({str(path.parent) for path in self.root.rglob("libcrossdock*.so.0")})
        output = run("mpirun", "--oversubscribe", "--bind-to", "none", "-n", "2",
                     self.root / "usr/bin/crossdock", "demo",
                     folder="/", LD_LIBRARY_PATH=libraries)
        self.assertIn("three_step", output)

    def test_program_in_c_builds_and_runs(self):
        libraries = ":".join({str(path.parent) for path in self.root.rglob("libcrossdock*.so.0")})
        run(build_in_c(self.root, fresh("deb-c")), LD_LIBRARY_PATH=libraries)


class Interface(unittest.TestCase):
    def test_programs_of_the_last_version_still_link_or_the_library_has_another_name(self):
        """CROSSDOCK_LAST_VERSION: a commit in place of the last tag."""
        tags = run("git", "tag", "--list", "v*", "--merged", "HEAD", "--sort=-version:refname").split()
        last = os.environ.get("CROSSDOCK_LAST_VERSION") or (tags[0] if tags else None)
        if last is None:
            self.skipTest("no version has been tagged")
        source = fresh("interface") / "source"
        self.addCleanup(run, "git", "worktree", "remove", "--force", source)
        run("git", "worktree", "add", "--detach", source, last)
        shutil.copytree(PROJECT / "third_party", source / "third_party", dirs_exist_ok=True)
        for name, project in (("before", source), ("now", PROJECT)):
            build(project, FOLDER / "interface" / name, *BARE, "-DBUILD_SHARED_LIBS=ON", "-DCMAKE_CXX_FLAGS=-O0 -g")
        before, now = (next((FOLDER / "interface" / name).glob("libcrossdock.so.*.*")) for name in ("before", "now"))
        changes = subprocess.run(["abidiff", "--headers-dir1", source / "include", "--headers-dir2",
                                  PROJECT / "include", before, now], check=False, capture_output=True, text=True)
        failed, incompatible = changes.returncode & 3, changes.returncode & 8
        self.assertFalse(failed, changes.stderr)
        if incompatible:
            self.assertNotEqual(soname(before), soname(now), changes.stdout[-5000:])


def soname(library):
    return re.search(r"SONAME +(\S+)", run("objdump", "-p", library))[1]


if __name__ == "__main__":
    unittest.main()
