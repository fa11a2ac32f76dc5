# SPDX-License-Identifier: Apache-2.0
"""What commands print, as a terminal of some width shows it."""

import io
import time

import pytest
from rich.console import Console

from halyard.terminal import Terminal


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
    until = time.monotonic() + 20
    with Terminal(console, silence=0.01).step("Counting") as step:
        step.now("to three [3]")
        while "Counting: to three [3] (since" not in console.file.getvalue():
            assert time.monotonic() < until, console.file.getvalue()
            time.sleep(0.01)
    printed = console.file.getvalue()
    time.sleep(0.05)
    assert console.file.getvalue() == printed, "nothing once it is over"
