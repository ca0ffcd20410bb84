#!/usr/bin/env python3
"""The study of streaming aggregation with a communication thread in each process: prints tables, and writes a record.

usage: satellites/studies/stream_thread.py [-o RECORD]       2^20 items a worker, up to 64 nodes; an hour of one core
       satellites/studies/stream_thread.py --quick           4 nodes of 2 processes of 2 workers, seconds
       satellites/studies/stream_thread.py --tables RECORD   prints the tables of a record again

Below 167 ns of work for a word the thread of the study is a bottleneck. 64 workers with so much work offer a word
every 2.6 ns, or a message of 1024 words every 2672 ns. So long the thread is at work, at each end, for a message of
any size or for a word; with neither, workers send and receive with the overheads of the machine.
"""

import study
from stream import COLLECTED, name_of, with_hand_over

WORDS = 1024
WORD_NS = 167 / 64
THREAD = "--communication-thread"
BY_MESSAGE = ["--message-ns", round(WORD_NS * WORDS)]
BY_WORD = ["--message-ns", 0, "--message-byte-ns", round(WORD_NS / 8, 4)]
READINGS = [BY_MESSAGE, BY_WORD]
ALL = ("ww", "wps", "wsp", "pp", "pp/64")
CORES = 64  # that work, of a node
KEPT = ("scheme", "collected_items", "buffer_items", "items_per_worker", "messages_per_node", "mean_latency_seconds",
        "thread_seconds", "simulated_seconds")
FULL = {
    "ping_ack": {"words": (1, 64, 1024), "messages": 1000, "cores": CORES, "processes": (1, 2, 4, 8)},
    "workers": {"size": ["--nodes", 4, "--items", 1 << 20, "--buffer-items", 1024], "cores": CORES,
                "workers": (1, 4, 8, 16, 32, 64)},
    "nodes": [(["--nodes", nodes, "--items", 1 << 20], 1024, 1024, BY_MESSAGE) for nodes in (1, 4, 16, 32, 64)]
    + [(["--nodes", nodes, "--items", 1 << 20], 1024, 1024, BY_WORD) for nodes in (16, 64)]
    + [(["--nodes", nodes, "--items", 1 << 20], 1024, 1024, None) for nodes in (1, 16, 64)]
    + [(["--nodes", nodes, "--items", 1 << 17], 512, 1024, BY_MESSAGE) for nodes in (1, 4, 8, 16, 64)],
    "buffers": {"size": ["--nodes", 8, "--items", 1 << 20], "buffer_items": (512, 1024, 2048, 4096)},
    "answers": [(["--nodes", nodes, "--items", 1 << 20], 1024) for nodes in (4, 16)],
    "hand_over": (["--nodes", 64, "--items", 1 << 20, "--buffer-items", 1024], 2.5e-8),
}
SMALL = ["--processes", 2, "--workers", 2, "--items", 1000]
QUICK = {
    "ping_ack": {"words": (1, 1024), "messages": 10, "cores": 4, "processes": (1, 2)},
    "workers": {"size": ["--nodes", 2, "--items", 1000, "--buffer-items", 50], "cores": 4, "workers": (1, 2)},
    "nodes": [(["--nodes", nodes, *SMALL], 20, 50, reading) for nodes in (1, 2) for reading in (*READINGS, None)],
    "buffers": {"size": ["--nodes", 2, *SMALL], "buffer_items": (10, 50)},
    "answers": [(["--nodes", 2, *SMALL], 50)],
    "hand_over": (["--nodes", 2, *SMALL, "--buffer-items", 50], 2.5e-8),
}


def milliseconds(seconds):
    return f"{seconds * 1e3:.1f}"


def items_text(items):
    return f"2^{items.bit_length() - 1}" if items & (items - 1) == 0 else str(items)


def reading_of(run):
    if not run["communication_thread"]:
        return "none"
    if run["message_seconds"]:
        return f"{run['message_seconds'] * 1e9:.0f} ns a message"
    return f"{run['message_seconds_per_byte'] * 8e9:.1f} ns a word"


def compact(run):
    return {**run, "cases": [{key: case[key] for key in KEPT} for case in run["cases"]]}


def replay(arguments, *options, buffer_items, schemes=ALL, workload="histogram"):
    """One run of all schemes; `buffer_items` by scheme."""
    found = None
    for scheme in schemes:
        name, _, collected = scheme.partition("/")
        run = study.run(arguments.program, *options, "--workloads", workload, "--schemes", name, "--collected-items",
                        collected or 1, "--buffer-items", buffer_items(name))
        found = found or {**run, "cases": []}
        found["cases"] += run["cases"]
    return compact(found)


