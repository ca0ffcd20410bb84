"""What the pages show is so: links lead somewhere, command lines work, programs are the examples."""

import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import unittest
from os.path import relpath
from pathlib import Path

import pages

PROJECT = Path(__file__).parents[2]
STUDIES = PROJECT / "satellites/studies/docs"
MATRIX = PROJECT / "data/bcspwr10.mtx.gz"
CHEAP = {"analyze", "explain", "draw", "info", "simulate", "export"}
MOST_RANKS = 1024

# What stands around the fragments of pages.
FRAME = """
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <numeric>
#include <thread>
#include <vector>
#include "crossdock/crossdock.hpp"
"""
FRAGMENTS_OF_PAGE = """
namespace crossdock::page_%d {
%s
void shown() {
%s
}
}
"""
# It runs as one process; each fragment is a block, behind which its results are checked.
FRAME_OF_C = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "crossdock/crossdock.h"
enum { num_steps = 2, num_rows = 4, num_ghosts = 2, num_points = 4, num_bins = 3, num_values = 2, first_row = 0, tag = 7,
       num_sources = 1, num_destinations = 1, num_sent = 2 };
static const int send_counts[] = {2}, send_displs[] = {0}, recv_counts[] = {2}, recv_displs[] = {0};
static const int sources[] = {0}, destinations[] = {0}, counts[] = {2}, displs[] = {0}, values[] = {5, 6};
static const int send_index[] = {0, 1};
static int destination_of[num_sent], one_each[num_sent];
static const int64_t ghost_columns[] = {0, 1}, bins[] = {2, 2}, ids[] = {7, 8, 7, 0}, ones[] = {1, 1};
static double x[] = {1, 2, 3, 4}, ghosts[2], mass[] = {1, 2, 3, 4}, send_buffer[2];
static int64_t times[2];
static int num_computed, received[2];
static MPI_Request requests[2];
static void expect(int is_true, const char* what) {
    if (is_true) return;
    fprintf(stderr, "not so: %%s\\n", what);
    exit(1);
}
#define EXPECT(condition) expect(condition, #condition)
static void compute_interior(const double* of) { EXPECT(of == x); }
static void compute_boundary(const double* of, const double* needed) {
    EXPECT(needed[0] == of[0] && needed[1] == of[1]);
    ++num_computed;
}
static void compute(const double* of, const double* needed) { compute_boundary(of, needed); }
static void pack(const double* from, double* to) { memcpy(to, from, 2 * sizeof *to); }
static void receive(const MPI_Status* status) {
    MPI_Recv(received, 2, MPI_INT, status->MPI_SOURCE, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
int main(int argc, char** argv) {
    crossdock_context* world;
    crossdock_pattern* pattern;
    crossdock_neighbor_exchange* halo;
    MPI_Comm graph;
    MPI_Init(&argc, &argv);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, sources, MPI_UNWEIGHTED, 1, destinations, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &graph);
    crossdock_context_create(MPI_COMM_WORLD, NULL, &world);
    crossdock_pattern_from_needed_range(world, first_row, num_rows, num_ghosts, ghost_columns, &pattern);
    crossdock_neighbor_exchange_create(world, pattern, NULL, &halo);
%s
    (void)compute; (void)compute_interior; (void)pack; (void)receive;
    return MPI_Finalize();
}
"""
FRAME_OF_CPP_THAT_RUNS = """
#include <cstdlib>
#include <vector>
#include "crossdock/crossdock.hpp"
using namespace crossdock;
std::vector<int> came;
int num_computed = 0;
void compute(const std::vector<double>&, const std::vector<double>& needed) {
    if (needed == std::vector<double>{3, 1}) ++num_computed;
}
void receive(rank_t source, std::span<const int> message) {
    if (source != 0) std::exit(1);
    came.assign(message.begin(), message.end());
}
int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    context world(MPI_COMM_WORLD);
    const std::vector<rank_t> destinations{0}, sources{0};
    const std::vector<count_t> counts{2}, displacements{0};
    const std::vector<count_t> send_starts{0, 2}, send_index{2, 0}, recv_starts{0, 2}, recv_index{0, 1};
    const std::vector<int> values{5, 6};
    const std::vector<double> x{1, 2, 3, 4};
    std::vector<double> ghosts(2);
    const int num_steps = 2;
%s
    world.close();
    MPI_Finalize();
    return came == values && num_computed == num_steps ? 0 : 1;
}
"""
# Around the fragments of the page of arrays, which belong together. It prints the line that says who owns what.
FRAME_OF_ARRAYS = """
#include <cstdio>
#include <numeric>
#include <vector>
#include "crossdock/crossdock.hpp"
using namespace crossdock;
int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const count_t num_vertices = 3;
    const std::vector<count_t> neighbors{1, 2, 0}, offers{0, 1, 2}, wanted{2, 0};
    std::vector<count_t> found(2);
