# SPDX-License-Identifier: Apache-2.0
"""The commands' output, as a terminal of some width shows it."""

import io
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import pytest
from rich.console import Console

from halyard.terminal.console import REMINDER, Step, Terminal, gauge, time_left_text
from halyard.terminal.progress import Progress
from tests.waiting import awaited


def terminal(width: int) -> tuple[Terminal, io.StringIO]:
    shown = io.StringIO()
    return Terminal(Console(file=shown, width=width, highlight=False)), shown


COLUMNS = ["operation", "from HAL", "types of its first input"]
ROWS = [
    ["UNIDIRECTIONAL_SEQUENCE_LSTM", "1.2", "FLOAT16 1.2, FLOAT32 1.2, QUANT8_ASYMM_SIGNED 1.3"],
    ["ADD", "1.0", "FLOAT32 1.0, QUANT8_ASYMM 1.0, FLOAT16 1.2, INT32 1.3, TENSOR_BOOL8 1.3"],
]


@pytest.mark.parametrize("width", [62, 80, 100])
def test_a_table_breaks_between_words(width: int) -> None:
    to, shown = terminal(width)
    to.table(COLUMNS, ROWS)
    text = shown.getvalue()
    assert max(map(len, text.splitlines())) <= width
    words = {word for row in (COLUMNS, *ROWS) for cell in row for word in cell.split()}
    assert words == set(text.split())


def test_a_table_that_fits_in_no_way_loses_nothing() -> None:
    to, shown = terminal(30)
    to.table(COLUMNS, ROWS)
    found = sorted(shown.getvalue().replace("\n", "").replace(" ", ""))
    whole = sorted("".join("".join(row) for row in (COLUMNS, *ROWS)).replace(" ", ""))
    assert found == whole


def test_a_step_that_failed_has_no_tick() -> None:
    to, shown = terminal(80)
    with to.step("One") as step:
        step.outcome = "done"
    with to.step("Two") as step:
        step.failed = True
    with pytest.raises(ZeroDivisionError), to.step("Three"):
        raise ZeroDivisionError
    lines = [line for line in shown.getvalue().splitlines() if line[:1] in "✓✗"]
    assert [line[:5] for line in lines] == ["✓ One", "✗ Two", "✗ Thr"]


def test_a_long_step_says_in_a_log_what_it_is_busy_with() -> None:
    console = Console(file=io.StringIO(), width=200)
    assert isinstance(console.file, io.StringIO)
    with Terminal(console, silence=0.01).step("Counting") as step:
        step.now("to three [3]")
        awaited(
            lambda: "Counting: to three [3] (since" in console.file.getvalue(),
            console.file.getvalue,
            seconds=20,
        )
    names = {thread.name for thread in threading.enumerate()}
    assert REMINDER not in names, "nothing speaks once it is over"


# ---- lines --------------------------------------------------------------------------------------


def on_a_screen(width: int, *, encoding: str = "utf-8") -> tuple[Terminal, Callable[[], str]]:
    file = io.TextIOWrapper(io.BytesIO(), encoding)
    console = Console(file=file, width=width, highlight=False, force_terminal=True, soft_wrap=True)

    def text() -> str:
        file.flush()
        return file.buffer.getvalue().decode(encoding)  # type: ignore[attr-defined]

    return Terminal(console), text


LONG = "    time       median 0.14 ms (min 0.11, max 0.21), of which in the driver 0.13 ms"


def test_a_line_is_folded_between_words_below_its_value() -> None:
    to, shown = on_a_screen(50)
    to.line(LONG)
    lines = shown().splitlines()
    assert len(lines) == 3
    assert max(map(len, lines)) <= 50
    assert lines[1].startswith(" " * len("    time       ") + "0.21), of which")
    assert " ".join(" ".join(lines).split()) == " ".join(LONG.split())


def test_a_line_of_a_log_and_a_command_are_whole() -> None:
    shown = io.StringIO()
    Terminal(Console(file=shown, width=50, soft_wrap=True)).line(LONG)
    assert shown.getvalue() == LONG + "\n"
    to, text = on_a_screen(50)
    to.command(f"adb shell {'x ' * 40}end")
    assert text().splitlines() == [f"    adb shell {'x ' * 40}end"]


