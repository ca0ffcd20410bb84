#!/usr/bin/env python3
"""Real programs that nobody changed: with MPI alone, and under libcrossdock_mpi.so.

usage: run.py LIBRARY FOLDER [CLIENT...]

LIBRARY is libcrossdock_mpi.so, with libcrossdock_petsc.so beside it; FOLDER keeps what is downloaded and built. A
client of which something cannot be installed is skipped. All is for Debian 12 and its Open MPI.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

ROUTES = ["auto", "direct", "two_step", "three_step", "hypercube", "grid:2", "locality"]
REGIONS = {1: "1x1", 2: "2x1", 3: "1,2", 4: "1,3", 5: "2,3", 7: "3,4"}
OWN_FOLDER = Path(__file__).parent.resolve()
MPIRUN = ["mpirun", "--oversubscribe", "--bind-to", "none"]
# Ranks that fail alike sometimes lose what they say where mpirun puts it together.
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_orte_base_help_aggregate": "0",
               "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
NO_ROUTE = "no_such_route"
TIMEOUT_SECONDS = 600


class CannotInstall(Exception):
    pass


def must(command, where):
    done = subprocess.run(command, cwd=where, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotInstall(f"{' '.join(map(str, command))}: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout


class Clients:
    """Counts what is checked."""

    def __init__(self, library, folder):
        self.library = Path(library).resolve(strict=True)
        self.folder = Path(folder).resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.num_passed = self.num_failed = self.num_skipped = 0

    # What is needed

    def install(self, *packages):
        """Debian's, if they are missing."""
        query = ["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package}\n", *packages]
        known = subprocess.run(query, capture_output=True, text=True, check=False).stdout.splitlines()
        missing = [name for name in packages if f"installed {name}" not in known]
        if missing:
            as_root = [] if os.getuid() == 0 else ["sudo"]
            must([*as_root, "apt-get", "update", "-q"], self.folder)
            must([*as_root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-q", "-y",
                  "--no-install-recommends", *missing], self.folder)

    def unpack(self, package):
        """A Debian package that is large, or whose files shall not be installed."""
        into = self.folder / package
        if not into.exists():
            must(["apt-get", "download", "-q", package], self.folder)
            must(["dpkg", "-x", next(self.folder.glob(f"{package}_*.deb")), into], self.folder)
        return into

    def unpack_source(self, package, members="*"):
        """The source archive from which Debian's package is built, or members of it."""
        into = self.folder / f"{package}-source"
        if not into.exists():
            lists = self.folder / "lists"
            (lists / "partial").mkdir(parents=True, exist_ok=True)
            (self.folder / "sources.list").write_text("deb-src http://deb.debian.org/debian bookworm main\n")
            options = ["-q", "-o", f"Dir::Etc::sourcelist={self.folder}/sources.list", "-o", "Dir::Etc::sourceparts=-",
                       "-o", f"Dir::State::lists={lists}"]
            must(["apt-get", *options, "update"], self.folder)
            must(["apt-get", *options, "source", "--download-only", "--tar-only", package], self.folder)
            into.mkdir()
            must(["tar", "-xf", next(self.folder.glob(f"{package}_*.orig.tar.*")), "-C", into, "--strip-components=1",
                  "--wildcards", members], self.folder)
        return into

    def compile(self, source, *flags):
        program = self.folder / "bin" / f"{source.parent.name}_{source.stem}"
        if not program.exists():
            program.parent.mkdir(exist_ok=True)
            must(["mpicc", "-O1", "-w", source, "-o", program, *flags, "-lm"], self.folder)
        return program

    # What is checked

    def run(self, ranks, command, environment):
        """Under the drop-in where the environment has a route; mpirun itself does without. After the route and a "+"
        stands what is taken over as well."""
        asked = dict(environment)
        route, _, taken = asked.pop("CROSSDOCK_ROUTE", "").partition("+")
        if route:
            asked |= {"LD_PRELOAD": str(self.library), "CROSSDOCK_TOPOLOGY": REGIONS[ranks]}
        if taken:
            asked["CROSSDOCK_TAKE"] = taken
        if route and route != "auto":
            asked["CROSSDOCK_ROUTE"] = route
        words = [word for name, value in asked.items() for word in ("-x", f"{name}={value}")]
        line = [*MPIRUN, "-n", str(ranks), *words, *map(str, command)]
        return subprocess.run(["timeout", "-k", "5", str(TIMEOUT_SECONDS), *line], cwd=self.folder,
                              capture_output=True, text=True, check=False, env=os.environ | ENVIRONMENT)

    def expect(self, what, is_true, said=""):
        self.num_passed += bool(is_true)
        self.num_failed += not is_true
        print(f"{'passed' if is_true else 'FAILED'}  {what}", flush=True)
        if not is_true and said:
            print("    " + "\n    ".join(said.strip().splitlines()[-25:]), flush=True)

    def compare(self, name, ranks, command, routes=ROUTES, result=lambda done: done.stdout, **environment):
        """`result` of the program that is done is the same with all routes as it is with MPI alone."""
        alone = self.run(ranks, command, environment)
        expected = result(alone)
        if alone.returncode != 0 or not expected:
            return self.expect(f"{name}, {ranks} ranks, MPI alone", False, alone.stdout + alone.stderr)
        for route in routes:
            done = self.run(ranks, command, environment | {"CROSSDOCK_ROUTE": route})
            is_same = done.returncode == 0 and result(done) == expected
            self.expect(f"{name}, {ranks} ranks, {route}", is_same, f"exit {done.returncode}, not\n{expected}\n"
                        f"but\n{result(done)}\n{done.stderr}")

    def is_taken_over(self, name, ranks, command, says=f'no route is called "{NO_ROUTE}"', **environment):
        """A route that there is not can only be missed by calls that crossdock has taken over."""
        done = self.run(ranks, command, environment | {"CROSSDOCK_ROUTE": NO_ROUTE})
        said = done.stdout + done.stderr
        self.expect(f"{name}, calls are taken over", done.returncode != 0 and says in said, said)


