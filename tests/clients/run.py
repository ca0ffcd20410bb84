#!/usr/bin/env python3
"""Real programs that nobody changed, and replicas of loops of some: with MPI alone, and under libcrossdock_mpi.so.

usage: run.py LIBRARY FOLDER [--untimed] [CLIENT...]
       run.py --page

LIBRARY is libcrossdock_mpi.so, with libcrossdock_petsc.so beside it; FOLDER keeps what is downloaded, built and
recorded, in clients.jsonl. A client of which something cannot be installed is skipped. All is for Debian 12 and its
Open MPI. conformance.py has mpi4py. --untimed measures no times. --page writes the table of the record beside the page
into the page.
"""
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from statistics import median

from conformance import row_of
from programs import CannotInstall, Programs, last_change, must

ROUTES = ["auto", "direct", "two_step", "three_step", "hypercube", "grid:2", "locality"]
OWN_FOLDER = Path(__file__).parent.resolve()
PROJECT = OWN_FOLDER.parents[1]
PAGE = PROJECT / "satellites/drop_in/docs/clients.md"
RECORD = PAGE.with_suffix(".jsonl")
NO_ROUTE = "no_such_route"
COUNTED_ROUTE = "three_step+alltoallv"
# Four emulated nodes of four ranks; a program is timed on each rank, without what starts it.
NUM_TIMED_RUNS = 3
NODES = [PROJECT / "tools/emulated-cluster", "--nodes", "4", "--ppn", "4", "--", "env"]
TIMED = ["bash", "-c", "TIMEFORMAT='took %R'; time \"$0\" \"$@\""]


class Clients(Programs):
    """Compares with all routes what a program says, counts what it calls, and measures it."""

    def __init__(self, library, folder, is_timed):
        super().__init__(library, folder)
        self.is_timed = is_timed
        self.rows = {}

    def row(self, name):
        return self.rows.setdefault(name, {"program": name, "ranks": [], "runs": 0, "differ": 0})

    def compare(self, name, what, ranks, command, routes=ROUTES, result=lambda done: done.stdout, **environment):
        """`result` of the program that is done is the same with all routes as it is with MPI alone."""
        row = self.row(name)
        row["ranks"] = sorted({*row["ranks"], ranks})
        alone = self.run(ranks, command, environment)
        expected = result(alone)
        if alone.returncode != 0 or not expected:
            return self.expect(f"{name}, {what}, {ranks} ranks, MPI alone", False, alone.stdout + alone.stderr)
        for route in routes:
            done = self.run(ranks, command, environment | {"CROSSDOCK_ROUTE": route})
            is_same = done.returncode == 0 and result(done) == expected
            row["runs"] += 1
            row["differ"] += not is_same
            self.expect(f"{name}, {what}, {ranks} ranks, {route}", is_same, f"exit {done.returncode}, not\n{expected}\n"
                        f"but\n{result(done)}\n{done.stderr}")

    def is_taken_over(self, name, ranks, command, says=f'no route is called "{NO_ROUTE}"', **environment):
        """A route that there is not can only be missed by calls that crossdock has taken over."""
        done = self.run(ranks, command, environment | {"CROSSDOCK_ROUTE": NO_ROUTE})
        said = done.stdout + done.stderr
        self.expect(f"{name}, calls are taken over", done.returncode != 0 and says in said, said)

    def measure(self, name, what, command, **environment):
        """The calls that the drop-in reports with a route, on 5 ranks; and the slowest rank's seconds on four emulated
        nodes, with MPI alone and under the drop-in in turn."""
        def seconds(**more):
            asked = [f"{key}={value}" for key, value in (environment | more).items()]
            done = subprocess.run(["timeout", "-k", "5", "600", *NODES, *asked, *TIMED, *map(str, command)],
                                  cwd=self.folder, capture_output=True, text=True, check=False, errors="replace",
                                  env=os.environ | {"OMP_NUM_THREADS": "1"} | self.mpi.environment)
            times = re.findall(r"^took ([\d.]+)$", done.stderr, re.MULTILINE)
            if done.returncode != 0 or not times:
                raise CannotInstall(f"{name} on emulated nodes: {done.stderr[-500:]}")
            return max(map(float, times))

        report = self.folder / "report.json"
        report.unlink(missing_ok=True)
        row = self.row(name) | {"what": what, "mpi_seconds": [], "drop_in_seconds": [], "calls": {}}
        done = self.run(5, command, environment | {"CROSSDOCK_ROUTE": COUNTED_ROUTE, "CROSSDOCK_REPORT": report})
        if done.returncode != 0:
            raise CannotInstall(f"{name}: {done.stderr[-500:]}")
        self.rows[name] = row
        for line in report.read_text().splitlines() if report.exists() else []:
            call = json.loads(line)
            sums = row["calls"].setdefault(call["function"], [0, 0])
            sums[0] += call["calls"]
            sums[1] += call["along_plan"]
        for _ in range(NUM_TIMED_RUNS if self.is_timed else 0):
            row["mpi_seconds"].append(seconds())
            row["drop_in_seconds"].append(seconds(LD_PRELOAD=self.library, CROSSDOCK_TAKE="alltoallv"))
        print(f"{name}, {what}: {row['mpi_seconds']} s, with the drop-in {row['drop_in_seconds']} s; {row['calls']}",
              flush=True)


