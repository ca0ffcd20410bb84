"""What the site makes of Doxygen's pages, of sources in Python and Fortran, and of notebooks, in small texts."""

import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "tools/site"))
import doxygen_pages
import language_pages

DOXYGEN_PAGE = """<div class="title">crossdock::topology Class Reference</div>
<div class="contents">
<p><a class="el" href="structkept.html#a1">kept</a> <a href="topology_8hpp_source.html">left out</a></p>
<a id="a2" name="a2"></a>
<h2 class="memtitle"><span class="permalink"><a href="#a2">&#9670;&nbsp;</a></span>size() <span class="overload">[1/2]</span></h2>

<div class="memitem">its text</div>
</div><!-- contents -->
"""
MODULE = """!> The module.
module crossdock
    !> Where it takes place.
    type, public :: crossdock_context
        private
    contains
        procedure :: create => context_create
        generic :: start => start_one, start_two
        procedure, private :: start_one => start_numbers
    end type
contains
    !> Makes one.
    !> @param nodes  who shares
    subroutine context_create(self, status, &
            nodes)
        class(crossdock_context), intent(inout) :: self
        integer :: hidden
        integer, intent(out) :: status
    end subroutine
"""
INCLUDED = """    !> Starts.
    integer function start_numbers(self)
        class(crossdock_context), intent(in) :: self
    end function
"""


class Doxygen(unittest.TestCase):
    def test_PagesKeepTheirContentsAndGetAHeadingForEachMember(self):
        page = doxygen_pages.to_page(DOXYGEN_PAGE, {"structkept"})

        self.assertTrue(page.startswith("# crossdock::topology Class\n"))
        self.assertIn("### `size() [1/2]` {: #a2 }\n", page)
        self.assertIn('<div class="memitem">its text</div>', page)
        self.assertEqual(page.count('<div class="doxygen">'), 2)

    def test_LinksToPagesThatAreNotKeptBecomeText(self):
        page = doxygen_pages.to_page(DOXYGEN_PAGE, {"structkept"})

        self.assertIn('href="structkept.html#a1"', page)
        self.assertIn("kept</a> left out</p>", page)

    def test_ListsAndSourcesAreNotKept(self):
        names = ["classcrossdock_1_1topology", "topology_8hpp", "crossdock_8h", "files", "topology_8hpp_source",
                 "classcrossdock_1_1topology-members", "dir_12"]

        self.assertEqual([name for name in names if doxygen_pages.is_kept(name)], names[:3])


class Languages(unittest.TestCase):
    def test_PublicNamesOfPythonHaveTheirDocstrings(self):
        with tempfile.TemporaryDirectory() as folder:
            sources = {
                "__init__": '__all__ = ["Stream"]\n',
                "_stream": 'class Stream:\n    """Items."""\n    def __init__(self, world: int, *, workers: int = 1): pass\n'
                           '    def push(self, item: int) -> None:\n        """Push."""\n'
                           '    scheme = inner_property("scheme", str, "In use.")\n'
                           '    def _hidden(self):\n        """No."""\n',
                "planning": '"""Plans."""\ndef explain(plan: str) -> str:\n    """Say why."""\n',
                "errors": '"""Errors."""\n',
            }
            for name, text in sources.items():
                (Path(folder) / f"{name}.py").write_text(text)
            page = language_pages.python_page(Path(folder))

        headings = [line for line in page.splitlines() if line.startswith("##")]
        self.assertEqual(headings, ["## `Stream(world, *, workers=1)`", "### `Stream.push(item)`", "### `Stream.scheme`",
                                    "## `crossdock.planning`", "### `explain(plan)`", "## `crossdock.errors`"])
        self.assertIn("\nIn use.\n", page)
        self.assertIn("\nSay why.\n", page)
        self.assertNotIn("No.", page)

    def test_TypesOfFortranHaveTheirProceduresWithArguments(self):
        page = language_pages.fortran_page(MODULE, [INCLUDED])

        headings = [line for line in page.splitlines() if line.startswith("##")]
        self.assertEqual(headings, ["## `crossdock_context`", "### `crossdock_context%create`", "### `crossdock_context%start`"])
        self.assertIn("Makes one.\n- `nodes`: who shares\n", page)
        self.assertIn("integer function start_numbers(self)\nclass(crossdock_context), intent(in) :: self\n", page)
        self.assertNotIn("hidden", page)

    def test_NotebooksShowTextCodeAndOutput(self):
        cells = [{"cell_type": "markdown", "source": ["# Title\n"]},
                 {"cell_type": "code", "source": ["1 + 1"], "outputs": [{"data": {"text/plain": ["2"]}}]}]

        page = language_pages.notebook_page(json.dumps({"cells": cells}), "name")

        self.assertEqual(page, "# Title\n\n\n``````python\n1 + 1\n``````\n\n``````text\n2\n``````\n")


if __name__ == "__main__":
    unittest.main()
