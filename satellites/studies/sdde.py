#!/usr/bin/env python3
"""The study of sparse dynamic data exchanges, simulated: prints tables, and writes a record.

usage: satellites/studies/sdde.py FOLDER... [-o RECORD]   FOLDERs hold the matrices; those of 2048 rows
                                                     and more are taken
       satellites/studies/sdde.py --full-size             the meshes of the scaled matrices' size anew; 5 minutes
       satellites/studies/sdde.py FOLDER --quick          one matrix, and small meshes, on 16 ranks
       satellites/studies/sdde.py --tables RECORD         prints the tables of a record again

64 nodes of 32 ranks of quartz. Regions are nodes, so that messages within them cost what the machine says of
two sockets. Messages of constant size are one number of 4 bytes, those of variable size the indices that a rank
needs, of 8 bytes each. Beside the matrices there are meshes that are made here, two of which are scaled from 2 to
64 nodes. Two more have the rows, nonzeros and messages of the matrices that the study scales.
ALGORITHM/personalized goes on inside regions by a personalized exchange, as in the study.
"""
import gzip
import json
import pathlib
import subprocess
import tempfile

import meshes
import study

STANDARD = ["personalized", "nonblocking", "rma", "rma_fence"]
AWARE = ["locality_personalized", "locality_nonblocking"]
OURS = ["locality_rma", "auto", "shared_memory"]
VALUES = {"constant": "pattern", "variable": "indices"}
# What crossdock_study_sdde simulates: inside regions a personalized exchange, as in the study; and a known number of
# messages.
AS_IN_THE_STUDY = ["locality_personalized/personalized", "locality_nonblocking/personalized"]
KNOWN = "personalized/known"
IN_THE_STUDY = ["personalized", "nonblocking", "rma_fence"]  # that know nothing of regions
# These have messages of one size only.
LEFT_OUT = {"variable": {"rma", "rma_fence"}}
NODES, RANKS_PER_NODE = 64, 32
WHOSE = {False: "matrices", True: "matrices and meshes"}  # by whether meshes are among them

# The points of a box, the steps to half of their neighbors, and in windows of how many points numbers are random.
MESHES = {"mesh_2d": ((1024, 1024), meshes.CROSS_2, 1),
          "mesh_3d": ((96, 96, 96), meshes.CROSS_3, 1),
          "mesh_3d_windows": ((85, 85, 84), meshes.BOX_3, 4096),
          "mesh_2d_shuffled": ((1024, 512), meshes.TRIANGLES, 1024 * 512)}
SMALL_MESHES = {"mesh_2d": ((16, 16), meshes.CROSS_2, 1), "mesh_2d_shuffled": ((8, 16), meshes.TRIANGLES, 128)}
SCALED = ["mesh_3d_windows", "mesh_2d_shuffled"]
# Of the size of the matrices that the study scales: 607,232 rows of 42 nonzeros, and 4,163,763 of 6.
TWO_STEPS = [(2, 0, 0), (0, 2, 0), (0, 0, 2), (0, 2, 2), (0, 2, -2), (2, 0, 2), (2, 0, -2)]
FULL_SIZE = {"like_dielFilterV2clx": ((85, 85, 84), meshes.BOX_3 + TWO_STEPS, 3072),
             "like_NLR": ((2048, 2033), meshes.TRIANGLES, 2048 * 2033)}
SMALL_FULL_SIZE = {"like_dielFilterV2clx": ((6, 6, 6), meshes.BOX_3 + TWO_STEPS, 72),
                   "like_NLR": ((12, 12), meshes.TRIANGLES, 144)}

LOOK_NANOSECONDS = (0, 5, 10, 20)  # at an unexpected message that is not the one; at a posted receive the preset has 10

# What the text of the study says: of 35 matrices, on 64 nodes with MVAPICH2.
STUDY = {"constant": {"mean": 18, "most": 128, "gain": 35}, "variable": {"mean": 14, "most": 54, "gain": 23}}


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


def simulate(program, matrix, sizes, nodes, ranks_per_node, machine):
    algorithms = [name for name in STANDARD + AWARE + OURS if name not in LEFT_OUT.get(sizes, ())]
    command = [program, "simulate", matrix, "--exchange", "--values", VALUES[sizes], "--ranks", nodes * ranks_per_node,
               "--topology", f"{nodes}x{ranks_per_node}", "--machine", machine, "--algorithms", ",".join(algorithms),
               "--json"]
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True, check=True)
    return {"matrix": matrix.name.split(".")[0], "sizes": sizes, "nodes": nodes, "algorithms": [
        {"name": one["name"], "algorithm": one["algorithm"], "simulated_seconds": one["slowest_seconds"],
         "messages": one["total"]["messages"]["total"],
         "most_messages_to_other_nodes": one["total"]["inter_region"]["messages"]["max"]}
        for one in json.loads(done.stdout)["algorithms"]]}