%s
    world.close();
    MPI_Finalize();
    const auto owners = block_partition::blocks(10, 4);
    std::printf("10 entries on 4 ranks ");
    for (rank_t rank = 0; rank < 4; ++rank)
        std::printf("   rank %%d: %%d to %%d", rank, int(owners.first(rank)), int(owners.first(rank + 1) - 1));
    return found == std::vector<count_t>{1, 0} ? 0 : 1;
}
"""
# Each fragment is a block or a procedure; what they share stands around them. It runs as one process.
FRAME_OF_FORTRAN = """
module shared
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: int64, real64
    implicit none
    integer(int64), parameter :: num_bins_here = 16
    type :: particle
        real(real64) :: mass
        integer :: cell
    end type
    type :: own_bins
        integer(int64) :: first = 0, counts(0:num_bins_here - 1) = 0
    end type
contains
    subroutine compute_interior(x)
        real(real64), intent(in) :: x(:)
        if (size(x) /= 4) stop 1
    end subroutine
    subroutine compute_boundary(x, ghosts)
        real(real64), intent(in) :: x(:), ghosts(:)
        if (any(ghosts /= x(:2))) stop 1
    end subroutine
    subroutine compute(x, ghosts)
        real(real64), intent(in) :: x(:), ghosts(:)
        call compute_boundary(x, ghosts)
    end subroutine
    integer function owner_of(bin)
        integer(int64), intent(in) :: bin
        owner_of = int(bin / num_bins_here)
    end function
%s
end module
program shown
    use mpi_f08
    use crossdock
    use crossdock_devices
    use shared
    implicit none
    integer(int64), parameter :: num_rows = 4, num_ghosts = 2, first_row = 0, num_bins = 3, num_values = 2
    integer, parameter :: send_counts(1) = 2, send_displs(1) = 0, recv_counts(1) = 2, recv_displs(1) = 0
    integer, parameter :: num_steps = 2, destinations(1) = 0, num_draws = 3
    integer, parameter :: sources(1) = 0, num_destinations = 1, num_sent = 2, send_index(2) = [1, 2]
    integer(int64), parameter :: drawn(num_draws) = [3, 0, 3]
    integer(int64), parameter :: ghost_columns(2) = [0, 1], bins(2) = [2, 2], ones(2) = 1, counts(1) = 2
    real(real64), parameter :: values(2) = [3, 4]
    integer :: status, step, i, k
    type(MPI_Datatype) :: particle_type
    type(MPI_Comm) :: graph
    type(crossdock_context) :: world
    type(crossdock_pattern) :: pattern
    type(crossdock_neighbor_exchange) :: halo
    real(real64) :: x(num_rows) = 1, ghosts(num_ghosts)
    call MPI_Init()
    call MPI_Type_contiguous(16, MPI_BYTE, particle_type)
    call MPI_Type_commit(particle_type)
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [0], MPI_UNWEIGHTED, 1, [0], MPI_UNWEIGHTED, MPI_INFO_NULL, &
        .false., graph)
    call world%%create(MPI_COMM_WORLD, status)
    call pattern%%from_needed(world, first_row, num_rows, ghost_columns, status)
    call halo%%create(world, pattern, status)
