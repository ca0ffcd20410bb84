"""scripts/release-check finds what keeps a commit from being tagged; it is not asked to build here."""

import importlib.machinery
import importlib.util
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

PROJECT = Path(__file__).parents[2]


def loaded():
    loader = importlib.machinery.SourceFileLoader("release_check", str(PROJECT / "scripts/release-check"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("release_check", loader))
    loader.exec_module(module)
    return module


CHECK = loaded()
VERSION = CHECK.version_of(PROJECT)
FILES = [name.replace("-V-", f"-{VERSION}-") for name in CHECK.PLACES]


class ReleaseCheck(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.project = Path(folder.name)
        for name in ["CMakeLists.txt", "scripts/release-check", *FILES]:
            (self.project / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(PROJECT / name, self.project / name)
        self.write_changelog(f"## [Unreleased]\n\n## [{VERSION}] - 2026-01-31\n\n- Something.\n")
        self.git("init", "--quiet")
        self.commit()

    def git(self, *words):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=self.project, check=True)

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=All")

    def write_changelog(self, sections):
        (self.project / "CHANGELOG.md").write_text(f"# Changelog\n\nText.\n\n{sections}", encoding="utf-8")

    def change(self, name, old, new):
        text = (self.project / name).read_text(encoding="utf-8")
        (self.project / name).write_text(text.replace(old, new), encoding="utf-8")

    def checked(self):
        return subprocess.run([self.project / "scripts/release-check", "--quick"], check=False, capture_output=True, text=True)

    def test_all_places_of_this_project_name_its_version(self):
        self.assertEqual(CHECK.faults_of_places(PROJECT, VERSION), [])

    def test_tells_how_to_tag(self):
        done = self.checked()

        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, f"This commit can be {VERSION}: git tag -a v{VERSION} -m 'crossdock {VERSION}'\n")

    def test_names_each_file_that_has_another_version(self):
        for name in FILES:
            with self.subTest(name):
                old = (self.project / name).read_text(encoding="utf-8")
                self.change(name, VERSION, "9.9.9")
                self.assertEqual({fault.split(":")[0] for fault in CHECK.faults_of_places(self.project, VERSION)}, {name})
                (self.project / name).write_text(old, encoding="utf-8")

    def test_names_all_places_if_only_the_version_of_the_build_is_new(self):
        self.change("CMakeLists.txt", f"VERSION {VERSION}", "VERSION 9.8.7")

        self.assertEqual(len(CHECK.faults_of_places(self.project, CHECK.version_of(self.project))),
                         sum(len(texts) for texts in CHECK.PLACES.values()))

    def test_the_changelog_has_a_section_with_a_date_and_nothing_is_left_for_later(self):
        for sections, fault in [
                ("## [Unreleased]\n", f"has no section [{VERSION}]"),
                (f"## [{VERSION}] - unreleased\n\n- One.\n",
                 f"the section [{VERSION}] needs its date, as in `## [{VERSION}] - 2026-01-31`"),
                (f"## [Unreleased]\n\n- More.\n\n## [{VERSION}] - 2026-01-31\n",
                 f"what is under [Unreleased] belongs to [{VERSION}]")]:
            self.write_changelog(sections)
            self.assertEqual(CHECK.faults_of_changelog(self.project, VERSION), [f"CHANGELOG.md: {fault}"])

    def test_fails_on_a_tree_with_changes(self):
        (self.project / "new").write_text("")
        done = self.checked()

        self.assertEqual((done.returncode, done.stdout),
                         (1, "release-check: the working tree has changes: commit them\n"))

    def test_a_tag_may_be_that_of_this_commit_only(self):
        self.git("tag", f"v{VERSION}")
        self.assertEqual(CHECK.faults_of_tree(self.project, VERSION), [])
        (self.project / "new").write_text("")
        self.commit()

        self.assertEqual(CHECK.faults_of_tree(self.project, VERSION),
                         [f"v{VERSION} is the tag of another commit: raise the version, or check that commit out"])


if __name__ == "__main__":
    unittest.main()
