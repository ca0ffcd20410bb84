"""The code of the page runs, block after block."""

import re
from pathlib import Path

PROJECT = Path(__file__).parents[3]


def test_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (PROJECT / "satellites/python/docs/python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 3
    names = {}
    for block in blocks:
        exec(compile(block, "satellites/python/docs/python.md", "exec"), names)


def test_the_page_names_the_extras():
    project = (PROJECT / "pyproject.toml").read_text(encoding="utf-8")
    extras = re.search(r"^\[project\.optional-dependencies\]\n((?:\w+ = .*\n)+)", project, re.MULTILINE)[1]
    page = (PROJECT / "satellites/python/docs/python.md").read_text(encoding="utf-8")
    assert re.findall(r"`\.\[(\w+)\]`", page) == re.findall(r"^\w+", extras, re.MULTILINE)
