"""scripts/probe under stand-ins for each scheduler, which run what is submitted, and scripts/compare."""

import json
import os
import re
import shutil
import socket
import subprocess
import unittest

from command_line import BAD_INPUT, TESTS, InFolder

PROJECT = TESTS.parent.parent
PROBE = PROJECT / "scripts/probe"
COMPARE = PROJECT / "scripts/compare"
USER = "somebody-at-the-site"
QUICK = ["--nodes", "1", "--ppn", "2", "--seconds", "0.01"]


def submit(variables, job="job=${!#}"):
    """Writes down its arguments and the job, and runs it as a scheduler would: elsewhere, with its variables."""
    return f"""
printf '%s\\n' "${{0##*/}}" "$@" >>"$STUB/told"
{job}
cp "$job" "$STUB/job"
cd / && {variables} bash "$STUB/job"
"""


# Without --mpi=pmix each task of Slurm is a program of its own.
STUBS = {
    "slurm": {"sbatch": submit("SLURM_JOB_ID=17"), "srun": """
while [[ $1 == --* ]]; do
    case "$1" in --ntasks=*) tasks=${1#*=} ;; --mpi=pmix) is_known=1 ;; esac
    shift
done
if [ -n "${is_known-}" ]; then exec $CROSSDOCK_MPIRUN "$tasks" "$@"; fi
for task in $(seq "$tasks"); do "$@"; done
"""},
    "pbs": {"qsub": submit('PBS_NODEFILE="$STUB/nodes"')},
    "lsf": {"bsub": submit('LSB_DJOB_HOSTFILE="$STUB/nodes"', 'job=$STUB/read; cat >"$job"')},
    "flux": {"flux": """
case "$1" in
    resource) exit 1 ;;
    run)
        shift
        while [[ $1 == -* ]]; do
            case "$1" in --ntasks=*) tasks=${1#*=} ;; -o) shift ;; esac
            shift
        done
        exec $CROSSDOCK_MPIRUN "$tasks" "$@" ;;
esac
""" + submit("STUB_JOB=17")},  # FLUX_JOB_ID would have Open MPI look for Flux
    "none": {},
}
# Of an MPI that is not Open MPI.
MPIEXEC = """
printf '%s\\n' "${0##*/}" "$@" >>"$STUB/told"
while [ "$1" != -n ]; do [ $# -gt 0 ] || exit 0; shift; done
exec $CROSSDOCK_MPIRUN "${@:2}"
"""
# Of a locale with decimal commas, which not every machine has.
AWK = """
PATH=${PATH#*:}
if [ "${LC_ALL-}" = C ]; then exec awk "$@"; fi
awk "$@" | tr . ,
"""