def lines_with(expression):
    """The lines of the output that say something about the result, sorted since ranks print in any order."""
    return lambda done: "\n".join(sorted(line for line in done.stdout.splitlines() if re.search(expression, line)))


# The clients

def mpi4py(on):
    on.install("python3-mpi4py", "python3-numpy", "python3-pip")
    version = must(["/usr/bin/python3", "-c", "import mpi4py; print(mpi4py.__version__)"], on.folder).strip()
    tests = on.folder / f"mpi4py-{version}"
    if not tests.exists():
        must(["/usr/bin/python3", "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
              "--no-binary", "mpi4py", f"mpi4py=={version}"], on.folder)
        must(["tar", "-xf", f"{tests}.tar.gz"], on.folder)
    suite = ["/usr/bin/python3", tests / "test/runtests.py", "--no-builddir"]
    command = [*suite]
    for name in ["test_cco_ngh", "test_request", "test_grequest", "test_comm_topo"]:
        command += ["-i", name]

    def summary(done):
        """Every rank says how many tests it ran, and OK."""
        return sorted(re.findall(r"Ran \d+ tests|OK|FAILED|skipped=\d+", done.stderr))

    # Processes that meet later take Open MPI a minute to give up on, with and without the drop-in.
    whole = [*suite, "-e", "test_spawn", "-e", "test_dynproc"]
    for ranks in [1, 2, 3, 5]:
        on.compare(f"mpi4py {version}, whole suite", ranks, whole, routes=["auto", "auto+alltoallv"], result=summary)
    for level in ["serialized", "multiple"]:
        for ranks in [1, 2, 5]:
            on.compare(f"mpi4py {version}, MPI_THREAD_{level.upper()}", ranks, command, result=summary,
                       MPI4PY_RC_THREAD_LEVEL=level)
    on.is_taken_over("mpi4py", 2, command, MPI4PY_RC_THREAD_LEVEL="serialized")


