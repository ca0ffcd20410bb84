#!/usr/bin/env python3
"""What planning and choosing cost a rank, from 64 to 16,384 ranks: prints tables, and writes a record.

usage: satellites/studies/growth.py [-o RECORD]       a minute
       satellites/studies/growth.py --quick           64 to 256 ranks, a second
       satellites/studies/growth.py --tables RECORD   prints the tables of a record again

Every rank needs an item of each of 20 random others, however many there are. The ranks' plans are compiled one after
the other in one process, so times are a core's work, without messages. An exponent x says that the cost grows as
ranks ^ x, by least squares of the logarithms.
"""
import math

import study

QUANTITIES = (("planning, us", "planning_seconds", 1e6), ("memory meanwhile, bytes", "planning_bytes", 1),
              ("plan, bytes", "plan_bytes", 1), ("headers of the busiest rank", "most_headers", 1),
              ("items sent, forwarded ones too", "items", 1), ("messages of the busiest rank", "most_messages", 1))


def exponent(ranks, values):
    """The x of the ranks ^ x that fits best."""
    logs = [(math.log(rank), math.log(value)) for rank, value in zip(ranks, values)]
    mean_rank, mean_value = (sum(column) / len(logs) for column in zip(*logs))
    return (sum((a - mean_rank) * (b - mean_value) for a, b in logs)
            / sum((a - mean_rank) ** 2 for a, _ in logs))


def shown(value):
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"


def print_tables(record):
    sizes = record["sizes"]
    ranks = [size["ranks"] for size in sizes]
    columns = ["route", *(f"{count:,} ranks" for count in ranks), "exponent"]

    def row(name, values):
        return [name, *map(shown, values), f"{exponent(ranks, values):.2f}"]

    for title, key, scale in QUANTITIES:
        rows = [row(f"`{first['route']}`", [size["routes"][k][key] * scale for size in sizes])
                for k, first in enumerate(sizes[0]["routes"])]
        if key == "planning_seconds":
            rows.append(row("the choice of `auto`", [size["choice"]["seconds"] * scale for size in sizes]))
        study.print_table(f"For a rank: {title}", columns, rows)


def make_record(arguments):
    return study.run(arguments.program, *(["--ranks", "64,256"] if arguments.quick else []))


def main():
    study.finish(study.parser(__doc__, "growth").parse_args(), make_record, print_tables)


if __name__ == "__main__":
    main()
