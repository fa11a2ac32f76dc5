# SPDX-License-Identifier: Apache-2.0
"""The commands' output: steps with their time, results, tables."""

import re
import sys
import textwrap
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from rich.console import Console
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.status import Status
from rich.table import Table
from rich.text import Text

# A log has no width: a line that is broken or cut there is worse than a long one.
_LOG_WIDTH = 100_000
# Seconds of a step without a line in a log after which it says what it is busy with.
_SILENCE = 20.0
# The thread that says so.
REMINDER = "reminder"
# Between two columns.
_GAP = 2
# Cells of a bar, and seconds after which it is told how many are left.
_BAR = 24
_FIRST_GUESS = 1.0
# Of a spinner, and of what stands between the parts of a line with a bar.
_AROUND = 6
# Seconds from which on hours say more than minutes do.
_LONG = 3 * 3600
# The key of a line whose value has a column of its own.
_KEY = re.compile(r" *(?:\S+(?: \S+)?  +)?")


# Control characters but for the ends of lines and tabs, and those that turn the direction of text.
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def printable(text: str) -> str:
    """Text from a device, for a terminal: control characters as Python writes them.

    Whatever is printed goes through this but the output of a shell command, which is the user's.
    """
    return _CONTROL.sub(lambda found: repr(found[0])[1:-1], text.replace("\r\n", "\n"))


def counted(count: int, noun: str) -> str:
    """ "1 file", "2 files"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def gauge(title: str, done: float, total: float, seconds: float, width: int) -> Table:
    """A bar, the share that is done, and how long the rest takes if it goes on as it went: one line
    behind a spinner. The title alone gives way where it is narrow."""
    share = min(done / total, 1.0) if total else 1.0
    known = share and seconds > _FIRST_GUESS
    left = time_left_text(seconds / share - seconds) if known else ""
    grid = Table.grid(padding=(0, 1))
    for _ in range(4):
        grid.add_column(no_wrap=True)
    bar = ProgressBar(total=1.0, completed=share, width=_BAR)
    text = Text(printable(title))
    text.truncate(max(width - _BAR - len(f"{left}100%") - _AROUND, 1), overflow="ellipsis")
    grid.add_row(text, bar, f"{share:.0%}", left)
    return grid


def time_left_text(seconds: float) -> str:
    """Roughly: "about 95 min left"."""
    for limit, unit, per_unit in ((120, "s", 1), (_LONG, "min", 60)):
        if seconds < limit:
            return f"about {seconds / per_unit:.0f} {unit} left"
    return f"about {seconds / 3600:.1f} h left"


# Stands before a step that can't be known to have gone well.
_UNSURE = "?"


class Step:
    """A step in progress. What it says last stands behind it when it is over."""

    def __init__(self, title: str, status: Status) -> None:
        self._title = title
        self._status = status
        self._begin = time.monotonic()
        self.text = ""
        self.outcome = ""
        self.failed = False  # it is over, but not as it should be
        self.unsure = False  # nothing went wrong, and the result can't be known to be right

    def now(self, text: str) -> None:
        """Shows what it is busy with."""
        self.text = text
        self._status.update(_marked_up(f"{self._title}: {text}"))

    def transfer(self, done: int, total: int) -> None:
        """A Progress of a device."""
        self.share(done, total, f"{done / 2**20:.1f} of {total / 2**20:.1f} MiB")

    def part(self, done: int, total: int, name: str) -> None:
        """A Listener of a folder's transfer."""
        self.share(done, total, f"{done + 1} of {counted(total, 'file')}, {name}")

    def share(self, done: float, total: float, text: str) -> None:
        """Shows how far it is, and what it is busy with; what is left is told by the pace since
        nothing was done."""
        self.text = text
        if not done:
            self._begin = time.monotonic()
        seconds = time.monotonic() - self._begin
        width = self._status.console.width
        self._status.update(gauge(f"{self._title}: {text}", done, total, seconds, width))


