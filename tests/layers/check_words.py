#!/usr/bin/env python3
"""Fails on a word that a better one has replaced, in sources and in the code that pages show.

usage: check_words.py [project folder]
"""
import re
import sys

from checker import check

# A retired word, or part of a name, and what stands in its place.
RETIRED = {
    "carriers?": "transport",
    "chunk_shape": "chunk_layout",
    "circuits?": "shared_memory_schedule",
    "claims?": "error vote or access request",
    "dense_(?:load|price|route|stage|way)": "all_partners_cost",
    "flow_(?:message|task)": "graph_message, graph_task",
    "followed_(?:regions|route|stage|steps)": "route_trace",
    "(?:forward|request|reverse)_flow": "task_graph or combining_router",
    "gates?": "arrival counter",
    "item_divider": "bucket_by_worker",
    "kept_memory": "pooled_resource",
    "lanes?": "stripe or priority",
    "outbox(?:es)?": "to_send, send_buffer, filling_buffers or stage_headers",
    "(?:plan|request|uncombined)_way": "plan_cache, batch_route, multi_sf",
    "speakers?": "leader",
    "stage_loads": "stage_cost",
    "turn_seconds": "time_slice_seconds",
    "verdicts?": "agreement",
    "worker_(?:leaving|progress|receiving)": "filling_buffers, worker_buffers, stream_delivery",
}
FOLDERS = ("include", "src", "satellites", "tools", "bench", "verbs", "tests", "examples", "docs",
           "machines")
SUFFIXES = {".c", ".cpp", ".h", ".hpp", ".json", ".md", ".py"}
WORD = re.compile(
    "|".join(f"(?P<w{i}>(?<![A-Za-z]){word}(?![A-Za-z]))" for i, word in enumerate(RETIRED)), re.IGNORECASE
)


def files_of(project):
    """The project's own sources and pages; records of measurements and old changes keep their words."""
    for file in project.glob("*.md"):
        if file.name != "CHANGELOG.md":
            yield file
    for folder in FOLDERS:
        for file in (project / folder).rglob("*"):
            if file.suffix in SUFFIXES and "results" not in file.parts:
                yield file


def find_faults(project):
    """All faults of a project, one sentence each."""
    better = list(RETIRED.values())
    faults = []
    for file in sorted(files_of(project.resolve())):
        if file.name.startswith("check_words"):
            continue
        is_fenced = False
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            is_fenced ^= line.lstrip().startswith("```")
            # A page's sentences may say what they like; names are in code.
            looked_at = line if file.suffix != ".md" or is_fenced else " ".join(re.findall(r"`([^`]*)`", line))
            for found in WORD.finditer(looked_at):
                name = file.relative_to(project.resolve())
                faults.append(f"{name}:{number}: {found[0]}: say {better[int(found.lastgroup[1:])]}")
    return faults


if __name__ == "__main__":
    sys.exit(check(find_faults, "no retired word is used"))
