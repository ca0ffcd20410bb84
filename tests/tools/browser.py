"""How wide a page is in a browser, where there is one."""

import html
import json
import pathlib
import re
import shutil
import subprocess
import tempfile

SCRIPT = """<script>
document.documentElement.dataset.widths = JSON.stringify({
  page: document.scrollingElement.scrollWidth,
  parts: [...document.querySelectorAll(".wide")].map(part => [part.scrollWidth, part.clientWidth])});
</script>
"""
TIMEOUT_SECONDS = 240


def find():
    """The path of a Chromium, or None."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def widths(browser, page, window):
    """{"page": its width, "parts": [[width, visible width]]} of a page in a window so wide; parts are those that may scroll."""
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "page.html"
        copy.write_text(page.replace("</body>", SCRIPT + "</body>"), encoding="utf-8")
        done = subprocess.run(
            [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/data",
             f"--window-size={window},900", "--dump-dom", copy.as_uri()],
            check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=TIMEOUT_SECONDS)
    return json.loads(html.unescape(re.search('data-widths="([^"]*)"', done.stdout)[1]))