%s
    call world%%close(status)
    call MPI_Finalize()
end program
"""
BLOCK_OF_FORTRAN = """
ghosts = 0
block
%s
if (status /= CROSSDOCK_SUCCESS) stop 1
end block
"""
NAMES_OF_FRAGMENTS = {
    "README.md": "extern count_t first_row, num_rows; extern std::vector<count_t> columns;"
                 "extern std::vector<double> x, ghosts; void compute_interior(const std::vector<double>&);",
    "docs/errors.md": "extern context world; extern struct pattern pattern;",
    "docs/migrating.md": "extern context world; extern std::vector<rank_t> destinations;"
                         "extern std::vector<count_t> counts, displacements; extern std::vector<int> values;"
                         "extern std::vector<rank_t> sources; extern std::vector<double> x, ghosts; extern int num_steps;"
                         "extern std::vector<count_t> send_starts, send_index, recv_starts, recv_index;"
                         "void compute(const std::vector<double>&, const std::vector<double>&);"
                         "void receive(rank_t, std::span<const int>);",
    "docs/exchange.md": "std::vector<count_t> needed_by(rank_t, rank_t); rank_t owner_of(count_t);",
    "docs/gather-scatter.md": "extern std::vector<count_t> ids; extern std::vector<double> mass;"
                              "void work_on_inner_points();",
    "docs/try.md": "extern context world; extern struct pattern pattern;",
    "docs/stream.md": "extern std::size_t num_entries_here; extern std::vector<std::uint64_t> values;"
                      "worker_id owner_of(std::uint64_t); std::uint64_t index_of(std::uint64_t);"
                      "extern stream<int> events, updates; void push_all(stream_port<std::uint64_t>&);"
                      "void handle(stream_port<std::uint64_t>&, const stream_batch<std::uint64_t>&);",
}
# Behind the recipe of a route: each of four ranks sends an item to the next one, through rank 0.
RING_OVER_HUB = """
#include "crossdock/plan.hpp"
int main() {
    using namespace crossdock;
    const auto regions = topology::from_string("2x2");
    std::vector<pattern> ring;
    for (rank_t rank = 0; rank < 4; ++rank)
        ring.push_back({.rank = rank, .num_ranks = 4, .num_items = 1, .num_slots = 1,
                        .sends = {{(rank + 1) % 4}, {0, 1}, {0}}, .receives = {{(rank + 3) % 4}, {0, 1}, {0}}});
    const auto plans = compile(regions, ring, *make_route("hub", regions));
    verify(plans, ring);
    return total_traffic(regions, plans[0]).messages == 3 ? 0 : 1;
}
"""
# What holds behind each fragment, in their order.
HALO_WAS_COMPUTED = "EXPECT(num_computed == num_steps); num_computed = 0;"
GHOSTS_WERE_ADDED = "EXPECT(x[0] == 2 && x[1] == 4 && x[2] == 3 && x[3] == 4);"
HOLDS_BEHIND_FRAGMENTS_IN_C = {
    "docs/c.md": [HALO_WAS_COMPUTED, GHOSTS_WERE_ADDED,
                  "EXPECT(mass[0] == 4 && mass[1] == 2 && mass[2] == 4 && mass[3] == 4);", "EXPECT(times[0] == 2 && times[1] == 2);",
                  "EXPECT(status == CROSSDOCK_INVALID_TOPOLOGY);"],
    "docs/errors.md": ["EXPECT(status == CROSSDOCK_SUCCESS);"],
    "docs/migrating.md": [*[HALO_WAS_COMPUTED] * 6, GHOSTS_WERE_ADDED,
                          "EXPECT(received[0] == 5 && received[1] == 6);"],
}


def crossdock(*words, folder=None):
    return subprocess.run(["timeout", "300", os.environ["CROSSDOCK_TOOL"], *words], cwd=folder, check=False,
                          capture_output=True, text=True)


def crossdock_json(*words):
    return json.loads(crossdock(*words, "--json").stdout)


def texts():
    return {page: page.read_text(encoding="utf-8") for page in pages.pages(PROJECT)}


def crossdock_commands():
    found = {(page.name, tuple(words), launched) for page, text in texts().items()
             if page.name != "CHANGELOG.md" for words, launched in pages.crossdock_commands(text)}
    return sorted(found)


def with_files(words):
    """The command with the paths of this project, or None if it names a file that is not here."""
    known = {"FILE": str(MATRIX)}
    for word in words:
        if (PROJECT / word).is_file():
            known[word] = str(PROJECT / word)
        elif word.endswith((".gz", ".mtx", "FOLDER")):
            return None
    return [known.get(word, word) for word in words]


def recipe(heading):
    """The code in a recipe of CONTRIBUTING.md."""
    section = pages.section((PROJECT / "CONTRIBUTING.md").read_text(encoding="utf-8"), heading)
    return [code for language, code in pages.fenced(section) if language == "cpp"]


def with_lines(name, before, lines):
    """A file of the project with some lines before the first one that begins so."""
    text = (PROJECT / name).read_text(encoding="utf-8")
    if text.count(before) == 0:
        raise ValueError(f"{name} has no {before}")
    return text.replace(before, lines + before, 1)


def is_cheap(words):
    if words[0] == "info":
        return True
    ranks = words[words.index("--ranks") + 1] if "--ranks" in words else ""
    return words[0] in CHEAP and ranks.isdigit() and int(ranks) <= MOST_RANKS


class Docs(unittest.TestCase):
    def test_LinksLeadSomewhere(self):
        self.assertEqual([fault for page in pages.pages(PROJECT) for fault in pages.faults_of_links(page)], [])

    def test_IndexHasEveryPage(self):
        index = (PROJECT / "docs/README.md").read_text(encoding="utf-8")
        names = [relpath(page, PROJECT / "docs") for folder in ("docs", "satellites/*/docs")
                 for page in PROJECT.glob(f"{folder}/*.md")]

        self.assertEqual([name for name in sorted(names) if f"]({name})" not in index], ["README.md"])

    def test_EachSatelliteHasItsPage(self):
        for readme in PROJECT.glob("satellites/*/README.md"):
            with self.subTest(readme.parent.name):
                self.assertEqual(readme.read_text(encoding="utf-8").count("](docs/"), 1)

    def test_TablesAreWhole(self):
        self.assertEqual([(page.name, row) for page, text in texts().items() for row in pages.broken_rows(text)], [])

    def test_PagesAreShort(self):
        counts = {page: pages.num_words(text) for page, text in texts().items() if page.name != "CHANGELOG.md"}
        too_long = [page.name for page, count in counts.items() if count > (2500 if page.name == "bench.md" else 1800)]

        self.assertEqual(too_long, [])
        self.assertLessEqual(sum(counts.values()), 45700)

    def test_OptionsOfCommandLinesExist(self):
        helps = {}
        for page, words, _ in crossdock_commands():
            with self.subTest(page=page, command=" ".join(words)):
                verb = tuple(pages.verbs(words))
                if verb not in helps:
                    helps[verb] = crossdock(*verb, "--help")
                self.assertEqual(helps[verb].returncode, 0, helps[verb].stderr)
                self.assertEqual(pages.unknown_options(words, helps[verb].stdout), [])

    def test_OptionsOfScriptsExist(self):
        for page, text in texts().items():
            for words in pages.commands(text):
                script = PROJECT / words[0]
                if script.is_file() and words[0].startswith(("scripts/", "bench/", "satellites/studies/")):
                    with self.subTest(page=page.name, command=" ".join(words)):
                        self.assertEqual(pages.unknown_options(words, script.read_text(encoding="utf-8")), [])

    def tables_printed_on(self, text):
        printed = ""
        for words in pages.commands(text):
            if "--tables" in words:
                with self.subTest(command=" ".join(words)):
                    done = subprocess.run([sys.executable, "-B", *words], cwd=PROJECT, check=False,
                                          capture_output=True, text=True)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertIn("|---|", done.stdout)
                    printed += done.stdout
        return printed

    def test_TablesOfStudiesComeFromTheirRecords(self):
        for page in STUDIES.glob("*.md"):
            with self.subTest(page=page.name):
                self.assertNotEqual(self.tables_printed_on(page.read_text(encoding="utf-8")), "")

    def test_TablesOfGrowthComeFromTheirRecord(self):
        growth = pages.section((PROJECT / "docs/bench.md").read_text(encoding="utf-8"), "Growth")
        rows = [line for line in growth.splitlines() if line.startswith("|")]
        printed = self.tables_printed_on(growth).splitlines()
        self.assertEqual(len(rows), 3 * 8 + 1)
        self.assertEqual([row for row in rows if row not in printed], [])

    def test_TablesOfMeasurementsComeFromTheirRecords(self):
        page = [table for path in ("docs/bench.md", "satellites/device/docs/device.md")
                for table in pages.tables((PROJECT / path).read_text(encoding="utf-8"))]
        command = [sys.executable, "-B", "bench/measured.py", "--tables", "bench/results"]
        done = subprocess.run(command, cwd=PROJECT, check=True, capture_output=True, text=True)
        printed = pages.tables(done.stdout)

        self.assertEqual(len(printed), 27)
        self.assertEqual([table for table in printed if table not in page], [])

    def test_TablesOfChoicesComeFromTheirRecords(self):
        done = subprocess.run([sys.executable, "-B", PROJECT / "satellites/studies/choice_rules.py"], check=True,
                              capture_output=True, text=True)
        page = (PROJECT / "docs/choice.md").read_text()
        rows = [line for line in done.stdout.splitlines() if line.startswith("| ")]

        self.assertEqual(len(rows), 16)
        self.assertEqual([row for row in rows if row not in page.splitlines()], [])

    def test_TablesOfFaultsComeFromTheirRecords(self):
        page = (PROJECT / "docs/faults.md").read_text(encoding="utf-8")
        tables = pages.tables(page)

        self.assertEqual(len(tables), 2)
        self.assertEqual(self.tables_printed_on(page).splitlines(), [row for table in tables for row in table])

    def test_TableOfMpisComesFromItsRecord(self):
        printed = self.tables_printed_on((PROJECT / "docs/mpis.md").read_text(encoding="utf-8"))

        self.assertIn(printed.splitlines(), pages.tables((PROJECT / "docs/mpis.md").read_text(encoding="utf-8")))

    def test_TableOfClustersComesFromItsRecords(self):
        done = subprocess.run([PROJECT / "scripts/compare", PROJECT / "bench/clusters"], check=True,
                              capture_output=True, text=True)

        self.assertEqual(pages.tables((PROJECT / "docs/clusters.md").read_text(encoding="utf-8")),
                         pages.tables(done.stdout))

    def test_CommandLinesThatAreCheapSucceed(self):
        num_run = 0
        with tempfile.TemporaryDirectory() as folder:
            for page, words, launched in crossdock_commands():
                found = with_files(words)
                if found is None or launched or not is_cheap(found):
                    continue
                with self.subTest(page=page, command=" ".join(words)):
                    done = crossdock(*found, folder=folder)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    num_run += 1
        self.assertGreaterEqual(num_run, 10)

    def test_ReadmeBeginsWithTheCommandsThatSetEverythingUp(self):
        first_screen = (PROJECT / "README.md").read_text(encoding="utf-8").partition("\n## ")[0]

        self.assertEqual(re.findall(r"^\| `(\S+)` \|.* minutes", first_screen, re.MULTILINE),
                         ["scripts/quickstart", "scripts/test"])

    def test_EstimateOfTheReadmeIsTheOneOfTheQuickstart(self):
        words = "explain data/msc01050.mtx.gz --ranks 64 --topology 4x16"
        self.assertIn(f'"$crossdock" {words}', (PROJECT / "scripts/quickstart").read_text(encoding="utf-8"))
        printed = crossdock(*words.split(), folder=PROJECT).stdout
        self.assertIn(textwrap.indent(printed, "    "), (PROJECT / "README.md").read_text(encoding="utf-8"))

    def test_TableOfRoutesIsTheRegistry(self):
        registered = crossdock_json("analyze", MATRIX, "--ranks", "8", "--topology", "2x4", "--routes", "all")
        names = [route["route"].partition(":")[0] for route in registered["routes"]]
        every = [route["name"] for route in crossdock_json("info")["routes"]]

        self.assertEqual(pages.route_names((PROJECT / "docs/routes.md").read_text()), every)
        self.assertEqual([name for name in dict.fromkeys(names) if name not in every], [])

    def test_TablesOfMpiAdvanceNameWhatTheHeadersDeclare(self):
        name = r"\b(?:MPI[LX]_|(?:CROSSDOCK_)?(?:NEIGHBOR_ALLTOALLV|ALLTOALLV?_CRS)_)\w+"
        folder = PROJECT / "satellites/mpi_advance/include/crossdock/mpi_advance"
        code = "\n".join(re.sub(r"//.*", "", (folder / header).read_text())
                         for header in ("locality_aware.h", "mpi_advance.h"))
        page = (PROJECT / "satellites/mpi_advance/docs/mpi-advance.md").read_text()
        page = page.replace(pages.section(page, "mpix.h"), "")
        described = [name for row in re.findall(r"^\| (`.*?) \|", page, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)]

        self.assertEqual(sorted(described), sorted(set(re.findall(name, code))))

    def test_ProgramsAreTheExamples(self):
        num_programs = 0
        for page, text in texts().items():
            for named, program in pages.programs(text):
                with self.subTest(page=page.name):
                    self.assertIn(program, [(PROJECT / path).read_text() for path in named])
                    num_programs += 1
        self.assertGreaterEqual(num_programs, 1)

    def test_FragmentsOfPagesCompile(self):
        program = FRAME
        for number, (page, names) in enumerate(NAMES_OF_FRAGMENTS.items()):
            fragments = [f'{{\n#line 1 "fragment of {page}"\n{code}}}'
                         for language, code in pages.fenced((PROJECT / page).read_text()) if language == "cpp"]
            program += FRAGMENTS_OF_PAGE % (number, names, "\n".join(fragments))
        self.compile({"fragments.cpp": program})

    def test_FragmentsOfArraysRun(self):
        page = (PROJECT / "docs/array.md").read_text()
        fragments = [code for language, code in pages.fenced(page) if language == "cpp"]
        self.assertEqual(len(fragments), 2)
        printed = self.compile({"shown.cpp": FRAME_OF_ARRAYS % "\n".join(fragments)},
                               run_as="CROSSDOCK_COMPILE_AND_LINK")
        self.assertIn(printed or "", page)

    def test_FragmentsForHypreAreOfItsExample(self):
        example = (PROJECT / "examples/hypre_matvec.cpp").read_text()
        for language, code in pages.fenced((PROJECT / "satellites/hypre/docs/hypre.md").read_text()):
            if language == "cpp":
                self.assertIn(code, example)

    @unittest.skipUnless(os.environ.get("CROSSDOCK_COMPILE_C"), "there is no shared library")
    def test_FragmentsInCRun(self):
        for page, holds in HOLDS_BEHIND_FRAGMENTS_IN_C.items():
            with self.subTest(page=page):
                fragments = [code for language, code in pages.fenced((PROJECT / page).read_text())
                             if language == "c" and "Petsc" not in code]
                self.assertEqual(len(fragments), len(holds))
                blocks = [f"{{\n{code}{check}\n}}" for code, check in zip(fragments, holds)]
                self.run_program("CROSSDOCK_COMPILE_C", "shown.c", FRAME_OF_C % "\n".join(blocks))

    @unittest.skipUnless(os.environ.get("CROSSDOCK_COMPILE_C"), "there is no shared library")
    def test_FragmentsOfMigratingInCppRun(self):
        page = (PROJECT / "docs/migrating.md").read_text()
        blocks = [f"{{\n{code}}}" for language, code in pages.fenced(page) if language == "cpp"]
        self.run_program("CROSSDOCK_COMPILE_AND_LINK", "shown.cpp", FRAME_OF_CPP_THAT_RUNS % "\n".join(blocks))

    def test_ExcerptsOfTheTutorialAreOfTheExamples(self):
        excerpts = [code for language, code in pages.fenced((PROJECT / "docs/tutorial.md").read_text())
                    if language in ("c", "cpp")]
        programs = [(PROJECT / f"examples/spmv.{suffix}").read_text() for suffix in ("c", "cpp")]

        self.assertGreaterEqual(len(excerpts), 5)
        self.assertEqual([code for code in excerpts if not any(code in program for program in programs)], [])

    @unittest.skipUnless(os.environ.get("CROSSDOCK_COMPILE_FORTRAN"), "the library was built without Fortran")
    def test_FragmentsInFortranRun(self):
        fragments = [code for page in ("satellites/fortran/docs/fortran.md", "docs/migrating.md")
                     for language, code in pages.fenced((PROJECT / page).read_text()) if language == "fortran"]
        programs = [code for code in fragments if code.startswith("program ")]
        self.assertEqual(len(programs), 1)
        self.run_program("CROSSDOCK_COMPILE_FORTRAN", "shown.f90", programs[0])
        procedures = [code for code in fragments if code.startswith("function ")]
        blocks = [BLOCK_OF_FORTRAN % code for code in fragments if code not in procedures + programs]
        example = (PROJECT / "examples/histogram.f90").read_text()
        for procedure in procedures:
            self.assertIn(textwrap.indent(procedure, "    "), example)
        self.run_program("CROSSDOCK_COMPILE_FORTRAN", "shown.f90",
                         FRAME_OF_FORTRAN % ("".join(procedures), "".join(blocks)))

    def test_RecipeOfARouteCarriesItems(self):
        program, declaration, entry = recipe("A new route in ten minutes")
        declared = with_lines("src/route/routes.hpp", "std::unique_ptr<route> make_direct(", declaration)
        registered = with_lines("src/route/registry.cpp", '        {"direct"', entry)
        self.compile({"routes.hpp": declared, "hub.cpp": program, "registry.cpp": registered,
                      "both.cpp": '#include "hub.cpp"\n#include "registry.cpp"\n' + RING_OVER_HUB},
                     PROJECT / "src/route", run_as="CROSSDOCK_COMPILE_WITH_CORE")

    def test_RecipeOfAnOperationCombines(self):
        operation, entry = recipe("A new operation")
        header, table = "crossdock/operation.hpp", "crossdock/detail/executor/operations_mpi.hpp"
        self.compile({
            header: with_lines(f"include/{header}", "}  // namespace crossdock\n", operation),
            table: with_lines(f"include/{table}", "        use(named_operation<minimum>", entry),
            "shown.cpp": f'#include "{table}"\nint main() {{\nbool found = false;\ncrossdock::for_each_operation<int>('
                         "[&](const auto& one) {\nif (one.in_mpi == MPI_LOR) found = one.apply(0, 5) == 1;\n});\n"
                         "return found ? 0 : 1;\n}\nconst crossdock::logical_or used;\n",
        }, run_as="CROSSDOCK_COMPILE_AND_LINK")

    def test_RecipeOfAVerbAnswers(self):
        program, declaration, entry = recipe("A new verb of the command line")
        folder = "tools/crossdock"
        declared = with_lines(f"{folder}/verbs.hpp", "void add_info(", declaration)
        listed = with_lines(f"{folder}/verbs.cpp", '    verb_entry{"info"', entry)
        sources = "".join(f'#include "{folder}/{name}.cpp"\n'
                          for name in ("regions", "verbs", "help_format", "all_ranks", "output", "program_folder"))
        printed = self.compile({
            f"{folder}/verbs.hpp": declared, f"{folder}/regions.cpp": program, f"{folder}/verbs.cpp": listed,
            "both.cpp": sources + "int main(int argc, char** argv) {\n"
                        "return crossdock::tool::run_program(argc, argv, {&crossdock::tool::add_regions});\n}\n",
        }, PROJECT, '-DCROSSDOCK_VERSION="0"', "-DFMT_HEADER_ONLY", run_as="CROSSDOCK_COMPILE_AND_LINK",
            words=["regions", "1x2"])
        self.assertIn(printed, [None, "rank 0 is in region 0\nrank 1 is in region 0\n"])

    def test_RecipeOfAnInterceptedFunctionCompiles(self):
        taken, in_fortran = recipe("A new intercepted MPI function")
        folder = "satellites/drop_in/src"
        self.compile({"symbols.cpp": with_lines(f"{folder}/symbols.cpp", 'extern "C" {\n', taken),
                      "fortran.cpp": with_lines(f"{folder}/fortran.cpp", "CROSSDOCK_FORTRAN_FORMS(Alltoall,",
                                                in_fortran),
                      "both.cpp": '#include "symbols.cpp"\n#include "fortran.cpp"\n'}, PROJECT / folder,
                     f"-I{PROJECT}", f"-I{PROJECT}/satellites/device/include")

    def test_FilesToOpenAreThere(self):
        table = pages.tables(pages.section((PROJECT / "CONTRIBUTING.md").read_text(encoding="utf-8"), "To change X, open Y"))[0]
        opened = [name for row in table[2:] for name in re.findall(r"`([^`]+/[^`]*)`", row.split("|")[2])]
        # What stands for a name is in capitals.
        folders = [re.sub(r"/[A-Z]+\b.*", "", name) for name in opened]

        self.assertGreaterEqual(len(folders), 20)
        self.assertEqual([name for name in folders if not (PROJECT / name).exists()], [])

    def run_program(self, compiler_variable, name, code):
        """Compiles it as the variable says, which names the compiler and then flags, and runs it."""
        compiler, *flags = os.environ[compiler_variable].split()
        with tempfile.TemporaryDirectory() as folder:
            source, program = Path(folder) / name, f"{folder}/shown"
            source.write_text(code)
            for command in ([compiler, source, *flags, "-o", program], [program]):
                done = subprocess.run(["timeout", "300", *command], cwd=folder, check=False,
                                      capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def compile(self, files, folder_of_others=PROJECT / "include", *flags, run_as=None, words=()):
        """The last file. If the variable `run_as` says how to link it, it runs with `words`; returns what it prints."""
        is_run = bool(os.environ.get(run_as or ""))
        with tempfile.TemporaryDirectory() as folder:
            for name, code in files.items():
                path = Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(code)
            compiler, *given = os.environ[run_as if is_run else "CROSSDOCK_COMPILE"].split()
            program = Path(folder) / "shown"
            command = [compiler, f"-I{folder}", *flags, f"-I{folder_of_others}", path, *given, "-o", program]
            for command in [command, [program, *words]][:1 + is_run]:
                done = subprocess.run(command, check=False, capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout if is_run else None


if __name__ == "__main__":
    unittest.main()
