#!/usr/bin/env python3
"""Changes results at random and reads them as `crossdock report` does: each is taken, or refused in a sentence.

usage: result_json.py [--seconds 60 | --executions NUMBER]
"""
import argparse
import contextlib
import io
import json
import pathlib
import random
import sys
import time
import traceback

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(PROJECT / "tools/plots"))
import plotting  # noqa: E402
import records  # noqa: E402
import results  # noqa: E402

STRANGE = [None, True, -1, 0, 1e308, float("nan"), 2**70, "", "x", "</svg>", [], {}, [[]], {"schema": 1}, "\ud800"]


def seeds():
    files = [*PROJECT.glob("bench/results/*.jsonl"), *PROJECT.glob("tests/tools/golden/*.json*")]
    texts = {}
    for file in sorted(files, key=lambda one: one.stat().st_size):
        text = file.read_text(encoding="utf-8")
        try:
            schema = records.from_text(text).get("schema")
        except (ValueError, TypeError, LookupError, AttributeError):
            continue
        # The two smallest of each kind.
        if len(text) < 200_000 and len(texts.setdefault(schema, [])) < 2:
            texts[schema].append(text)
    return [text for all_of_kind in texts.values() for text in all_of_kind]


def change(value, pick):
    """Changes one field somewhere in a document."""
    while True:
        if isinstance(value, dict) and value:
            holder, key = value, pick.choice(list(value))
        elif isinstance(value, list) and value:
            holder, key = value, pick.randrange(len(value))
        else:
            return
        if not isinstance(holder[key], (dict, list)) or not holder[key] or pick.random() < 0.2:
            break
        value = holder[key]
    if pick.random() < 0.3:
        del holder[key]
    else:
        holder[key] = pick.choice(STRANGE)


def changed(text, pick):
    if pick.random() < 0.3:  # bytes
        at, length = pick.randrange(len(text)), pick.choice((1, 1, 2, 100))
        return text[:at] + "".join(pick.choices('{}[]",:0e-\n\0<', k=pick.randrange(4))) + text[at + length:]
    record = records.from_text(text)
    for _ in range(pick.choice((1, 1, 2, 4))):
        change(record, pick)
    return json.dumps(record)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--executions", type=int)
    arguments = parser.parse_args()
    pick, texts = random.Random(1), seeds()
    end, executions, taken = time.monotonic() + arguments.seconds, 0, 0
    while time.monotonic() < end if arguments.executions is None else executions < arguments.executions:
        text = changed(pick.choice(texts), pick)
        executions += 1
        try:
            with contextlib.redirect_stderr(io.TextIOWrapper(io.BytesIO(), errors="surrogateescape")):
                results.Results([{"path": "file", "text": text}])
            taken += 1
        except SystemExit as refused:
            if refused.code != plotting.SAID_WHY:
                raise
        except Exception:  # what the reader should have refused
            traceback.print_exc()
            print(text[:4000])
            return 1
    print(json.dumps({"reader": "result_json", "executions": executions, "taken": taken}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
