#!/usr/bin/env python3
"""Paths of arrays in memory of devices, simulated on two machines: prints tables, and writes a record.

usage: satellites/studies/device_paths.py FOLDER [-o RECORD]    FOLDER holds a recorded hierarchy; half a minute
       satellites/studies/device_paths.py MATRIX --quick        a matrix on few ranks
       satellites/studies/device_paths.py --tables RECORD       prints the tables of a record again

One rank for each device. host: items in memory of the host, by the fastest route there. staged: a copy down before
that and a copy up after it, by the route that is fastest then. direct: messages between devices. A region is a node;
messages within it are taken to cost what they cost within a socket.
"""
import pathlib

import study

# Devices of a node. Both machines have costs of devices.
MACHINES = {"lassen": 4, pathlib.Path(__file__).with_name("summit.json"): 6}
RANKS = {4: [32, 128, 512], 6: [36, 132, 516]}


def microseconds(way):
    return f"{1e6 * way['seconds']:.1f}"


def total(case, way):
    return {"seconds": sum(level[way]["seconds"] for level in case["levels"])}


def print_tables(record):
    rows = [[case["machine"], case["nodes"], *(microseconds(total(case, way)) for way in ("host", "staged", "direct")),
             f"{sum(level['direct']['seconds'] < level['staged']['seconds'] for level in case['levels'])} of "
             f"{len(case['levels'])}",
             microseconds({"seconds": sum(min(level["direct"]["seconds"], level["staged"]["seconds"])
                                          for level in case["levels"])})]
            for case in record["cases"]]
    study.print_table("All levels, one after the other: microseconds",
                      ["machine", "nodes x devices", "host", "staged", "direct", "levels where direct is faster",
                       "the faster of each level"], rows)
    for case in record["cases"]:
        rows = [[number, level["rows"], level["most_messages"], level["most_items"],
                 f"{microseconds(level['host'])} {level['host']['route']}",
                 f"{microseconds(level['staged'])} {level['staged']['route']}", microseconds(level["direct"])]
                for number, level in enumerate(case["levels"])]
        study.print_table(f"{case['machine']}, {case['nodes']}: microseconds of the slowest rank",
                          ["level", "rows", "most messages", "most items", "host", "staged", "direct"], rows)


def make_record(arguments):
    file = arguments.file if arguments.quick else f"amg:{arguments.file}"
    return {"schema": "crossdock.study.device_paths/1",
            "cases": [study.run(arguments.program, file, "--ranks", num_ranks, "--ranks-per-node", per_node,
                                "--machine", machine)
                      for machine, per_node in MACHINES.items()
                      for num_ranks in (RANKS[per_node][:1] if arguments.quick else RANKS[per_node])]}


def main():
    parser = study.parser(__doc__, "device_paths")
    parser.add_argument("file", nargs="?", metavar="FOLDER")
    study.finish(parser.parse_args(), make_record, print_tables)


if __name__ == "__main__":
    main()