def version_of(package):
    """Debian's, without its own additions."""
    version = must(["dpkg-query", "-W", "-f", "${Version}", package], OWN_FOLDER)
    return re.match(r"(\d+:)?([\d.]*\d)", version)[2]


def lines_with(expression):
    """The lines of the output that say something about the result, sorted since ranks print in any order."""
    return lambda done: "\n".join(sorted(line for line in done.stdout.splitlines() if re.search(expression, line)))


# The clients

def builder_of_petsc(on):
    on.install("libpetsc-real-dev", "pkgconf")
    examples = next(on.unpack("libpetsc3.18-dev-examples").glob("usr/share/petsc/*/share/petsc/examples/src"))
    flags = must(["pkg-config", "--cflags", "--libs", "PETSc"], on.folder).split()
    return lambda path: on.compile(examples / path, *flags)


def petsc(on):
    build = builder_of_petsc(on)
    neighbor = ["-sf_type", "neighbor"]
    name = f"PETSc {version_of('libpetsc-real-dev')}"
    forest = [build("vec/is/sf/tutorials/ex1.c"), *neighbor]
    for test in ["bcast", "bcastop", "reduce", "degree", "gather", "scatter", "embed", "invert"]:
        on.compare(name, f"PetscSF of type neighbor, {test}", 5, [*forest, f"-test_{test}"])
    scatter = [build("vec/is/sf/tests/ex9.c"), *neighbor]
    for test in ["world2sub", "sub2sub", "world2subs"]:
        on.compare(name, f"VecScatter, {test}", 7, [*scatter, f"-{test}"])
    solve = [*neighbor, "-ksp_type", "cg", "-pc_type", "jacobi", "-ksp_monitor", "-ksp_converged_reason"]
    laplacians = {"2-D": [build("ksp/ksp/tutorials/ex2.c"), "-m", "40", "-n", "40"],
                  "3-D": [build("ksp/ksp/tutorials/ex45.c"), "-da_refine", "1"]}
    for dimensions, laplacian in laplacians.items():
        for ranks in [2, 5]:
            on.compare(name, f"CG on the {dimensions} Laplacian", ranks, [*laplacian, *solve])
    # It says no more of an error in MPI_Waitall.
    on.is_taken_over(name, 2, [*laplacians["3-D"], *solve], says="General MPI error")
    on.measure(name, "1,000 steps of CG on the 3-D Laplacian, 49,000 unknowns",
               [build("ksp/ksp/tutorials/ex45.c"), "-da_grid_x", "37", "-da_grid_y", "37", "-da_grid_z", "36", *neighbor,
                "-ksp_type", "cg", "-pc_type", "jacobi", "-ksp_max_it", "1000", "-ksp_rtol", "1e-300", "-ksp_atol",
                "1e-300"])


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
    name = f"DOLFINx {version_of('python3-dolfinx-real')}"
    for level in ["serialized", "multiple"]:
        asked = {"MPI4PY_RC_THREAD_LEVEL": level, "PETSC_OPTIONS": "-sf_type neighbor"}
        for ranks in [1, 2, 5]:
            on.compare(name, f"Poisson's equation, MPI_THREAD_{level.upper()}", ranks, poisson, result=norms, **asked)
        on.compare(name, f"demo_stokes.py, MPI_THREAD_{level.upper()}", 2, ["/usr/bin/python3", "-B", stokes],
                   routes=["auto", "three_step"], result=norms, **asked)
    # It looks at no error code, and mpi4py turns off that errors end the program.
    on.is_taken_over(name, 2, poisson, MPI4PY_RC_THREAD_LEVEL="serialized", MPI4PY_RC_ERRORS="fatal")
    # With several threads PT-Scotch's now and then crash in Open MPI 4.1.4, without the drop-in too.
    on.measure(name, "Poisson's equation, set-up and CG", poisson, PETSC_OPTIONS="-sf_type neighbor",
               MPI4PY_RC_THREAD_LEVEL="serialized")


def neuron(on):
    on.install("neuron", "python3-neuron", "python3-mpi4py")
    name = f"NEURON {version_of('neuron')}"
    cells = ["/usr/bin/python3", "-B", OWN_FOLDER / "gap_junctions.py"]
    for ranks in [1, 2, 5]:
        on.compare(name, "gap junctions", ranks, cells, routes=[f"{route}+alltoallv" for route in ROUTES],
                   result=lines_with("^voltages"))
    on.measure(name, "64 cells with gap junctions, 1,000 steps", cells)