def simulate_variants(program, matrix, sizes, nodes, ranks_per_node, machine):
    """Seconds by name."""
    found = study.run(program, matrix, "--values", VALUES[sizes], "--topology", f"{nodes}x{ranks_per_node}",
                      "--machine", machine)
    return {one["name"]: one["simulated_seconds"] for one in found["algorithms"]}


def simulate_full_size(program, name, mesh, nodes, ranks_per_node, machine):
    """Of both sizes of messages and on few and many nodes, with the study's algorithms."""
    cases = []
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / f"{name}.mtx"
        meshes.write(path, *mesh)
        for sizes, values in VALUES.items():
            names = [one for one in IN_THE_STUDY if one not in LEFT_OUT.get(sizes, ())] + AS_IN_THE_STUDY
            for num_nodes in nodes:
                found = study.run(program, path, "--values", values, "--topology", f"{num_nodes}x{ranks_per_node}",
                                  "--machine", machine, "--algorithms", ",".join(names))
                cases.append({"matrix": name, "sizes": sizes, "nodes": num_nodes, **found})
    return cases


def found_in(case):
    return {one["name"]: one for one in case["algorithms"]}


def best(case, names):
    """The name and the seconds of the fastest."""
    return min(((one["name"], one["simulated_seconds"]) for one in case["algorithms"] if one["name"] in names),
               key=lambda one: one[1])


def gain(case, names, over):
    """How many times as fast the best of `names` is as the best of `over`."""
    return best(case, over)[1] / best(case, names)[1]


def gain_of_the_studys_way(case):
    """With a personalized exchange inside regions, where it is simulated; else with the library's route."""
    if "variants" not in case:
        return gain(case, AWARE, STANDARD)
    return best(case, STANDARD)[1] / min(map(case["variants"].get, AS_IN_THE_STUDY))


def gain_of_full_size(case):
    """Of the study's way over its best standard algorithm."""
    return gain(case, AS_IN_THE_STUDY, IN_THE_STUDY)


def most_messages(case):
    """Of a rank to other nodes."""
    found = found_in(case)
    return " / ".join(str(found[name]["most_messages_to_other_nodes"])
                      for name in ("personalized", "locality_nonblocking"))


def microseconds(seconds):
    return f"{seconds * 1e6:.0f}"


def named(one):
    return f"{one[0]} {microseconds(one[1])}"


def factor(value):
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def summary(gains):
    """Mean, geometric mean, least and most, with whose they are, and how many gain."""
    values = list(gains.values())
    least, most = min(gains, key=gains.get), max(gains, key=gains.get)
    return [factor(sum(values) / len(values)), factor(study.geometric_mean(values)),
            *(f"{factor(gains[name])} ({name})" for name in (least, most)),
            f"{sum(value > 1 for value in values)} of {len(values)}"]


