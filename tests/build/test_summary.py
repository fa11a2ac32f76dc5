# SPDX-License-Identifier: Apache-2.0
"""The summary at the end of `make test`: it fails where a test failed, or none ran."""

import subprocess
import sys
from pathlib import Path

import pytest

SUMMARY = Path(__file__).parents[1] / "summary.py"

PASSED = '<testcase classname="tests.harness.test_x" name="a"/>'
FAILED = '<testcase classname="tests.harness.test_x" name="b"><failure/></testcase>'
BROKEN = '<testcase classname="tests.device.test_y" name="c"><error/></testcase>'
SKIPPED = '<testcase classname="t" name="d"><skipped message="no LiteRT"/></testcase>'


def summary(folder: Path) -> tuple[int, str]:
    done = subprocess.run([sys.executable, SUMMARY, folder], capture_output=True, text=True)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()[-1] if done.stdout else ""


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
