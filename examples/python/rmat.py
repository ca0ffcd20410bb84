"""R-MAT graphs: few vertices have many edges, as in the web. `pagerank.py` and `breadth_first_search.py` use them."""

import numpy as np
import numpy.typing as npt

# The probabilities that an edge leads from and to the first or second half of the vertices, as in Graph500.
FIRST_FIRST, FIRST_SECOND, SECOND_FIRST = 0.57, 0.19, 0.19
NUMBERS_PER_STEP = 4  # of the generator


def edges(scale: int, num_edges: int, part: int = 0, num_parts: int = 1) -> npt.NDArray[np.int64]:
    """Return a part of the edges of 2^scale vertices as rows (from, to); together the parts are always the same."""
    cuts = np.linspace(0, num_edges, num_parts + 1).astype(int)
    steps = -(-scale // NUMBERS_PER_STEP)
    numbers = np.random.Generator(np.random.Philox(key=1).advance(int(cuts[part]) * steps))
    drawn = numbers.random((cuts[part + 1] - cuts[part], steps * NUMBERS_PER_STEP))[:, :scale]
    is_from_second = drawn >= FIRST_FIRST + FIRST_SECOND
    is_to_second = np.where(is_from_second, drawn >= FIRST_FIRST + FIRST_SECOND + SECOND_FIRST, drawn >= FIRST_FIRST)
    bits = 1 << np.arange(scale)
    return np.stack([is_from_second @ bits, is_to_second @ bits], axis=1)
