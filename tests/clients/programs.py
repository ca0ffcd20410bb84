"""Gets programs of others, and runs them with MPI alone and under libcrossdock_mpi.so."""
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

REGIONS = {1: "1x1", 2: "2x1", 3: "1,2", 4: "1,3", 5: "2,3", 7: "3,4", 8: "3,5"}
TIMEOUT_SECONDS = 600


@dataclass
class Mpi:
    """How programs are compiled for an MPI, and started."""

    title: str
    name: str = "openmpi"
    compilers: str = ""  # their folder, with its slash; empty: those of the system
    launcher: list = field(default_factory=lambda: ["mpirun", "--oversubscribe", "--bind-to", "none"])
    # Ranks that fail alike sometimes lose what they say where mpirun puts it together.
    environment: dict = field(default_factory=lambda: {
        "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_orte_base_help_aggregate": "0", "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})


class CannotInstall(Exception):
    pass


def must(command, where):
    done = subprocess.run(command, cwd=where, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotInstall(f"{' '.join(map(str, command))}: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout


def last_change():
    """The commit that last changed the library or the drop-in."""
    where = Path(__file__).resolve().parents[2]
    return must(["git", "log", "-1", "--format=%h", "--", "src", "include", "satellites/drop_in/src"], where).strip()


class Programs:
    """In a folder; counts what is checked."""

    def __init__(self, library, folder, mpi=None):
        self.mpi = mpi or Mpi("Open MPI")
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

    def compile(self, source, *flags, name=None, compiler="mpicc"):
        program = self.folder / "bin" / (name or f"{source.parent.name}_{source.stem}")
        if not program.exists():
            program.parent.mkdir(exist_ok=True)
            must([self.mpi.compilers + compiler, "-O1", "-w", source, "-o", program, *flags, "-lm"], self.folder)
        return program

    # What is checked

    def run(self, ranks, command, environment, timeout=TIMEOUT_SECONDS):
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
        variables = [f"{name}={value}" for name, value in asked.items()]
        line = [*self.mpi.launcher, "-n", str(ranks), "env", *variables, *map(str, command)]
        return subprocess.run(["timeout", "-k", "5", str(timeout), *line], cwd=self.folder, capture_output=True,
                              text=True, check=False, errors="replace",
                              env=os.environ | {"OMP_NUM_THREADS": "1"} | self.mpi.environment)

    def expect(self, what, is_true, said=""):
        self.num_passed += bool(is_true)
        self.num_failed += not is_true
        print(f"{'passed' if is_true else 'FAILED'}  {what}", flush=True)
        if not is_true and said:
            print("    " + "\n    ".join(said.strip().splitlines()[-25:]), flush=True)
