"""What is installed works wherever it is moved to, and is complete."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

PREFIX = Path(os.environ["CROSSDOCK_PREFIX"])
PAGES = PREFIX / "share/man/man1"


def run(*words, folder, **variables):
    done = subprocess.run(["timeout", "120", *words], cwd=folder, env={**os.environ, **variables}, check=False,
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, words))}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def help_of(*verbs):
    return run(PREFIX / "bin/crossdock", *verbs, "--help", folder="/")


def commands(text):
    return re.findall(r"^  (\w+)", text.partition("Subcommands:")[2], re.MULTILINE)


class Installed(unittest.TestCase):
    def test_demo_runs_from_anywhere_on_the_matrix_that_comes_along(self):
        with tempfile.TemporaryDirectory() as folder:
            for part in ("bin", "share"):
                shutil.copytree(PREFIX / part, Path(folder) / part)
            output = run(*os.environ["CROSSDOCK_MPIRUN"].split(), "2", f"{folder}/bin/crossdock", "demo", folder="/")

            matrix = Path(folder).resolve() / "share/crossdock/data/msc01050.mtx.gz"
            self.assertEqual(output.splitlines()[0], f"y = A x with {matrix} on 2 ranks in 2 regions (2x1)")

    @unittest.skipUnless(any(PREFIX.rglob("libcrossdock_mpi.so.0")), "the drop-in was not built")
    def test_run_needs_no_links_that_programs_are_linked_with(self):
        with tempfile.TemporaryDirectory() as folder:
            prefix = Path(folder).resolve()
            for part in ("bin", "lib"):
                shutil.copytree(PREFIX / part, prefix / part, symlinks=True)
            (prefix / "lib/libcrossdock_mpi.so").unlink()
            output = run(prefix / "bin/crossdock", "run", "--", "printenv", "LD_PRELOAD", folder="/")

            self.assertEqual(output.splitlines()[-1].split(":")[0], str(prefix / "lib/libcrossdock_mpi.so.0"))

    def test_shared_libraries_are_named_by_one_binary_interface(self):
        libraries = list(PREFIX.glob("lib*/libcrossdock*.so"))
        self.assertEqual([one.name for one in libraries if not Path(f"{one}.0").exists()], [])

    @unittest.skipUnless(shutil.which("man"), "there is no man")
    def test_manual_pages_have_every_option_and_render_without_warnings(self):
        verbs = commands(help_of())
        self.assertEqual({page.name for page in PAGES.iterdir()},
                         {"crossdock.1", *(f"crossdock-{verb}.1" for verb in verbs)})
        for verb in verbs:
            done = subprocess.run(["man", "--warnings=all", "-l", PAGES / f"crossdock-{verb}.1"], check=True,
                                  capture_output=True, text=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
            self.assertEqual(done.stderr, "")
            texts = [help_of(verb), *(help_of(verb, command) for command in commands(help_of(verb)))]
            for option in {option for text in texts for option in re.findall(r"^  (?:-\w,)?(--[\w-]+)", text, re.MULTILINE)}:
                self.assertRegex(done.stdout, rf"(?m)^ +(-\w, )?{option}\b")

    def test_manual_page_of_a_verb_says_what_help_says(self):
        page = (PAGES / "crossdock-demo.1").read_text(encoding="utf-8")

        self.assertIn("crossdock\\-demo \\- exchange the halo of y = A x over every route", page)
        self.assertIn("\\fB\\-\\-json\\fR\nPrint JSON\n", page)


if __name__ == "__main__":
    unittest.main()
