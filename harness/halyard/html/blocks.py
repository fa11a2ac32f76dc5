# SPDX-License-Identifier: Apache-2.0
"""The blocks of a page. Texts are plain: the template escapes whatever it is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Self

from halyard.plots.plot import Plot
from halyard.terminal.console import printable

# "bad" and "good" are for what failed and passed, "dim" for what says little.
Tone = Literal["", "good", "bad", "warn", "dim"]

# Characters of a cell; what is longer has a place of its own.
_LONGEST = 160
# From so many on they are folded.
_FOLDED = 56
# Stands for an unknown value.
NONE = "–"
_NOTHING = ("", NONE)
_MOST_ROWS = 1000


@dataclass(frozen=True)
class Cell:
    """`key` is what it is sorted by, if not its text; `link` the id of what it leads to."""

    text: str
    key: float | str | None = None
    tone: Tone = ""
    link: str = ""

    @property
    def shown(self) -> str:
        text = " ".join(printable(self.text).split())
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"

    @property
    def is_long(self) -> bool:
        return len(self.shown) > _FOLDED

    @property
    def sort_key(self) -> str:
        if isinstance(self.key, float | int):
            return repr(float(self.key))
        return self.key if self.key is not None else self.shown


@dataclass(frozen=True)
class Column:
    title: str
    number: bool = False


@dataclass(frozen=True)
class Table:
    """`more`: how many rows were left out; `folded`: it is closed until it is wanted."""

    template: ClassVar = "table"
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    more: int = 0
    folded: bool = False

    @classmethod
    def of(
        cls,
        caption: str,
        columns: Sequence[Column],
        rows: Sequence[Sequence[Cell]],
        more: int = 0,
        *,
        folded: bool = False,
    ) -> Self:
        """Without the columns that have nothing in any row, and of no more rows than a page can
        have."""
        shown = rows[:_MOST_ROWS]
        told = [
            place
            for place in range(len(columns))
            if not shown or any(row[place].text not in _NOTHING for row in shown)
        ]
        return cls(
            caption,
            [columns[place] for place in told],
            [[row[place] for place in told] for row in shown],
            more + len(rows) - len(shown),
            folded,
        )


@dataclass(frozen=True)
class Details:
    """A long text that is closed until it is wanted, or a link leads to it."""

    template: ClassVar = "details"
    id: str
    summary: str
    text: str


@dataclass(frozen=True)
class Group:
    """Many of them, as one."""

    template: ClassVar = "group"
    summary: str
    parts: Sequence[Details]


@dataclass(frozen=True)
class Plots:
    template: ClassVar = "plots"
    plots: Sequence[Plot]


@dataclass(frozen=True)
class Note:
    template: ClassVar = "note"
    text: str


@dataclass(frozen=True)
class Tile:
    """A number at the top; `link` leads to what it is about."""

    title: str
    value: str
    note: str
    tone: Tone = ""
    link: str = ""


@dataclass(frozen=True)
class Tiles:
    template: ClassVar = "tiles"
    tiles: Sequence[Tile]


Block = Table | Details | Group | Plots | Note | Tiles


@dataclass(frozen=True)
class Section:
    id: str
    title: str
    blocks: Sequence[Block] = field(default=())


def columns(*titles: str, numbers: Sequence[str] = ()) -> list[Column]:
    return [Column(title, title in numbers) for title in titles]


# ---- values -------------------------------------------------------------------------------------


def text(value: str, tone: Tone = "") -> Cell:
    return Cell(value, tone=tone)


def number(value: float | None, format: str = ".3g", tone: Tone = "", unit: str = "") -> Cell:
    """Unknown values come last."""
    if value is None:
        return Cell(NONE, float("inf"), "dim")
    return Cell(f"{value:{format}}{unit}", value, tone)


def milliseconds(value: float | None) -> Cell:
    """With three digits that count."""
    if value is None:
        return number(None)
    return Cell(f"{value:.0f}" if value >= 100 else f"{value:#.3g}", value)


def mebibytes(value: int | None) -> Cell:
    return number(None if value is None else value / 2**20, ".1f")


def interval(low: float | None, high: float | None) -> Cell:
    if low is None or high is None:
        return number(None)
    return Cell(f"{low:.3g} to {high:.3g}", low)


def count(value: int | None, tone: Tone = "") -> Cell:
    """A tone is for what there is."""
    return number(value, "d", tone if value else "")


def moment(at: str) -> Cell:
    """The minute of a time in ISO 8601."""
    return Cell(at[:16].replace("T", " "), at)


def verdict(ok: int | None, good: str = "passed", bad: str = "failed") -> Cell:
    if ok is None:
        return Cell(NONE, tone="dim")
    return Cell(good, tone="good") if ok else Cell(bad, tone="bad")