class Tables:
    def __init__(self, record):
        self.cases = record["cases"]
        self.nodes = record["nodes"]
        self.made = set(record["meshes"])
        self.full_size = record["full_size"]

    def of(self, sizes, has_meshes):
        return [case for case in self.cases if case["sizes"] == sizes and case["nodes"] == self.nodes
                and (has_meshes or case["matrix"] not in self.made)]

    def gains(self, sizes, has_meshes, names, over):
        return {case["matrix"]: gain(case, names, over) for case in self.of(sizes, has_meshes)}

    def print_against_the_study(self):
        rows = []
        for sizes, said in STUDY.items():
            rows.append([sizes, "the study, 35 matrices", said["mean"], "not given", "not given", said["most"],
                         f"{said['gain']} of 35"])
            for has_meshes, whose in WHOSE.items():
                rows.append([sizes, f"simulated, {whose}", *summary(self.gains(sizes, has_meshes, AWARE, STANDARD))])
        study.print_table("Best locality-aware over best standard",
                          ["sizes", "of", "mean", "geometric mean", "least", "most", "gain"], rows)

    def print_by_algorithm(self):
        rows = []
        for sizes in VALUES:
            for name in [one for one in STANDARD[1:] + AWARE + OURS if one not in LEFT_OUT.get(sizes, ())]:
                rows.append([sizes, name, *summary(self.gains(sizes, False, [name], STANDARD[:1]))])
        study.print_table("By algorithm, over personalized",
                          ["sizes", "algorithm", "mean", "geometric mean", "least", "most", "gain"], rows)

    def print_by_matrix(self):
        rows = []
        for constant, variable in zip(self.of("constant", True), self.of("variable", True)):
            row = [constant["matrix"], most_messages(constant)]
            for case in (constant, variable):
                row += [named(best(case, STANDARD)), named(best(case, AWARE)), factor(gain(case, AWARE, STANDARD))]
            rows.append(row)
        study.print_table("By matrix, microseconds",
                          ["", "messages to other nodes, standard / aware", "constant: best standard", "best aware",
                           "speed-up", "variable: best standard", "best aware", "speed-up"], rows)

    def print_scaling(self):
        for matrix in dict.fromkeys(case["matrix"] for case in self.cases if case["nodes"] != self.nodes):
            for sizes in VALUES:
                cases = [case for case in self.cases if case["matrix"] == matrix and case["sizes"] == sizes]
                names = [name for name in STANDARD + AWARE if name not in LEFT_OUT.get(sizes, ())]
                rows = []
                for case in sorted(cases, key=lambda one: one["nodes"]):
                    found = found_in(case)
                    rows.append([case["nodes"], most_messages(case),
                                 *(microseconds(found[name]["simulated_seconds"]) for name in names),
                                 factor(gain(case, AWARE, STANDARD))])
                study.print_table(f"Strong scaling of {matrix}, {sizes} size, microseconds",
                                  [f"{matrix}, {sizes}: nodes", "messages to other nodes, standard / aware", *names,
                                   "best aware over best standard"], rows)

    def print_full_size(self):
        rows = []
        for case in self.full_size:
            found = found_in(case)
            rows.append([f"{case['matrix']}, {case['sizes']}", case["nodes"],
                         " / ".join(str(case["most_messages_to_other_nodes"][kind]) for kind in ("standard", "aware")),
                         *(microseconds(found[name]["simulated_seconds"]) if name in found else ""
                           for name in IN_THE_STUDY + AS_IN_THE_STUDY), factor(gain_of_full_size(case))])
        study.print_table("Meshes of the size of the matrices that the study scales, microseconds",
                          ["", "nodes", "messages to other nodes, standard / aware", *IN_THE_STUDY,
                           *(name.partition("/")[0] for name in AS_IN_THE_STUDY), "best aware over best standard"],
                          rows)

    def study_gains(self, sizes):
        """Of the study's way over the best standard algorithm."""
        return {case["matrix"]: gain_of_the_studys_way(case) for case in self.of(sizes, False)}

    def searched_gains(self, sizes, seconds_per_look):
        """Of the study's way, if a rank looks at half of its unexpected messages for each; without one-sided exchanges.

        A rank is taken to get as many messages as it sends to other nodes at most, and 31 in its region.
        """
        def searched(case, name, inside):
            messages = found_in(case)[name]["most_messages_to_other_nodes"] + inside
            return seconds_per_look * messages ** 2 / 2

        return {case["matrix"]: (best(case, ["personalized", "nonblocking"])[1] + searched(case, "personalized", 0))
                / (min(map(case["variants"].get, AS_IN_THE_STUDY)) + searched(case, "locality_nonblocking", 31))
                for case in self.of(sizes, False)}

    def print_search(self):
        rows = [[f"{nanoseconds} ns", sizes, *summary(self.searched_gains(sizes, nanoseconds * 1e-9))]
                for sizes in VALUES for nanoseconds in LOOK_NANOSECONDS]
        study.print_table("If unexpected messages were searched, and without one-sided exchanges, matrices",
                          ["a look", "sizes", "mean", "geometric mean", "least", "most", "gain"], rows)

    def print_ours(self):
        rows = [[sizes, name, whose, *summary(self.gains(sizes, has_meshes, [name], STANDARD + AWARE))]
                for sizes in VALUES for name in OURS for has_meshes, whose in WHOSE.items()]
        for sizes in VALUES:
            gains = {case["matrix"]: min(best(case, STANDARD)[1], *map(case["variants"].get, AS_IN_THE_STUDY))
                     / best(case, ["auto"])[1] for case in self.of(sizes, False)}
            rows.append([sizes, "auto, over the study's way inside regions", WHOSE[False], *summary(gains)])
        study.print_table("What the study does not have, over the best of what it has",
                          ["sizes", "algorithm", "of", "mean", "geometric mean", "least", "most", "gain"], rows)

    def print_variants(self):
        rows = []
        for sizes in VALUES:
            for has_meshes, whose in WHOSE.items():
                cases = self.of(sizes, has_meshes)
                gains = {case["matrix"]: best(case, STANDARD)[1]
                         / min(case["variants"][name] for name in AS_IN_THE_STUDY) for case in cases}
                rows.append([sizes, "the better of both, over the best standard", whose, *summary(gains)])
            for name in AS_IN_THE_STUDY:
                ours = name.partition("/")[0]
                gains = {case["matrix"]: found_in(case)[ours]["simulated_seconds"] / case["variants"][name]
                         for case in cases}
                rows.append([sizes, f"{name}, over {ours}", whose, *summary(gains)])
            gains = {case["matrix"]: case["variants"]["personalized"] / case["variants"][KNOWN] for case in cases}
            rows.append([sizes, f"{KNOWN}, over personalized", whose, *summary(gains)])
        study.print_table("Personalized exchanges inside regions, and known numbers of messages",
                          ["sizes", "algorithm", "of", "mean", "geometric mean", "least", "most", "gain"], rows)

    def print(self):
        self.print_against_the_study()
        self.print_by_algorithm()
        self.print_by_matrix()
        self.print_variants()
        self.print_scaling()
        self.print_full_size()
        self.print_search()
        self.print_ours()


