# SPDX-License-Identifier: Apache-2.0
"""Tests wait for what is to come, and not for a while (tests/waiting.py)."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.waiting import awaited, comes_true

TESTS = Path(__file__).parents[1]

# Where a test sleeps for a time that is what it is about: in which unit, how often, and why.
SLEEPS: Mapping[str, tuple[int, str]] = {
    "device/attacking.py": (1, "an attack says nothing when it has begun"),
    "device/footprint.py": (1, "the interval of a rate: processor time in two seconds"),
    "device/test_attacks_on_daemons.py": (1, "the interval of samples of adbd's memory"),
    "device/test_attacks_on_turns.py": (1, "how long an attack takes hold of all it can get"),
    "device/test_manager_attacks.py": (1, "how long two fight for a name"),
    "harness/conformance/test_fleet.py": (1, "a slow device"),
    "harness/devices/test_adb_link.py": (1, "a slow reader, which lets a sender's buffer fill"),
    "harness/engines/test_native_runner.py": (1, "the interval of samples of a runner's children"),
    "harness/fake_engine.py": (1, "an engine that does not answer"),
    "soak/soak.py": (3, "how long a load goes on, and the interval in which nothing changes"),
}


def sleeps(text: str) -> int:
    """Calls of time.sleep(), under whatever name it was imported."""
    names = {"time.sleep"}
    calls = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {f"{each.asname}.sleep" for each in node.names if each.name == "time"}
        elif isinstance(node, ast.ImportFrom) and node.module == "time":
            names |= {each.asname or each.name for each in node.names if each.name == "sleep"}
        elif isinstance(node, ast.Call):
            calls.append(ast.unparse(node.func))
    return sum(call in names for call in calls)


def units() -> Iterator[tuple[str, str]]:
    for path in sorted(TESTS.rglob("*.py")):
        if path != TESTS / "waiting.py":
            yield str(path.relative_to(TESTS)), path.read_text()


def test_only_what_is_about_a_time_sleeps() -> None:
    found = {unit: count for unit, text in units() if (count := sleeps(text))}
    assert found == {unit: count for unit, (count, _) in SLEEPS.items()}


@pytest.mark.parametrize(
    "text",
    [
        "import time\ntime.sleep(1)",
        "import time as t\nt.sleep(1)",
        "from time import sleep\nsleep(1)",
        "from time import sleep as wait\nwait(1)",
    ],
)
def test_finds_a_sleep_by_any_name(text: str) -> None:
    assert sleeps(text) == 1
    assert sleeps(f"text = {text!r}") == 0


def test_waits_until_something_is_true_and_gives_it() -> None:
    looks = iter([0, "", None, 7, 8])
    assert awaited(lambda: next(looks), "no number", every=0) == 7


def test_gives_up_and_says_what_did_not_come() -> None:
    looks = []
    with pytest.raises(pytest.fail.Exception, match="not within 0 s: after 1 look"):
        awaited(lambda: looks.append(1), lambda: f"after {len(looks)} look", seconds=0)


def test_gives_what_is_so_in_the_end() -> None:
    assert comes_true(lambda: 0, seconds=0) == 0