class Probe(InFolder):
    def setUp(self):
        super().setUp()
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        (self.folder / "nodes").write_text("a\na\n")
        self.add("mpiexec", MPIEXEC)
        self.add("awk", AWK)

    def add(self, name, script):
        (self.bin / name).write_text("#!/bin/bash\n" + script)
        (self.bin / name).chmod(0o755)

    def schedule(self, scheduler):
        for name, script in STUBS[scheduler].items():
            self.add(name, script)

    def probe(self, *arguments, program=True, script=PROBE, **environment):
        known = {"PATH": f"{self.bin}:{os.environ['PATH']}", "STUB": str(self.folder), "USER": USER, "LOGNAME": USER}
        program = ["--crossdock", os.environ["CROSSDOCK_TOOL"]] if program else []
        return subprocess.run(["timeout", "250", script, *program, *arguments], cwd=self.folder, check=False,
                              env=os.environ | known | environment, capture_output=True, text=True)

    def told(self):
        told = self.folder / "told"
        return told.read_text().splitlines() if told.exists() else []

    def check_results(self, name="probe"):
        """One page and one record, the same, of 2 ranks with right values and nothing private."""
        page = (self.folder / f"{name}.html").read_text(encoding="utf-8")
        text = (self.folder / f"{name}.json").read_text(encoding="utf-8")
        found = json.loads(text)
        self.assertEqual(found, json.loads(re.search(r'id="crossdock-try">(.*?)</script>', page)[1]))
        self.assertEqual((found["schema"], found["ranks"], found["is_calibrated"]), ("crossdock.try/1", 2, True))
        self.assertEqual([one["file"] for one in found["patterns"]], ["msc01050.mtx.gz", "dense:1", "random:1"])
        for one in found["patterns"]:
            self.assertIn(one["choice"]["route"], [candidate["route"] for candidate in one["choice"]["candidates"]])
            self.assertTrue(all(contender["verified"] for contender in one["contenders"]))
        names = {USER, socket.gethostname(), str(self.folder), str(PROJECT), os.path.expanduser("~")}
        for private in names - {"/", "localhost"}:
            self.assertIsNone(re.search(rf"(?<![\w-]){re.escape(private)}(?![\w-])", page), private)
            self.assertNotIn(f'"{private}', text)

    def check_job(self, scheduler, directives, *submitted):
        self.schedule(scheduler)
        more = ["-A", "project"] if scheduler != "none" else []

        done = self.probe(*QUICK, "-o", "mine", *(["--", *more] if more else []))

        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines()[-2:], [f"{self.folder}/mine.html", f"{self.folder}/mine.json"])
        self.check_results("mine")
        if submitted:
            self.assertEqual(self.told()[:len(submitted)], list(submitted))
            job = (self.folder / "job").read_text().splitlines()
            self.assertEqual(job[:-1], ["#!/bin/bash", *directives])

    def test_SubmitsItselfUnderSlurmAndFindsTheKindOfMpi(self):
        self.check_job("slurm", [
            "#SBATCH --job-name=crossdock-probe", "#SBATCH --nodes=1", "#SBATCH --ntasks-per-node=2",
            "#SBATCH --exclusive", "#SBATCH --time=20", f"#SBATCH --output={self.folder}/mine.log"],
            "sbatch", "-A", "project")

    def test_SubmitsItselfUnderPbs(self):
        self.check_job("pbs", [
            "#PBS -N crossdock-probe", "#PBS -l select=1:ncpus=2:mpiprocs=2", "#PBS -l place=scatter:excl",
            "#PBS -l walltime=0:20:00", "#PBS -j oe", f"#PBS -o {self.folder}/mine.log", "#PBS -V"],
            "qsub", "-A", "project")
        launched = " ".join(self.told())
        self.assertIn(f"mpiexec -f {self.folder}/nodes -bind-to core -n 2 {os.environ['CROSSDOCK_TOOL']} try", launched)

    def test_SubmitsItselfUnderLsf(self):
        self.check_job("lsf", [
            "#BSUB -J crossdock-probe", "#BSUB -n 2", "#BSUB -R span[ptile=2]", "#BSUB -x", "#BSUB -W 20",
            f"#BSUB -o {self.folder}/mine.log"],
            "bsub", "-A", "project", "mpiexec")

    def test_SubmitsItselfUnderFlux(self):
        self.check_job("flux", [
            "#flux: --job-name=crossdock-probe", "#flux: --nodes=1", "#flux: --exclusive", "#flux: --time-limit=20m",
            f"#flux: --output={self.folder}/mine.log"],
            "flux", "batch", "-A", "project")

    def test_RunsHereWithoutAScheduler(self):
        self.check_job("none", [])
        self.check_print("none", "--crossdock")

    def check_print(self, scheduler, *parts):
        done = self.probe("--scheduler", scheduler, "--print", "--nodes", "8", "--ppn", "4", "--launcher", "run them")
        self.assertEqual(done.returncode, 0, done.stderr)
        for part in (*parts, f"--inside {scheduler}", r"--launcher run\ them"):
            self.assertIn(part, done.stdout)

    def test_PrintsTheJobAndSubmitsNothing(self):
        for scheduler, part in (("slurm", "#SBATCH --nodes=8"), ("pbs", "#PBS -l select=8:ncpus=4:mpiprocs=4"),
                                ("lsf", "#BSUB -n 32"), ("flux", "#flux: --nodes=8")):
            self.schedule(scheduler)
            self.check_print(scheduler, part)
        self.assertEqual(self.told(), [])

    def test_TakesAsManyNodesAsThereAre(self):
        self.schedule("slurm")
        self.add("sinfo", "printf 'a\\nb\\na\\n'\n")

        done = self.probe("--print")

        self.assertIn("#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=16\n", done.stdout)
        self.assertEqual(done.stderr, "probe: there are 2 nodes, not 4\n")

    def test_BuildsWithTheMpiThatIsLoaded(self):
        project = self.folder / "clone"
        (project / "scripts").mkdir(parents=True)
        shutil.copy(PROBE, project / "scripts")
        shutil.copytree(PROJECT / "data", project / "data")
        for name in ("mpicc", "mpicxx", "ninja"):
            self.add(name, "")
        self.add("cmake", """
printf '%s\\n' "$@" >>"$STUB/told"
[ "$1" != --build ] || { mkdir -p "$2/tools/crossdock" && ln -s "$CROSSDOCK_TOOL" "$2/tools/crossdock/crossdock"; }
""")

        done = self.probe(*QUICK, "--scheduler", "none", program=False, script=project / "scripts/probe")

        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_results()
        told = self.told()
        self.assertEqual(told[:4], ["--preset", "quickstart", "-B", f"{project}/build/probe"])
        self.assertIn(f"-DMPI_C_COMPILER={self.bin}/mpicc", told)
        self.assertEqual(told[told.index("--build"):][:4], ["--build", f"{project}/build/probe", "--target",
                                                            "crossdock_tool"])

        self.add("cmake", "echo 'CMake Error: no hwloc'\nexit 1\n")
        done = self.probe(*QUICK, "--scheduler", "none", program=False, script=project / "scripts/probe")
        self.assertEqual(done.returncode, BAD_INPUT)
        self.assertIn("CMake Error: no hwloc\n", done.stderr)
        self.assertIn("probe: crossdock cannot be built, as ", done.stderr)

    def refuse(self, sentence, *arguments, program=True, **environment):
        done = self.probe(*arguments, program=program, **environment)
        self.assertEqual((done.returncode, done.stdout), (BAD_INPUT, ""), arguments)
        self.assertTrue(done.stderr.startswith(f"probe: {sentence}"), done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_WrongInputIsRefused(self):
        self.refuse("unknown option '--node'; --help lists", "--node", "3")
        self.refuse("--nodes needs a value", "--nodes")
        self.refuse("--nodes must be 1 to 64, not 65", "--nodes", "65")
        for number in ("0", "x", "-1", "1.5"):
            self.refuse(f"--ppn must be a whole number from 1 on, not '{number}'", "--ppn", number)
        self.refuse("--seconds must be a number above 0, not '0.0'", "--seconds", "0.0")
        self.refuse("unknown scheduler 'cron'; there are slurm, pbs, lsf, flux and none", "--scheduler", "cron")
        self.refuse("cannot write /no/such/probe.html", "-o", "/no/such/probe")
        self.refuse("one rank sends nothing", "--scheduler", "none", "--ppn", "1")
        self.refuse("there is no scheduler here to give '-A x' to", "--scheduler", "none", "--", "-A", "x")
        self.refuse("there is no program /no/crossdock", "--crossdock", "/no/crossdock")
        self.refuse("there is no bsub; --scheduler none runs it here", "--scheduler", "lsf", PATH="/usr/bin:/bin")
        self.assertEqual(self.told(), [])
        self.assertEqual(list(self.folder.glob("probe*")), [])

    def test_ALauncherThatMpiDoesNotKnowIsNamed(self):
        self.add("alone", '"$@"\n"$@"\n')
        self.refuse("no launcher starts 2 ranks that MPI knows: 'alone' starts programs of '1' ranks; --launcher may "
                    "name one", *QUICK, "--scheduler", "none", "--launcher", "alone")

    def test_AFailedJobLeavesNothing(self):
        (self.folder / "probe.html").write_text("old")
        self.add("broken", '[[ $* == *try* ]] && exit 3\nexec $CROSSDOCK_MPIRUN 2 "$@"\n')
        self.refuse("crossdock try has failed with exit code 3", *QUICK, "--scheduler", "none", "--launcher", "broken")
        self.assertEqual(list(self.folder.glob("probe.*")), [])

    def test_ShellcheckFindsNothing(self):
        done = subprocess.run(["shellcheck", PROBE], check=False, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, ""))


