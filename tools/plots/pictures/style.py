"""The look that all pictures have: colours, and how a figure is made and written."""

import contextlib
import io
import zlib

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

# The colours of Okabe and Ito, which colour-blind people can tell apart. Yellow is too pale for lines.
ORANGE, SKY, GREEN = "#e69f00", "#56b4e9", "#009e73"
BLUE, VERMILION, PURPLE = "#0072b2", "#d55e00", "#cc79a7"
GREY = "#808080"
# More of the kind, from the sets of Paul Tol.
OLIVE, TEAL, ROSE, PLUM = "#999933", "#44aa99", "#cc6677", "#aa4499"

INSIDE, BETWEEN = BLUE, VERMILION  # messages inside a region, and between regions

INK, PAPER, LINES, BOX = "#1f2328", "#fefefe", "#d0d4d8", "#eceef1"

# One look for each route, the same in every picture; the marker tells apart what shares a colour.
ROUTE_LOOKS = {
    "direct": (GREY, "o"),
    "two_step": (SKY, "s"),
    "three_step": (BLUE, "D"),
    "grid:2": (ORANGE, "^"),
    "grid:3": (VERMILION, "v"),
    "hypercube": (GREEN, "P"),
    "locality": (PURPLE, "X"),
    "increase": (OLIVE, "<"),
    "decrease": (TEAL, ">"),
    "hourglass": (ROSE, "p"),
    "inverse_hourglass": (PLUM, "h"),
}
OTHER_COLOURS = [OLIVE, TEAL, ROSE, PLUM]
OTHER_MARKERS = ["8", "*", "d", "H", "D", "s", "^", "v"]

DPI = 150


OWN_STYLE = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": PAPER,
    "axes.facecolor": "none",
    "grid.color": LINES,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "crossdock",
}


@contextlib.contextmanager
def own_style():
    """What a user's matplotlibrc says does not count meanwhile: the same data gives the same file."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(OWN_STYLE)
        yield


class Picture(Figure):
    """A figure that a notebook shows as it is; none of pyplot's."""

    def _repr_svg_(self):
        return svg_of(self)


def new_figure(width, height):
    figure = Picture(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def render(figure, suffix):
    """The figure as bytes of a file with this suffix, without dates."""
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
    buffer = io.BytesIO()
    with own_style():
        figure.savefig(buffer, format=suffix, dpi=DPI, metadata=dates[suffix])
    return buffer.getvalue()


def svg_of(figure):
    return render(figure, "svg").decode()


def route_look(route):
    """Colour and marker of a route; a name that is not in the table always gets the same ones."""
    route = route.replace("equal:", "grid:")  # two names of one route
    if route in ROUTE_LOOKS:
        return ROUTE_LOOKS[route]
    number = zlib.crc32(route.encode())
    marker = OTHER_MARKERS[number // len(OTHER_COLOURS) % len(OTHER_MARKERS)]
    return OTHER_COLOURS[number % len(OTHER_COLOURS)], marker
