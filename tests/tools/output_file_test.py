"""Verbs that write a file: what is there already stays what it is, unless it is a regular file."""

import os
import stat
import threading
import unittest

from command_line import BAD_INPUT, DATA, InFolder, crossdock

BENCH = DATA.parent / "bench/results/neighbor-D_10-8ranks-2x4-openmpi.jsonl"
# Every verb that writes, and the option that names the file.
VERBS = {
    "export": ("export", "dense:1", "--ranks", 3, "--topology", "1,2", "--route", "direct", "--format", "json",
               "-o"),
    "analyze": ("analyze", "--array", "--workload", "overload", "--ranks", 3, "--topology", "1,2", "--plans"),
    "draw": ("draw", "dense:1", "--ranks", 3, "--topology", "1,2", "-o"),
    "report": ("report", BENCH, "-o"),
    "calibrate": ("calibrate", "--seconds", 0.01, "-o"),
}
# What begins the content; measurements differ each time. Scripts that print such a beginning stand for those that draw.
BEGINNINGS = {"export": b'{', "analyze": b'{"schema":', "draw": b"<?xml", "report": b"<!", "calibrate": b"{"}
SCRIPTS = {"draw_plan.py": BEGINNINGS["draw"], "report.py": BEGINNINGS["report"]}


class OutputFile(InFolder):
    def setUp(self):
        super().setUp()
        plots = self.folder / "plots"
        plots.mkdir()
        for name, beginning in SCRIPTS.items():
            (plots / name).write_text(f"print({beginning.decode()!r})\n")
        os.environ["CROSSDOCK_PLOTS"] = str(plots)

    def each_verb(self, name):
        """Each with a path in a folder of its own, what is called, and how the content begins."""
        for verb, arguments in VERBS.items():
            place = self.folder / verb
            place.mkdir()
            yield verb, place / name, (*arguments, place / name), BEGINNINGS[verb]

    def names(self, file):
        return sorted(entry.name for entry in file.parent.iterdir())

    def test_NewFileIsThereAlone(self):
        for verb, file, arguments, beginning in self.each_verb("new.svg"):
            with self.subTest(verb):
                done = crossdock(*arguments)

                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertTrue(file.read_bytes().startswith(beginning))
                self.assertEqual(self.names(file), ["new.svg"])

    def test_RegularFileIsReplacedAsAWhole(self):
        for verb, file, arguments, beginning in self.each_verb("old.svg"):
            with self.subTest(verb):
                file.write_text("old")
                with file.open(encoding="utf-8") as old:
                    done = crossdock(*arguments)

                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertEqual(old.read(), "old")
                self.assertTrue(file.read_bytes().startswith(beginning))
                self.assertEqual(self.names(file), ["old.svg"])

    def test_SymbolicLinkIsWrittenThrough(self):
        for verb, file, arguments, beginning in self.each_verb("link.svg"):
            with self.subTest(verb):
                target = file.parent / "target"
                target.write_text("old")
                file.symlink_to(target)

                done = crossdock(*arguments)

                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertTrue(file.is_symlink())
                self.assertTrue(target.read_bytes().startswith(beginning))
                self.assertEqual(self.names(file), ["link.svg", "target"])

    def test_PipeIsWrittenInto(self):
        for verb, file, arguments, beginning in self.each_verb("pipe.svg"):
            with self.subTest(verb):
                os.mkfifo(file)
                came = []
                reader = threading.Thread(target=lambda file=file, came=came: came.append(file.read_bytes()),
                                          daemon=True)
                reader.start()

                done = crossdock(*arguments)
                is_pipe = stat.S_ISFIFO(file.stat().st_mode)
                if not is_pipe:  # it was replaced, and nobody else lets the reader go
                    reader = None
                else:
                    reader.join(60)

                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertTrue(is_pipe)
                self.assertTrue(came[0].startswith(beginning))
                self.assertEqual(self.names(file), ["pipe.svg"])

    def test_StandardOutputIsAFile(self):
        done = crossdock(*VERBS["export"], "/proc/self/fd/1")

        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), 3)

    def test_FolderThatIsMissingIsSaidAtOnce(self):
        for verb, _, arguments, _ in self.each_verb("unused"):
            with self.subTest(verb):
                self.refuse("cannot write /no/such/file.svg: No such file or directory", *arguments[:-1],
                            "/no/such/file.svg")

    def test_FullDeviceIsAFault(self):
        if os.getuid() == 0 and not self.writes_through_links():
            self.skipTest("a device might be replaced")
        for verb, _, arguments, _ in self.each_verb("unused"):
            with self.subTest(verb):
                full = "/dev/full"
                if arguments[0] == "draw":
                    (self.folder / "full.svg").symlink_to(full)
                    full = self.folder / "full.svg"
                done = crossdock(*arguments[:-1], full)

                self.assertEqual(done.returncode, BAD_INPUT)
                self.assertEqual([line for line in done.stderr.splitlines() if line.startswith("crossdock: cannot")],
                                 [f"crossdock: cannot write {full}: No space left on device"])
                self.assertTrue(stat.S_ISCHR(os.stat("/dev/full").st_mode))

    def writes_through_links(self):
        """Whether what is no regular file is opened, not replaced; asked where nothing can be lost."""
        for verb, arguments in VERBS.items():
            link = self.folder / f"{verb}-link.svg"
            link.symlink_to(self.folder / f"{verb}-target")
            crossdock(*arguments, link)
            if not link.is_symlink():
                return False
        return True


if __name__ == "__main__":
    unittest.main()
