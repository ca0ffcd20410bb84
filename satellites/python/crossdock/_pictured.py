"""What notebooks show: a picture, if there is matplotlib, and a table."""

from __future__ import annotations

import importlib
import zlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The colours are JupyterLab's, where it shows the page.
_FRAME = ('<div style="--ink:var(--jp-content-font-color1,#1f2328);--paper:var(--jp-layout-color0,#fefefe);'
          '--lines:var(--jp-border-color2,#d0d4d8);--box:var(--jp-layout-color2,#eceef1);'
          'max-width:{width:.2f}in">{svg}</div>')


def pictures(name: str) -> Any:
    """Import a module that draws; the command line draws with the same ones.

    Raises
    ------
    ImportError
        There is no matplotlib.
    """
    try:
        return importlib.import_module(f"crossdock._pictures.{name}")
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] != "matplotlib":
            raise
        raise ImportError("pictures need matplotlib, as pip install matplotlib installs it",
                          name="matplotlib") from None


class Pictured(ABC):
    """An object that a notebook shows as a picture and a table."""

    def plot(self) -> Figure:
        """Draw it, as a figure of matplotlib.

        A notebook shows the figure, and ``savefig`` writes it; it is none of pyplot's.

        Raises
        ------
        ImportError
            There is no matplotlib.
        """
        with pictures("style").own_style():
            figure: Figure = self._draw()
        return figure

    @abstractmethod
    def _draw(self) -> Any:
        """Return the figure."""

    @abstractmethod
    def _rows(self) -> Sequence[dict[str, Any]]:
        """Return the table's rows."""

    def _title(self) -> str:
        """Return what the picture shows, for those who cannot see it."""
        return repr(self)

    def _repr_svg_(self) -> str | None:
        try:
            return pictures("style").svg_of(self.plot())  # type: ignore[no-any-return]
        except ImportError:
            return None

    def _repr_html_(self) -> str:
        return self._picture_html() + table_of(self._rows())

    def _picture_html(self) -> str:
        try:
            figure = self.plot()
        except ImportError:
            return ""
        identity = f"crossdock-{zlib.crc32(pictures('style').svg_of(figure).encode()):08x}"
        svg = pictures("figures").to_html(figure, identity, self._title())
        return _FRAME.format(width=figure.get_size_inches()[0], svg=svg)


def table_of(rows: Sequence[dict[str, Any]]) -> str:
    """Return a table of HTML, headed by the names in the first row."""
    head = "".join(f"<th>{escape(name)}</th>" for name in rows[0]) if rows else ""
    body = "".join("<tr>" + "".join(f"<td>{escape(_text(value))}</td>" for value in row.values()) + "</tr>"
                   for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