def replicas(on):
    """Loops of programs that Debian has not, written anew."""
    folder = OWN_FOLDER / "replicas"
    for name, source, compiler in [("nekRS's gather-scatter", "nekrs_gather_scatter.c", "mpicc"),
                                   ("Neko's gather-scatter", "neko_gather_scatter.f90", "mpifort"),
                                   ("Ginkgo's row gatherer", "ginkgo_row_gatherer.c", "mpicc")]:
        program = on.compile(folder / source, compiler=compiler)
        for ranks in [1, 2, 5, 8]:
            on.compare(f"Replica of {name}", "200 exchanges", ranks, [program, "200"],
                       routes=[f"{route}+alltoallv" for route in ROUTES])
        on.measure(f"Replica of {name}", "1,000 exchanges of 6³ points", [program, "1000"])


# These send by hand: nothing is taken over, so a route that there is not must do no harm.

def hypre(on):
    on.install("libhypre-dev")
    title = f"hypre {version_of('libhypre-dev')}"
    examples = on.unpack_source("hypre") / "src/examples"
    for name, ranks, arguments in [("ex3", 4, ["-n", "33", "-solver", "0", "-v", "1", "1"]),
                                   ("ex5", 5, ["-n", "65", "-solver", "1"])]:
        program = on.compile(examples / f"{name}.c", "-I/usr/include/hypre", "-lHYPRE")
        on.compare(title, f"{name}.c", ranks, [program, *arguments], routes=["auto", NO_ROUTE],
                   result=lines_with("Iterations|Residual Norm"))
    on.measure(title, "ex5.c, AMG and PCG on 257² unknowns", [program, "-n", "257", "-solver", "1"])


def p4est(on):
    on.install("libp4est-dev")
    title = f"p4est {version_of('libp4est-dev')}"
    steps = on.unpack_source("p4est") / "example/steps"
    for name in ["p4est_step3", "p4est_step4"]:
        program = on.compile(steps / f"{name}.c", "-lp4est", "-lsc")
        on.compare(title, f"{name}.c", 5, [program], routes=["auto", NO_ROUTE])
    on.measure(title, "p4est_step4.c", [program])


def dealii(on):
    on.install("libdeal.ii-dev", "cmake", "g++")
    source = on.unpack_source("deal.ii", "*/examples/step-40/*") / "examples/step-40"
    build = on.folder / "step-40"
    if not (build / "step-40").exists():
        must(["cmake", "-S", source, "-B", build], on.folder)
        must(["cmake", "--build", build], on.folder)
    name = f"deal.II {version_of('libdeal.ii-dev')}"
    on.compare(name, "step-40", 2, [build / "step-40"], routes=["auto", NO_ROUTE],
               result=lines_with("Cycle|Number of|Solved in"))
    on.measure(name, "step-40", [build / "step-40"])


CLIENTS = {"petsc": petsc, "petsc_type": petsc_type, "dolfinx": dolfinx, "neuron": neuron, "replicas": replicas,
           "hypre": hypre, "p4est": p4est, "dealii": dealii}


# The page

def table(rows):
    lines = [row_of(["program", "commit", "ranks", "runs", "counted", "calls by plan", "MPI alone", "drop-in"]),
             "|---" * 8 + "|"]
    for row in rows:
        calls = ", ".join(f"`{function}` {by_plan:,} of {number:,}"
                          for function, (number, by_plan) in sorted(row["calls"].items()))
        runs = f"{row['runs']}" + (f", **{row['differ']} differ**" if row["differ"] else "")
        seconds = [f"{median(row[key]):.2f} s" if row[key] else "–" for key in ("mpi_seconds", "drop_in_seconds")]
        lines.append(row_of([row["program"], row["commit"], ", ".join(map(str, row["ranks"])), runs, row["what"],
                             calls or "none", *seconds]))
    return lines


def read_record(file=RECORD):
    return [json.loads(line) for line in file.read_text().splitlines()]


def write_page():
    before, _, _ = PAGE.read_text().partition("\n| program |")
    PAGE.write_text(before + "\n" + "\n".join(table(read_record())) + "\n")


def main(library, folder, *names):
    on = Clients(library, folder, "--untimed" not in names)
    names = [name for name in names if name != "--untimed"]
    commit = last_change()
    record = on.folder / "clients.jsonl"
    for name in names or CLIENTS:
        on.rows = {}
        try:
            CLIENTS[name](on)
        except CannotInstall as reason:
            on.num_skipped += 1
            print(f"skipped {name}: {reason}", flush=True)
        known = read_record(record) if record.exists() else []
        rows = {row["program"]: row for row in known} | {row["program"]: row | {"commit": commit}
                                                         for row in on.rows.values() if "calls" in row}
        record.write_text("".join(json.dumps(row) + "\n" for row in rows.values()))
    print(f"{on.num_passed} passed, {on.num_failed} failed, {on.num_skipped} skipped")
    return on.num_failed > 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--page"]:
        sys.exit(write_page())
    if len(sys.argv) < 3 or not set(sys.argv[3:]) <= {"--untimed", *CLIENTS}:
        sys.exit(f"{__doc__}\nclients: {', '.join(CLIENTS)}")
    sys.exit(main(*sys.argv[1:]))
