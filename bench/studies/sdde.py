#!/usr/bin/env python3
"""The study of sparse dynamic data exchanges, simulated: prints tables, and writes a record.

usage: bench/studies/sdde.py FOLDER... [-o RECORD]   FOLDERs hold the matrices; those of 2048 rows
                                                     and more are taken
       bench/studies/sdde.py FOLDER --quick          one matrix on 16 ranks
       bench/studies/sdde.py --tables RECORD         prints the tables of a record again

64 nodes of 32 ranks of quartz. Regions are nodes, so that messages within them cost what the machine says of
two sockets. Messages of constant size are one number of 4 bytes, those of variable size the indices that a rank
needs. The personalized exchange is the standard.
"""
import argparse
import gzip
import json
import pathlib
import subprocess
import tempfile

import study

ALGORITHMS = ["nonblocking", "rma", "locality_personalized", "locality_nonblocking"]
VALUES = {"constant": "pattern", "variable": "indices"}
# rma has messages of one size only.
LEFT_OUT = {"variable": {"rma"}}


def num_rows(file):
    with gzip.open(file, "rt", encoding="latin-1") as lines:
        return int(next(line for line in lines if not line.startswith("%")).split()[0])


def machine_file(folder):
    """quartz with regions that are nodes."""
    machine = study.read(study.PROJECT / "machines/quartz.json")
    machine["levels"]["region"] = machine["levels"]["node"]
    machine["sources"]["levels.region"] = "assumed: regions are nodes"
    path = pathlib.Path(folder) / "quartz_nodes.json"
    study.write(machine, path)
    return path


def simulate(program, matrix, sizes, ranks, topology, machine):
    algorithms = ["personalized"] + [name for name in ALGORITHMS if name not in LEFT_OUT.get(sizes, ())]
    command = [program, "simulate", matrix, "--exchange", "--values", VALUES[sizes], "--ranks", ranks, "--topology",
               topology, "--machine", machine, "--algorithms", ",".join(algorithms), "--json"]
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True, check=True)
    found = {one["name"]: one for one in json.loads(done.stdout)["algorithms"]}
    return {"matrix": matrix.name.split(".")[0], "sizes": sizes, "algorithms": [
        {"name": name, "simulated_seconds": one["slowest_seconds"],
         "speedup": found["personalized"]["slowest_seconds"] / one["slowest_seconds"],
         "messages": one["total"]["messages"], "inter_region_messages": one["total"]["inter_region"]["messages"],
         "share_of_time": one["share_of_time"]} for name, one in found.items()]}


def speedups(cases, sizes, names):
    return [max(one["speedup"] for one in case["algorithms"] if one["name"] in names)
            for case in cases if case["sizes"] == sizes]


def print_tables(record):
    locality = ["locality_personalized", "locality_nonblocking"]
    rows = []
    for sizes in VALUES:
        for names in [[name] for name in ALGORITHMS if name not in LEFT_OUT.get(sizes, ())] + [locality]:
            found = speedups(record["cases"], sizes, names)
            rows.append([sizes, " or ".join(names), f"{sum(found) / len(found):.2f}",
                         f"{study.geometric_mean(found):.2f}", f"{min(found):.2f}", f"{max(found):.2f}"])
    study.print_table(f"Speed-up over the personalized exchange, of {len(record['cases']) // len(VALUES)} matrices",
                      ["sizes", "algorithm", "mean", "geometric mean", "least", "most"], rows)
    rows = []
    for case in record["cases"]:
        found = {one["name"]: one for one in case["algorithms"]}
        standard, aware = found["personalized"], found["locality_nonblocking"]
        rows.append([case["matrix"], case["sizes"], standard["inter_region_messages"]["max"],
                     aware["inter_region_messages"]["max"], f"{standard['simulated_seconds'] * 1e6:.0f}",
                     *(f"{found[name]['speedup']:.2f}" if name in found else "" for name in ALGORITHMS)])
    study.print_table("By matrix: most messages of a rank to other nodes, microseconds, speed-ups",
                      ["matrix", "sizes", "personalized", "locality", "personalized us", *ALGORITHMS], rows)


def make_record(arguments):
    files = sorted(path for folder in arguments.folders for path in pathlib.Path(folder).glob("*.mtx.gz"))
    ranks, topology = (2048, "64x32")
    if arguments.quick:
        files, ranks, topology = files[:1], 16, "4x4"
    files = [file for file in files if num_rows(file) >= ranks]
    with tempfile.TemporaryDirectory() as folder:
        machine = machine_file(folder)
        cases = [simulate(arguments.program, file, sizes, ranks, topology, machine)
                 for file in files for sizes in VALUES]
    return {"ranks": ranks, "topology": topology, "machine": "quartz, with nodes as regions", "partition": "block",
            "cases": cases}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*")
    parser.add_argument("-o", dest="output", default=study.RESULTS / "study-sdde.jsonl")
    parser.add_argument("--program", default=study.PROJECT / "build/release/tools/crossdock/crossdock")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--tables", metavar="RECORD")
    arguments = parser.parse_args()
    if bool(arguments.folders) == bool(arguments.tables):
        parser.error("either FOLDERs or --tables RECORD")
    if arguments.tables:
        record = study.read(arguments.tables)
    else:
        record = {"schema": "crossdock.study.sdde/1", **study.rounded(make_record(arguments))}
        study.write(record, arguments.output)
    print_tables(record)


if __name__ == "__main__":
    main()
