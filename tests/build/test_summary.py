# SPDX-License-Identifier: Apache-2.0
"""The summary at the end of `make test`: it fails where a test failed, or none ran."""

import subprocess
import sys
from pathlib import Path

import pytest

from halyard import golden_folder
from tests.summary import NO_GOLDENS

SUMMARY = Path(__file__).parents[1] / "summary.py"
PHASE = Path(__file__).parents[1] / "phase.sh"

PASSED = '<testcase classname="tests.harness.test_x" name="a"/>'
FAILED = '<testcase classname="tests.harness.test_x" name="b"><failure/></testcase>'
BROKEN = '<testcase classname="tests.device.test_y" name="c"><error/></testcase>'
SKIPPED = '<testcase classname="t" name="d"><skipped message="no LiteRT"/></testcase>'


def summary(folder: Path, *options: str | Path) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, SUMMARY, *options, folder], capture_output=True, text=True
    )
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()[-1] if done.stdout else ""


def lines(folder: Path, *options: str | Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, SUMMARY, *options, folder], capture_output=True, text=True
    )
    return done.stdout.splitlines()


def write(path: Path, *cases: str) -> None:
    path.write_text(f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>")


@pytest.mark.parametrize(
    ("cases", "code", "line"),
    [
        ([PASSED], 0, "1 passed, 0 failed, 0 skipped"),
        ([PASSED, SKIPPED], 0, "1 passed, 0 failed, 1 skipped"),
        ([PASSED, FAILED], 1, "1 passed, 1 failed, 0 skipped"),
        ([PASSED, BROKEN], 1, "1 passed, 1 failed, 0 skipped"),
        ([SKIPPED], 1, "0 passed, 0 failed, 1 skipped"),
        ([], 1, "0 passed, 0 failed, 0 skipped"),
    ],
)
def test_a_failure_or_nothing_at_all_fails(
    tmp_path: Path, cases: list[str], code: int, line: str
) -> None:
    write(tmp_path / "python.xml", *cases)
    assert summary(tmp_path) == (code, line)


def test_it_ends_with_one_line_of_what_was_not_run_for_want_of_golden_cases(
    tmp_path: Path,
) -> None:
    skipped = '<testcase classname="{}"><skipped message="{}"/></testcase>'
    why = "no golden cases: `make goldens` makes them"
    places = ("tests.harness.test_x", "tests.device.test_y", "tests.arm64.test_z")
    write(tmp_path / "python.xml", PASSED, SKIPPED, *(skipped.format(each, why) for each in places))
    shown = lines(tmp_path)
    assert shown[-2:] == [
        f"NOT RUN: 3 tests of the official cases; {why}",
        "1 passed, 0 failed, 4 skipped",
    ]
    assert sum("golden" in line for line in shown) == 1
    assert "    1 skipped: no LiteRT" in shown


def test_nothing_is_said_of_golden_cases_where_there_are_some(tmp_path: Path) -> None:
    write(tmp_path / "python.xml", PASSED, SKIPPED)
    assert not any("golden" in line or "NOT RUN" in line for line in lines(tmp_path))


def test_it_knows_the_reason_that_tests_of_golden_cases_give(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(golden_folder.VARIABLE, str(tmp_path))
    assert golden_folder.absent().startswith(NO_GOLDENS)


def test_a_folder_without_results_fails(tmp_path: Path) -> None:
    assert summary(tmp_path)[0] == 1


def test_a_program_that_died_fails_though_none_of_its_tests_did(tmp_path: Path) -> None:
    write(tmp_path / "engine_tests.xml", PASSED)
    write(tmp_path / "programs.xml", '<testcase name="engine_tests" status="run"/>')
    assert summary(tmp_path) == (0, "1 passed, 0 failed, 0 skipped")
    write(tmp_path / "programs.xml", '<testcase name="engine_tests" status="fail"/>')
    assert summary(tmp_path) == (1, "1 passed, 1 failed, 0 skipped")


def test_a_failure_counts_once_where_program_and_test_tell_it(tmp_path: Path) -> None:
    write(tmp_path / "engine_tests.xml", PASSED, FAILED)
    write(tmp_path / "programs.xml", '<testcase name="engine_tests" status="fail"/>')
    assert summary(tmp_path) == (1, "1 passed, 1 failed, 0 skipped")


def test_it_says_how_long_the_tests_of_each_place_took(tmp_path: Path) -> None:
    for name, seconds in (("a", "1.25"), ("b", "2.5")):
        timed = f'<testcase classname="tests.device.test_y" name="{name}" time="{seconds}"/>'
        write(tmp_path / f"{name}.xml", timed)
    assert lines(tmp_path)[0].endswith("kernel binder): 2 passed, 0 failed, 0 skipped, 4 s")


def test_phases_are_those_of_this_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "python.xml", PASSED)
    phases = tmp_path / "phases.tsv"
    monkeypatch.setenv("HALYARD_MAKE", "earlier")
    run_phase(tmp_path, "building", "false")
    monkeypatch.setenv("HALYARD_MAKE", "now")
    run_phase(tmp_path, "building", "sleep", "1")
    assert run_phase(tmp_path, "testing", "sh", "-c", "exit 3").returncode == 3
    shown = lines(tmp_path, "--phases", phases)
    assert [line.split(" s  ")[1] for line in shown[:3]] == ["building", "testing", "in all"]
    assert int(shown[0].split()[0]) in (1, 2)


def test_a_phase_that_ran_beside_others_is_shown_and_not_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "python.xml", PASSED)
    monkeypatch.setenv("HALYARD_MAKE", "now")
    monkeypatch.setenv("HALYARD_BESIDE", "1")
    run_phase(tmp_path, "compiling", "sleep", "1")
    shown = lines(tmp_path, "--phases", tmp_path / "phases.tsv")
    assert shown[0].endswith(" s  compiling (beside others)")
    assert shown[1] == "    0 s  in all"


def test_a_run_without_phases_has_none(tmp_path: Path) -> None:
    write(tmp_path / "python.xml", PASSED)
    assert lines(tmp_path, "--phases", tmp_path / "phases.tsv")[0] == "    0 s  in all"


def run_phase(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    (folder / "build").mkdir(exist_ok=True)
    done = subprocess.run([PHASE, *words], cwd=folder, capture_output=True, text=True)
    (folder / "phases.tsv").write_bytes((folder / "build" / "phases.tsv").read_bytes())
    return done


def test_all_recipes_of_one_make_are_of_one_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HALYARD_MAKE", raising=False)
    recipes = tmp_path / "recipes"
    recipe = "\t@sleep 0.01; echo $$HALYARD_MAKE\n"
    recipes.write_text(f"include Makefile\ncalls: before\n{recipe}before:\n{recipe}")
    done = subprocess.run(
        ["make", "--silent", "-f", recipes, "calls"],
        cwd=SUMMARY.parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    first, second = done.stdout.split()
    assert first == second