def ping_ack(arguments, words, messages, cores, processes):
    """Rows by size of a message and by reading: first without a thread, then with processes of several workers."""
    rows = []
    for num_words in words:
        for reading in READINGS:
            runs = []
            for num_processes in (None, *processes):
                shape = ["--processes", num_processes or cores, "--workers", cores // (num_processes or cores)]
                runs.append(study.run(arguments.program, *shape, "--items", messages, "--buffer-items", num_words,
                                      "--workloads", "ping_ack", *reading, *([THREAD] if num_processes else [])))
            rows.append({"words": num_words, "reading": reading_of(runs[-1]), "cores": cores, "processes": processes,
                         "seconds": [run["cases"][0]["simulated_seconds"] for run in runs]})
    return rows


def workers_of_a_process(arguments, size, cores, workers):
    """WPs; a process of one worker has no thread."""
    rows = []
    for reading in READINGS:
        seconds = []
        for t in workers:
            run = study.run(arguments.program, *size, "--processes", cores // t, "--workers", t, "--workloads",
                            "histogram", "--schemes", "wps", *reading, *([THREAD] if t > 1 else []))
            seconds.append(run["cases"][0]["simulated_seconds"])
        rows.append({"reading": reading_of(run), "workers": workers, "seconds": seconds})
    return rows


def make_record(arguments):
    experiments = QUICK if arguments.quick else FULL
    by_nodes = []
    for size, ww_items, other_items, reading in experiments["nodes"]:
        how = [THREAD, *reading] if reading else []
        by_nodes.append(replay(arguments, *size, *how,
                               buffer_items=lambda name: ww_items if name == "ww" else other_items))
    buffers = [replay(arguments, *experiments["buffers"]["size"], THREAD, *BY_MESSAGE, buffer_items=lambda name: g)
               for g in experiments["buffers"]["buffer_items"]]
    answers = [replay(arguments, *size, THREAD, *BY_MESSAGE, buffer_items=lambda name: g, workload="index_gather")
               for size, g in experiments["answers"]]
    size, seconds = experiments["hand_over"]
    near = with_hand_over(arguments, seconds, 40, [*size, THREAD, *BY_MESSAGE, "--workloads", "histogram"])
    return {"schema": "crossdock.study.stream_thread/1",
            "ping_ack": ping_ack(arguments, **experiments["ping_ack"]),
            "workers": workers_of_a_process(arguments, **experiments["workers"]),
            "nodes": by_nodes, "buffers": buffers, "answers": answers, "hand_over": compact(near)}


def by_name(run, what):
    return {name_of(case): case[what] for case in run["cases"]}


def print_nodes(title, runs):
    rows = []
    for run in runs:
        seconds, messages, busy = (by_name(run, what) for what in ("simulated_seconds", "messages_per_node",
                                                                   "thread_seconds"))
        rows.append([items_text(run["cases"][0]["items_per_worker"]), run["nodes"], reading_of(run),
                     *(milliseconds(seconds[name]) for name in ALL),
                     *(milliseconds(busy[name]) for name in ("ww", "wps")),
                     *(messages[name] for name in ("ww", "wps"))])
    study.print_table(title, ["items", "nodes", "thread", *(f"{name}, ms" for name in ALL), "thread at work, ww",
                              "wps", "messages of a node, ww", "wps"], rows)


def print_tables(record):
    study.print_table(
        "PingAck: milliseconds without a thread, and how much longer it takes by processes of a node",
        ["words", "thread", "none, ms", *(f"{processes} of {record['ping_ack'][0]['cores'] // processes}"
                                          for processes in record["ping_ack"][0]["processes"])],
        [[f"PingAck, {row['words']}", row["reading"], milliseconds(row["seconds"][0]),
          *(f"{seconds / row['seconds'][0]:.2f}" for seconds in row["seconds"][1:])] for row in record["ping_ack"]])
    study.print_table(
        "WPs, milliseconds by workers of a process; one of one worker has no thread",
        ["thread", *map(str, record["workers"][0]["workers"])],
        [[f"WPs, {row['reading']}", *map(milliseconds, row["seconds"])] for row in record["workers"]])
    print_nodes("Milliseconds by items of a worker and nodes", record["nodes"])
    print_nodes(f"With {record['hand_over']['hand_over_seconds'] * 1e9:.0f} ns for a cache line's way",
                [record["hand_over"]])
    study.print_table(
        f"Milliseconds on {record['buffers'][0]['nodes']} nodes by items of a buffer", ["buffer", *ALL],
        [[f"g = {run['cases'][0]['buffer_items']}",
          *(milliseconds(by_name(run, 'simulated_seconds')[name]) for name in ALL)] for run in record["buffers"]])
    study.print_table(
        "Answered items: mean latency in microseconds, and milliseconds",
        ["nodes", *(f"{name}, us" for name in ALL), *(f"{name}, ms" for name in ALL)],
        [[f"answered, {run['nodes']}",
          *(f"{by_name(run, 'mean_latency_seconds')[name] * 1e6:.0f}" for name in ALL),
          *(milliseconds(by_name(run, 'simulated_seconds')[name]) for name in ALL)] for run in record["answers"]])


def main():
    parser = study.parser(__doc__, "stream_thread")
    parser.set_defaults(program=study.PROGRAMS / "crossdock_study_stream")
    study.finish(parser.parse_args(), make_record, print_tables)


if __name__ == "__main__":
    main()
