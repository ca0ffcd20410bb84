"""Matrices that are made for a study: meshes as Matrix Market files, without values and without the diagonal."""

import itertools
import math
import random

LINES_AT_ONCE = 1 << 16

CROSS_2 = [(0, 1), (1, 0)]
TRIANGLES = [(0, 1), (1, 0), (1, 1)]
CROSS_3 = [(0, 0, 1), (0, 1, 0), (1, 0, 0)]
BOX_3 = [step for step in itertools.product((-1, 0, 1), repeat=3) if step > (0, 0, 0)]


def numbering(num_points, window):
    """The points of each window of consecutive ones in random order, the same every time."""
    numbers = list(range(num_points))
    if window > 1:
        drawn = random.Random(1)
        for first in range(0, num_points, window):
            some = numbers[first:first + window]
            drawn.shuffle(some)
            numbers[first:first + window] = some
    return numbers


def edges(extents, steps, window):
    """Both ends of each edge between a point of a box and the one that is a step away, the greater number first.

    `steps`: one of each two that are opposite. Points are numbered row by row, and then by `numbering`.
    """
    strides = [math.prod(extents[k + 1:]) for k in range(len(extents))]
    numbers = numbering(math.prod(extents), window)
    for step in steps:
        offset = sum(by * stride for by, stride in zip(step, strides))
        inside = (range(max(0, -by), extent - max(0, by)) for by, extent in zip(step, extents))
        for point in itertools.product(*inside):
            place = sum(at * stride for at, stride in zip(point, strides))
            one, other = numbers[place], numbers[place + offset]
            yield (one, other) if one > other else (other, one)


def write(path, extents, steps, window=1):
    """The symmetric matrix of the edges."""
    num_points = math.prod(extents)
    num_edges = sum(math.prod(extent - abs(by) for by, extent in zip(step, extents)) for step in steps)
    with open(path, "w", encoding="ascii") as file:
        file.write("%%MatrixMarket matrix coordinate pattern symmetric\n")
        file.write(f"{num_points} {num_points} {num_edges}\n")
        lines = edges(extents, steps, window)
        while some := list(itertools.islice(lines, LINES_AT_ONCE)):
            file.write("".join(f"{row + 1} {column + 1}\n" for row, column in some))