def builder_of_petsc(on):
    on.install("libpetsc-real-dev", "pkgconf")
    examples = next(on.unpack("libpetsc3.18-dev-examples").glob("usr/share/petsc/*/share/petsc/examples/src"))
    flags = must(["pkg-config", "--cflags", "--libs", "PETSc"], on.folder).split()
    return lambda path: on.compile(examples / path, *flags)


def petsc(on):
    build = builder_of_petsc(on)
    neighbor = ["-sf_type", "neighbor"]
    forest = [build("vec/is/sf/tutorials/ex1.c"), *neighbor]
    for test in ["bcast", "bcastop", "reduce", "degree", "gather", "scatter", "embed", "invert"]:
        on.compare(f"PETSc, PetscSF of type neighbor, {test}", 5, [*forest, f"-test_{test}"])
    scatter = [build("vec/is/sf/tests/ex9.c"), *neighbor]
    for test in ["world2sub", "sub2sub", "world2subs"]:
        on.compare(f"PETSc, VecScatter, {test}", 7, [*scatter, f"-{test}"])
    solve = [*neighbor, "-ksp_type", "cg", "-pc_type", "jacobi", "-ksp_monitor", "-ksp_converged_reason"]
    laplacians = {"2-D": [build("ksp/ksp/tutorials/ex2.c"), "-m", "40", "-n", "40"],
                  "3-D": [build("ksp/ksp/tutorials/ex45.c"), "-da_refine", "1"]}
    for name, laplacian in laplacians.items():
        for ranks in [2, 5]:
            on.compare(f"PETSc, CG on the {name} Laplacian", ranks, [*laplacian, *solve])
    # It says no more of an error in MPI_Waitall.
    on.is_taken_over("PETSc", 2, [*laplacians["3-D"], *solve], says="General MPI error")


def petsc_type(on):
    """Without the drop-in: PETSc loads the type of its star forest."""
    build = builder_of_petsc(on)
    library = on.library.with_name("libcrossdock_petsc.so")
    if not library.exists():
        raise CannotInstall(f"{library} is not built")
    forest = build("vec/is/sf/tutorials/ex1.c")
    tests = ["bcast", "bcastop", "reduce", "degree", "gather", "scatter", "embed", "invert", "fetchandop"]
    programs = [(5, f"PetscSF, {test}", [forest, f"-test_{test}"]) for test in tests]
    programs += [(7, f"VecScatter, {test}", [build("vec/is/sf/tests/ex9.c"), f"-{test}"])
                 for test in ["world2sub", "sub2sub", "world2subs"]]
    programs += [(ranks, f"PetscSF, its test {test}", [build(f"vec/is/sf/tests/{test}.c")])
                 for test, ranks in [("ex5", 7), ("ex6", 2), ("ex7", 2), ("ex8", 2), ("ex12", 3), ("ex13", 3),
                                     ("ex16", 3)]]
    programs += [(5, "CG on the 3-D Laplacian", [build("ksp/ksp/tutorials/ex45.c"), "-da_refine", "1", "-ksp_monitor",
                                                 "-ksp_type", "cg", "-pc_type", "jacobi"])]

    def without_type(done):
        return re.sub(r"type: \w+|^ *crossdock: .*\n", "", done.stdout, flags=re.MULTILINE)

    for ranks, name, command in programs:
        alone = on.run(ranks, command, {"PETSC_OPTIONS": "-sf_type basic"})
        on.expect(f"PETSc, {name}, {ranks} ranks, basic", alone.returncode == 0 and alone.stdout, alone.stderr)
        for route in ["auto", "three_step", "hypercube"]:
            options = f"-dll_append {library} -sf_type crossdock -sf_crossdock_route {route}"
            regions = f"{ranks // 2},{-(-ranks // 2)}"
            done = on.run(ranks, command, {"PETSC_OPTIONS": options, "CROSSDOCK_TOPOLOGY": regions})
            is_same = done.returncode == 0 and without_type(done) == without_type(alone)
            on.expect(f"PETSc, {name}, {ranks} ranks, {route}", is_same, f"not\n{alone.stdout}\nbut\n{done.stdout}\n"
                      f"{done.stderr}")