def contender(name, seconds, executor=None):
    return {"name": name, "executor": executor, "exchange_seconds": {"median": seconds}}


def record(**changes):
    pattern = {"file": "dense:1", "choice": {"route": "two_step"}, "finding": {"outcome": "gain"},
               "contenders": [contender("mpi_persistent", 8e-5), contender("mpi_neighbor_alltoallv", 1e-4),
                              contender("direct", 5e-5, "flat"), contender("three_step", 2e-5, "flat")]}
    return {"schema": "crossdock.try/1", "hosts": 4, "ranks": 16, "cpu": "A CPU", "mpi": "An MPI",
            "patterns": [pattern | changes]}


class Compare(InFolder):
    def compare(self, *arguments):
        return subprocess.run([COMPARE, *arguments], check=False, capture_output=True, text=True)

    def test_EachPatternIsARow(self):
        self.write("b.json", record())
        self.write("a.json", record(finding={"outcome": "wrong"}))

        done = self.compare(self.folder, self.folder / "b.json")

        same = "| 4 | 16 | A CPU | An MPI | `dense:1` | `two_step` |"
        fastest = f"| b {same} `three_step` | 0.25 | 0.40 |"
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines()[2:], [f"| a {same} wrong |  |  |", fastest, fastest])

    def refuse(self, sentence, *arguments):
        done = self.compare(*arguments)
        self.assertEqual((done.returncode, done.stdout), (BAD_INPUT, ""))
        self.assertTrue(done.stderr.startswith(f"compare: {sentence}"), done.stderr)

    def test_WrongInputIsRefused(self):
        self.refuse("usage: scripts/compare RECORD...")
        self.refuse("usage: scripts/compare RECORD...", "--all")
        self.refuse("cannot read /no/such.json: ", "/no/such.json")
        self.refuse(f"cannot read {self.folder}/text.json: ", self.write("text.json", "no JSON"))
        self.refuse(f"{self.folder}/list.json is no record of scripts/probe", self.write("list.json", []))
        self.refuse(f"{self.folder}/info.json is no record", self.write("info.json", {"schema": "crossdock.info/1"}))
        empty = self.folder / "empty"
        empty.mkdir()
        self.refuse(f"{empty} has no record", empty)


if __name__ == "__main__":
    unittest.main()
