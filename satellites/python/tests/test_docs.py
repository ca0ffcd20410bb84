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