def dolfinx(on):
    on.install("python3-dolfinx")
    stokes = next(on.unpack("dolfinx-doc").glob("usr/share/dolfinx/demo-python/demo_stokes.py"))
    poisson = ["/usr/bin/python3", "-B", OWN_FOLDER / "poisson.py"]
    norms = lines_with("^norm|Norm of")
    for level in ["serialized", "multiple"]:
        asked = {"MPI4PY_RC_THREAD_LEVEL": level, "PETSC_OPTIONS": "-sf_type neighbor"}
        for ranks in [1, 2, 5]:
            on.compare(f"DOLFINx, Poisson's equation, MPI_THREAD_{level.upper()}", ranks, poisson, result=norms,
                       **asked)
        on.compare(f"DOLFINx, demo_stokes.py, MPI_THREAD_{level.upper()}", 2, ["/usr/bin/python3", "-B", stokes],
                   routes=["auto", "three_step"], result=norms, **asked)
    # It looks at no error code, and mpi4py turns off that errors end the program.
    on.is_taken_over("DOLFINx", 2, poisson, MPI4PY_RC_THREAD_LEVEL="serialized", MPI4PY_RC_ERRORS="fatal")


# These send by hand: nothing is taken over, so a route that there is not must do no harm.

def hypre(on):
    on.install("libhypre-dev")
    examples = on.unpack_source("hypre") / "src/examples"
    for name, ranks, arguments in [("ex3", 4, ["-n", "33", "-solver", "0", "-v", "1", "1"]),
                                   ("ex5", 5, ["-n", "65", "-solver", "1"])]:
        program = on.compile(examples / f"{name}.c", "-I/usr/include/hypre", "-lHYPRE")
        on.compare(f"hypre, {name}.c", ranks, [program, *arguments], routes=["auto", NO_ROUTE],
                   result=lines_with("Iterations|Residual Norm"))


def p4est(on):
    on.install("libp4est-dev")
    steps = on.unpack_source("p4est") / "example/steps"
    for name in ["p4est_step3", "p4est_step4"]:
        program = on.compile(steps / f"{name}.c", "-lp4est", "-lsc")
        on.compare(f"p4est, {name}.c", 5, [program], routes=["auto", NO_ROUTE])


def dealii(on):
    on.install("libdeal.ii-dev", "cmake", "g++")
    source = on.unpack_source("deal.ii", "*/examples/step-40/*") / "examples/step-40"
    build = on.folder / "step-40"
    if not (build / "step-40").exists():
        must(["cmake", "-S", source, "-B", build], on.folder)
        must(["cmake", "--build", build], on.folder)
    on.compare("deal.II, step-40", 2, [build / "step-40"], routes=["auto", NO_ROUTE],
               result=lines_with("Cycle|Number of|Solved in"))


CLIENTS = {"mpi4py": mpi4py, "petsc": petsc, "petsc_type": petsc_type, "dolfinx": dolfinx, "hypre": hypre,
           "p4est": p4est, "dealii": dealii}


def main(library, folder, *names):
    on = Clients(library, folder)
    for name in names or CLIENTS:
        try:
            CLIENTS[name](on)
        except CannotInstall as reason:
            on.num_skipped += 1
            print(f"skipped {name}: {reason}", flush=True)
    print(f"{on.num_passed} passed, {on.num_failed} failed, {on.num_skipped} skipped")
    return on.num_failed > 0


if __name__ == "__main__":
    if len(sys.argv) < 3 or not set(sys.argv[3:]) <= set(CLIENTS):
        sys.exit(f"{__doc__}\nclients: {', '.join(CLIENTS)}")
    sys.exit(main(*sys.argv[1:]))
