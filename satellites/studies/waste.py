#!/usr/bin/env python3
"""What streams waste that speculate: shortest paths and PHOLD, replayed with all nodes: tables, and a record.

usage: satellites/studies/waste.py [-o RECORD]       2 to 8 nodes of 64 workers; minutes
       satellites/studies/waste.py --quick           one node of 2 processes of 2 workers, a second
       satellites/studies/waste.py --tables RECORD   prints the tables of a record again

A process has a communication thread that works 2672 ns for each message at each end, as in stream_thread.py. A worker
with nothing to do sends what is in its buffers. sssp counts relaxations that brought no vertex its distance, phold
events that are earlier than what their process has seen.
"""
import study

SCHEMES = ("ww", "wps", "pp")
WASTE = {"sssp": "wasted", "phold": "rejected"}
NODES = (2, 4, 8)
# SSSP, small and large, with the study's processes; PHOLD with 32 workers of a process.
SMALL = ["--workloads", "sssp", "--log-vertices", 15]
LARGE = ["--workloads", "sssp", "--log-vertices", 16]
PHOLD = ["--workloads", "phold", "--processes", 2, "--workers", 32, "--events-per-lp", 16, "--until", 8]
FULL = {"sssp, small": [["--nodes", nodes, *SMALL] for nodes in NODES],
        "sssp, large": [["--nodes", 2, *LARGE]],
        "phold": [["--nodes", nodes, *PHOLD] for nodes in NODES[:2]]}
TINY = ["--nodes", 1, "--processes", 2, "--workers", 2]
QUICK = {"sssp, small": [[*TINY, "--workloads", "sssp", "--log-vertices", 8]],
         "phold": [[*TINY, "--workloads", "phold", "--lps-per-worker", 8]]}


def make_record(arguments):
    experiments = QUICK if arguments.quick else FULL
    return {"schema": "crossdock.study.waste/1",
            "experiments": [{"name": name, "runs": [study.run(arguments.program, *options) for options in runs]}
                            for name, runs in experiments.items()]}


def by_scheme(run, what):
    return {case["scheme"]: case[what] for case in run["cases"]}


def waste_of(run):
    return by_scheme(run, WASTE[run["cases"][0]["workload"]])


def print_tables(record):
    rows = []
    for experiment in record["experiments"]:
        for run in experiment["runs"]:
            waste, seconds = waste_of(run), by_scheme(run, "simulated_seconds")
            rows.append([experiment["name"], run["nodes"], waste["ww"],
                         *(f"{waste[name] / waste['ww']:.3f}" if waste["ww"] else "" for name in SCHEMES[1:]),
                         *(f"{seconds[name] * 1e3:.1f}" for name in SCHEMES)])
    study.print_table("What is wasted, and milliseconds",
                      ["workload", "nodes", "waste, ww", "wps / ww", "pp / ww", *(f"{name}, ms" for name in SCHEMES)],
                      rows)


def main():
    study.finish(study.parser(__doc__, "waste").parse_args(), make_record, print_tables)


if __name__ == "__main__":
    main()