def make_full_size(arguments):
    made, nodes, ranks_per_node = ((SMALL_FULL_SIZE, (2, 4), 4) if arguments.quick
                                   else (FULL_SIZE, (2, NODES), RANKS_PER_NODE))
    with tempfile.TemporaryDirectory() as folder:
        machine = machine_file(folder)
        return {"full_size": [case for name, mesh in made.items() for case in simulate_full_size(
            arguments.variants, name, mesh, nodes, ranks_per_node, machine)]}


def make_record(arguments):
    if arguments.full_size:
        return study.read(arguments.output) | make_full_size(arguments)
    matrices = sorted(path for folder in arguments.folders for path in pathlib.Path(folder).glob("*.mtx.gz"))
    nodes, ranks_per_node, made, scales = NODES, RANKS_PER_NODE, MESHES, [2, 4, 8, 16, 32]
    if arguments.quick:
        matrices, nodes, ranks_per_node, made, scales = matrices[:1], 4, 4, SMALL_MESHES, [2]
    matrices = [matrix for matrix in matrices if num_rows(matrix) >= nodes * ranks_per_node]
    cases = []
    with tempfile.TemporaryDirectory() as folder:
        machine = machine_file(folder)

        def add(matrix, num_nodes):
            for sizes in VALUES:
                case = simulate(arguments.program, matrix, sizes, num_nodes, ranks_per_node, machine)
                if num_nodes == nodes:
                    case["variants"] = simulate_variants(arguments.variants, matrix, sizes, nodes, ranks_per_node,
                                                         machine)
                cases.append(case)

        for matrix in matrices:
            add(matrix, nodes)
        for name, mesh in made.items():
            path = pathlib.Path(folder) / f"{name}.mtx"
            meshes.write(path, *mesh)
            for num_nodes in (scales if name in SCALED else []) + [nodes]:
                add(path, num_nodes)
            path.unlink()
    return {"schema": "crossdock.study.sdde/3", "nodes": nodes, "ranks_per_node": ranks_per_node,
            "machine": "quartz, with nodes as regions", "partition": "block", "meshes": list(made), "cases": cases,
            **make_full_size(arguments)}


def main():
    parser = study.parser(__doc__, "sdde")
    parser.set_defaults(program=study.PROJECT / "build/release/tools/crossdock/crossdock")
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--full-size", action="store_true")
    parser.add_argument("--variants", default=study.PROGRAMS / "crossdock_study_sdde",
                        help="simulates what the library does not run")
    arguments = parser.parse_args()
    if bool(arguments.folders) + arguments.full_size + bool(arguments.tables) != 1:
        parser.error("either FOLDERs, --full-size or --tables RECORD")
    study.finish(arguments, make_record, lambda record: Tables(record).print())


if __name__ == "__main__":
    main()