def test_the_end_of_a_long_step_is_folded_too() -> None:
    to, shown = on_a_screen(40)
    with to.step("Comparing one") as step:
        step.outcome = "which is told at greater length than fits"
    text = shown().rpartition("\x1b[2K")[2]
    assert max(map(len, re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text).splitlines())) <= 40


# ---- bars ---------------------------------------------------------------------------------------


def drawn(title: str, done: int, total: int, seconds: float, width: int = 100) -> str:
    shown = io.StringIO()
    Console(file=shown, width=width).print(gauge(title, done, total, seconds, width))
    return shown.getvalue().rstrip("\n")


def test_a_bar_has_the_share_and_the_time_that_is_left() -> None:
    text = drawn("Pushing", 25, 100, 10.0)
    assert "Pushing" in text
    assert "25%" in text
    assert "about 30 s left" in text
    assert text.count("━") + text.count("╸") > 5
    assert "left" not in drawn("Pushing", 0, 100, 10.0)
    assert "left" not in drawn("Pushing", 25, 100, 0.1), "a guess of one moment"
    assert "100%" in drawn("Pushing", 0, 0, 0.0)


def test_a_bar_is_one_line_however_long_its_title_is() -> None:
    [line] = drawn("Pushing " + "x" * 200, 1, 2, 5.0, width=80).splitlines()
    assert len(line) <= 80
    assert "50%" in line


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(3, "about 3 s left"), (5700, "about 95 min left"), (18000, "about 5.0 h left")],
)
def test_time_that_is_left_is_rounded(seconds: float, text: str) -> None:
    assert time_left_text(seconds) == text


def test_a_transfer_is_a_bar_on_a_screen_and_a_line_in_a_log() -> None:
    def moving(step: Step) -> None:
        step.transfer(2**20, 4 * 2**20)
        step.part(1, 2, "model.pb")

    for to, shown in (on_a_screen(100), (terminal(100)[0], lambda: "")):
        with to.step("Pushing") as step:
            moving(step)
            to.console.print()
        assert step.text == "2 of 2 files, model.pb"
        if shown():
            assert "50%" in shown()
            assert "2 of 2 files, model.pb" in shown()


def test_what_is_left_goes_by_the_pace_since_nothing_was_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter([0.0, 0.0, 50.0, 50.0, 60.0, 60.0])
    monkeypatch.setattr("halyard.terminal.console.time.monotonic", lambda: next(clock, 60.0))
    told: list[float] = []
    monkeypatch.setattr(
        "halyard.terminal.console.gauge", lambda *words: told.append(words[3]) or gauge(*words)
    )
    to, _ = on_a_screen(100)
    with to.step("Timing") as step:
        step.share(0, 4, "round 1 of 4")
        step.share(1, 4, "round 2 of 4")
    assert told == [0.0, 10.0]


class Judgement(StrEnum):
    PASSED = "passed"

    @property
    def is_good(self) -> bool:
        return True


@dataclass(frozen=True)
class Judged:
    name: str
    message: str = ""
    status: Judgement = Judgement.PASSED


def test_a_run_of_tests_has_a_bar_on_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("halyard.terminal.progress._TERMINAL_PACE", 0)
    to, shown = on_a_screen(60)
    progress = Progress(to, 4, Judgement)
    with progress.shown():
        for number in range(3):
            progress.add(Judged(f"case {number} {'x' * 80}"))
        to.console.print()
    assert "3 of 4" in shown()
    assert "75%" in shown()
    assert "3 passed" in shown()


def test_a_run_of_tests_has_plain_lines_in_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("halyard.terminal.progress._LOG_PACE", 0)
    to, shown = terminal(200)
    progress = Progress(to, 4, Judgement)
    with progress.shown():
        progress.add(Judged("first"))
    assert re.fullmatch(r"1 of 4: 1 passed; \d+/s; about 0 s left; first\n", shown.getvalue()), (
        shown.getvalue()
    )
