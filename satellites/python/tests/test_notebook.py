"""The notebook runs from its first cell to its last, and shows what its text says."""

import json
import os
import re
import site
import subprocess
import sys
from pathlib import Path

import pytest
from mpi4py import MPI

pytestmark = pytest.mark.skipif(MPI.COMM_WORLD.size > 1, reason="it is one process, and once is enough")
NOTEBOOK = Path(__file__).parents[3] / "examples/python/which_route.ipynb"
OF_LAUNCHERS = ("OMPI_", "PMIX_", "PMI_", "HYDRA_", "MPIR_", "PRTE_")
OF_USERS = ("IPYTHON", "JUPYTER", "MATPLOTLIB", "MPLCONFIGDIR", "XDG_")


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    # Its kernel is a program of its own, which nobody has launched as a rank. The settings and kernels of who runs the
    # test do not count, only the packages.
    environment = {name: value for name, value in os.environ.items() if not name.startswith((*OF_LAUNCHERS, *OF_USERS))}
    environment |= {"HOME": str(tmp_path_factory.mktemp("home")), "PYTHONUSERBASE": site.getuserbase()}
    done = subprocess.run([sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--stdout", NOTEBOOK],
                          env=environment, capture_output=True, check=False, timeout=200)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def outputs(notebook, kind):
    """What cells show, of a MIME type."""
    return ["".join(output["data"][kind]) for cell in notebook["cells"] for output in cell.get("outputs", ())
            if kind in output.get("data", {})]


def rows(table):
    return [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL)
            for row in re.findall(r"<tr.*?</tr>", table, re.DOTALL)]


def test_the_notebook_is_kept_without_results():
    text = NOTEBOOK.read_text(encoding="utf-8")
    code = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    assert len(code) == 14
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert not re.search(r'[" (]/\w+/', text)


def test_the_notebook_finds_the_route(executed):
    printed = ["".join(output["text"]) for cell in executed["cells"] for output in cell.get("outputs", ())
               if output["output_type"] == "stream"]
    assert printed == ["On 1,024 nodes two_step is the fastest: 4.0 times as fast as direct.\n",
                       "Slower than direct: three_step on 256, three_step on 1,024, three_step on 4,096, "
                       "grid:2 on 1,024 ranks.\n"]


def test_the_notebook_shows_pictures(executed):
    pages = [page for page in outputs(executed, "text/html") if "<svg" in page]
    assert re.findall(r'aria-label="([^"]*)"', "".join(pages)) == [
        "Topology(&#x27;2x4&#x27;)", "&lt;Plans of 8 ranks on 2x4 by direct&gt;",
        "&lt;Plans of 8 ranks on 2x4 by three_step&gt;",
        "Estimated times of 9 routes, for lassen, topology 1024x16, items of 8 bytes, ranks of a node share memory",
        "&lt;Plans of 16384 ranks on 1024x16 by two_step&gt;",
        "&lt;Simulation of 16384 ranks by direct on lassen: the slowest takes 1.93e-05 s&gt;",
        "&lt;Simulation of 16384 ranks by two_step on lassen: the slowest takes 4.79e-06 s&gt;"]
    assert len(re.findall(r"message-between-stage1-\d-\d", pages[2])) == 2
    (lines,) = (picture for picture in outputs(executed, "image/svg+xml") if "line-three_step" in picture)
    assert re.findall(r'id="line-([\w:]+)"', lines) == ["direct", "two_step", "three_step", "grid:2"]


def test_the_notebook_shows_gains(executed):
    speed_up, gains = (rows(page) for page in outputs(executed, "text/html") if 'class="dataframe"' in page)
    assert [row[0] for row in speed_up] == ["route", "ranks", "256", "1024", "4096", "16384"]
    assert speed_up[-1][1:] == ["1.0", "4.02", "4.02", "2.74"]
    deduplicated, not_deduplicated = zip(*((float(a), float(b)) for _, a, b in gains[2:]))
    assert deduplicated[0] == 4.02
    assert deduplicated[-1] > 1 > not_deduplicated[-1]
