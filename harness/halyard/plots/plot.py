# SPDX-License-Identifier: Apache-2.0
"""A plot, as SVG for a page and as PNG. The same data gives the same bytes."""

from __future__ import annotations

import importlib
import io
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halyard import output_file
from halyard.errors import HalyardError, PackageMissing
from halyard.plots.inline_svg import inlined
from halyard.terminal.console import printable

# In PNGs, and for those who see the SVG outside of a page. A page has its own for each name.
INK = "#1f2328"
MUTED = "#5f6873"
GRID = "#d8dee4"
BAD = "#c0342b"
# Of different series; told apart by people who see no red or no green.
SERIES: Sequence[str] = (
    "#0b62b8",
    "#c2510c",
    "#0f7b6c",
    "#8a3ffc",
    "#b02a6f",
    "#6b5d00",
    "#3f4b5a",
    "#d08700",
)
COLOURS: Mapping[str, str] = {
    INK: "ink",
    MUTED: "muted",
    GRID: "grid",
    BAD: "bad",
    **{colour: f"series-{number + 1}" for number, colour in enumerate(SERIES)},
}

WIDTH = 6.4  # inches
_DPI = 200  # of PNGs: sharp on slides
_LONGEST = 44  # characters of a label
_LONGEST_TEXT = 2000  # and of what is seen, in words

# Metadata that would differ every time is left out.
_METADATA: Mapping[str, Mapping[str, None]] = {
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}

_STYLE: Mapping[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": GRID,
    "axes.grid": True,
    "axes.labelcolor": MUTED,
    "axes.labelsize": 9,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.6,
    "lines.markersize": 4,
    "svg.fonttype": "none",
    "svg.hashsalt": "halyard",
    "text.color": INK,
    # Labels are names from devices and files.
    "text.parse_math": False,
    "xtick.color": MUTED,
    "xtick.labelsize": 8.5,
    "ytick.color": MUTED,
    "ytick.labelsize": 8.5,
}


def matplotlib() -> Any:
    """PackageMissing where it is not installed."""
    try:
        found = importlib.import_module("matplotlib")
        importlib.import_module("matplotlib.figure")
    except ImportError as error:
        raise PackageMissing(
            f"a plot takes the package matplotlib: pip install 'halyard[report]' ({error})"
        ) from error
    return found


@dataclass(frozen=True)
class Plot:
    """`name` is that of its file; `text` says in words what is seen. `draw` is given axes."""

    name: str
    title: str
    text: str
    draw: Callable[[Any], None]
    height: float = 2.6  # inches
    width: float = WIDTH

    def svg(self) -> str:
        """An element for a page, in colours that the page has under the names of COLOURS."""
        return inlined(
            self._saved("svg", title=False), self.name, label(self.text, _LONGEST_TEXT), COLOURS
        )

    def png(self) -> bytes:
        return self._saved("png", title=True)

    def write(self, path: Path) -> None:
        """The extension says how. HalyardError where that is none for a plot."""
        format = path.suffix.removeprefix(".").lower()
        if format not in _METADATA:
            raise HalyardError(f"{path}: a plot is written as .{', .'.join(_METADATA)}")
        output_file.write(path, self._saved(format, title=True))

    def _saved(self, format: str, *, title: bool) -> bytes:
        library = matplotlib()
        with library.rc_context(_STYLE), warnings.catch_warnings():
            # The page has other letters; in a PNG there is a box for those that are missing.
            warnings.filterwarnings("ignore", "Glyph .* missing from font")
            figure = library.figure.Figure((self.width, self.height), layout="constrained")
            axes = figure.add_subplot()
            self.draw(axes)
            if title:
                axes.set_title(label(self.title, 80))
            content = io.BytesIO()
            figure.savefig(
                content,
                format=format,
                dpi=_DPI,
                metadata=_METADATA[format],
                transparent=not title,
            )
        return content.getvalue()


def label(text: str, longest: int = _LONGEST) -> str:
    """A name from a device or a file, as an axis has room for it."""
    text = " ".join(printable(text).split())
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