class Terminal:
    """Steps show a spinner on a terminal; in a log each is one line when it is over, and one every
    now and then if it takes long."""

    def __init__(self, console: Console | None = None, *, silence: float = _SILENCE) -> None:
        self._silence = silence
        width = None if sys.stdout.isatty() else _LOG_WIDTH
        self.console = console or Console(highlight=False, soft_wrap=True, width=width, emoji=False)
        self._good, self._bad, self._spinner = _marks(self.console.encoding)

    @contextmanager
    def step(self, title: str) -> Iterator[Step]:
        start = time.monotonic()
        with self.console.status(_marked_up(title), spinner=self._spinner) as status:
            step = Step(title, status)
            try:
                with self._reminders(step, title):
                    yield step
            except BaseException:
                # Where nothing can be printed any more, what went wrong before is still to be told.
                with suppress(OSError):
                    self.console.print(f"[red]{self._bad}[/red] {_marked_up(title)}")
                raise
        seconds = time.monotonic() - start
        outcome = f": {step.outcome}" if step.outcome else ""
        mark = f"[green]{self._good}[/green]"
        if step.failed or step.unsure:
            mark = f"[red]{self._bad}[/red]" if step.failed else f"[yellow]{_UNSURE}[/yellow]"
        text = f"{mark} {_marked_up(title + outcome)} [dim]({seconds:.1f} s)[/dim]"
        self.console.print(text, soft_wrap=not self.console.is_terminal)

    @contextmanager
    def _reminders(self, step: Step, title: str) -> Iterator[None]:
        """Lines in a log while the step goes on. From a thread: it may be in one long call."""
        if self.console.is_terminal:
            yield
            return
        over = threading.Event()
        start = time.monotonic()

        def remind() -> None:
            while not over.wait(self._silence):
                busy = f": {step.text}" if step.text else ""
                try:
                    self.detail(f"{title}{busy} (since {time.monotonic() - start:.0f} s)")
                except OSError:
                    # The end of the step will say so.
                    return

        thread = threading.Thread(target=remind, name=REMINDER, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def heading(self, text: str) -> None:
        self.console.print(f"\n[bold]{_marked_up(text)}[/bold]")

    def line(self, text: str = "") -> None:
        """Plain text, whatever brackets it holds. On a terminal it is folded between words; in a
        log it stays one line."""
        shown = printable(text)
        if self.console.is_terminal:
            width = self.console.width
            shown = "\n".join(folded(each, width) for each in shown.split("\n"))
        self.console.print(shown, markup=False)

    def detail(self, text: str) -> None:
        self.line(f"    {text}")

    def command(self, text: str) -> None:
        """A command to be typed: a fold would be copied with it."""
        self.console.print(f"    {printable(text)}", markup=False)

    def table(
        self, columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[str] = ()
    ) -> None:
        """`numbers`: the columns that are aligned to the right. Where the terminal is too narrow,
        cells are folded between words as long as the longest words fit side by side; what has to
        stay whole, like a path, goes into lines of its own."""
        rows = [[printable(cell) for cell in row] for row in rows]
        table = Table(box=None, pad_edge=False, header_style="bold")
        cells = list(zip(columns, *rows, strict=True))
        widths = _widths(cells, self.console.width - _GAP * len(columns))
        for index, column in enumerate(columns):
            table.add_column(
                _marked_up(column),
                justify="right" if column in numbers else "left",
                overflow="fold",
                width=widths[index] if widths else None,
            )
        for row in rows:
            table.add_row(*map(Text, row))
        self.console.print(table)


def folded(line: str, width: int) -> str:
    """Lines of no more than so many characters, where words allow. The later ones are indented as
    far as the first one's text, or as the value behind its key."""
    begin = _KEY.match(line)
    indent = len(begin[0]) if begin else 0
    if len(line) <= width or indent * 2 > width:
        return line
    lines = textwrap.wrap(
        line[indent:], width - indent, break_long_words=False, break_on_hyphens=False
    )
    return line[:indent] + f"\n{' ' * indent}".join(lines)


def _marks(encoding: str) -> tuple[str, str, str]:
    """The signs before a step that went well and one that failed, and the name of rich's spinner,
    as an output of that encoding can show them."""
    try:
        "✓✗⠋".encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return "ok", "FAILED", "line"
    return "✓", "✗", "dots"


def _marked_up(text: str) -> str:
    """As a part of rich's markup, which it has none of itself."""
    return escape(printable(text))


def _widths(cells: Sequence[Sequence[str]], room: int) -> list[int] | None:
    """A width for each column that breaks no word; None where there is none, or all fit."""
    wanted = [max(map(len, column)) for column in cells]
    least = [max(len(word) for cell in column for word in cell.split() or [""]) for column in cells]
    if sum(wanted) <= room or sum(least) > room:
        return None
    widths = list(least)
    left = room - sum(least)
    # Those that need least to be whole come first.
    for index in sorted(range(len(cells)), key=lambda column: wanted[column] - least[column]):
        more = min(wanted[index] - least[index], left)
        widths[index] += more
        left -= more
    return widths
