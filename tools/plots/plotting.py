"""What the scripts that draw share: input, output and faults. It is imported first.

Exit codes, which tools/crossdock/plots.cpp knows: 2 a fault that was said, 3 there is no matplotlib.
"""

import importlib.util
import json
import logging
import sys

SAID_WHY = 2
NO_MATPLOTLIB = 3

if importlib.util.find_spec("matplotlib") is None:
    sys.exit(NO_MATPLOTLIB)
# Where its cache lies, for one: users without a home get a warning.
logging.getLogger("matplotlib").setLevel(logging.ERROR)


def refuse(sentence):
    """Ends the script with what is wrong, in the words and with the exit code of the command line."""
    text = f"crossdock: {sentence}\n"
    try:
        line = text.encode(errors="surrogateescape")
    except UnicodeEncodeError:  # not of a path, but of a record
        line = text.encode(errors="backslashreplace")
    sys.stderr.buffer.write(line)
    sys.exit(SAID_WHY)


def read_input():
    return json.load(sys.stdin.buffer)
