"""Records in files: JSON Lines, a head first, then a line for each entry of a long list.

The head is a record without its long lists of objects. A line [name, entry] adds an entry to the
list of that name; with several names to the list that the last one names, in the last entry of the
list that the name before it names. One document, as the command line prints it, is read as well,
and this script makes a record of it: records.py < DOCUMENT > RECORD.
"""

import json
import pathlib
import sys

LONG = 1000  # characters; shorter lists stay in the line of what holds them


def compact(value):
    return json.dumps(value, separators=(",", ":"))


def is_long(value):
    return (
        isinstance(value, list)
        and all(isinstance(entry, dict) for entry in value)
        and len(compact(value)) > LONG
    )


def lines_of(record, *names):
    """The lines of a record, or of an entry of the list that is so named."""
    yield [*names, {name: value for name, value in record.items() if not is_long(value)}]
    for name, value in record.items():
        for entry in value if is_long(value) else []:
            yield from lines_of(entry, *names, name)


def to_text(record):
    (head,), *entries = lines_of(record)
    return "".join(compact(line) + "\n" for line in [head, *entries])


def from_text(text):
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        record, *entries = map(json.loads, text.splitlines())
    for *names, last, entry in entries:
        holder = record
        for name in names:
            holder = holder[name][-1]
        holder.setdefault(last, []).append(entry)
    return record


def write(record, path):
    pathlib.Path(path).write_text(to_text(record), encoding="utf-8")


def read(path):
    return from_text(pathlib.Path(path).read_text(encoding="utf-8"))


if __name__ == "__main__":
    sys.stdout.write(to_text(from_text(sys.stdin.read())))
