# SPDX-License-Identifier: Apache-2.0
"""A user's own spec and own pytest, as docs/conformance.md shows them: in an empty folder outside
the repository, with the installed package. tests/build/test_wheel.py does the same with the wheel.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from halyard.errors import ProgramMissing
from halyard.programs import native

PAGE = Path(__file__).parents[3] / "docs" / "conformance.md"
SHOWN = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
SPEC, TEST = SHOWN


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    try:
        native.program(native.RUNNER)
    except ProgramMissing as missing:
        pytest.skip(str(missing))
    (tmp_path / "my_op.mod.py").write_text(SPEC)
    (tmp_path / "test_my_op.py").write_text(TEST)
    return tmp_path


def run(folder: Path, *words: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "PYTHONWARNINGS": ""},
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def run_pytest(folder: Path, *words: str) -> tuple[int, str]:
    # Hypothesis takes longer to load than all of this to run.
    plugins = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest")
    return run(folder, "-m", "pytest", *plugins, "-v", *words)


MAIN = ("-c", "from halyard.cli.program import main; main()")
CASES = [
    f"my_op{variation}{form}"
    for variation in ("", "_relaxed", "_float16")
    for form in ("", "_unspecified_outputs", "_all_inputs_as_internal")
]


def test_what_the_page_shows_is_short() -> None:
    assert all(len(shown.splitlines()) <= 20 for shown in SHOWN)


# ---- the command --------------------------------------------------------------------------------


def test_the_command_runs_a_spec(folder: Path) -> None:
    code, said = run(folder, *MAIN, "conformance", "my_op.mod.py")
    assert code == 0, said
    assert f"{len(CASES)} passed in" in said


def test_the_command_finds_a_wrong_spec_wrong(folder: Path) -> None:
    (folder / "my_op.mod.py").write_text(SPEC.replace("22.0]", "23.0]"))
    code, said = run(folder, *MAIN, "conformance", "my_op.mod.py", "-k", "not float16")
    assert code == 1
    assert "FAILED my_op: output 'y': 1 of 2 elements are off: [1] is 22.0, expected 23.0" in said


# ---- pytest -------------------------------------------------------------------------------------


def test_a_test_with_the_fixtures_runs_without_any_option(folder: Path) -> None:
    code, said = run_pytest(folder)
    assert code == 0, said
    assert "test_my_op.py::test_add PASSED" in said
    # A spec is no test file unless it is named.
    assert "1 passed" in said


def test_a_test_with_the_fixtures_can_fail(folder: Path) -> None:
    path = folder / "test_my_op.py"
    path.write_text(TEST.replace("[11, 12]", "[11, 13]"))
    assert run_pytest(folder)[0] == 1
    path.write_text(TEST.replace("OPERATION_TYPE_ADD", "OPERATION_TYPE_OEM_OPERATION"))
    code, said = run_pytest(folder, "--hal=1.3")
    assert code == 1
    assert "CaseFailed: unsupported: operation 0 (OEM_OPERATION)" in said


def test_the_items_of_a_spec_are_named_as_the_official_harness_does(folder: Path) -> None:
    for words in (["my_op.mod.py"], ["--device", "host", "--specs", "."]):
        code, said = run_pytest(folder, *words, "-k", "not test_add")
        assert code == 0, said
        found = re.findall(r"my_op\.mod\.py::(\S+) PASSED", said)
        assert found == CASES, words


def test_a_single_case_can_be_named(folder: Path) -> None:
    code, said = run_pytest(folder, "my_op.mod.py::my_op_float16")
    assert code == 0, said
    assert "my_op.mod.py::my_op_float16 PASSED" in said
    assert "1 passed" in said


def test_options_reach_the_cases(folder: Path) -> None:
    words = ["--specs=my_op.mod.py", "--hal=1.2..1.3", "--derived=none", "-k", "not float16"]
    code, said = run_pytest(folder, *words)
    assert code == 0, said
    found = re.findall(r"::(\S+) PASSED", said)
    assert found == [f"my_op{v}[{hal}]" for v in ("", "_relaxed") for hal in ("1.2", "1.3")]
    code, said = run_pytest(folder, "my_op.mod.py", "--backends=NoSuchBackend")
    assert code == pytest.ExitCode.USAGE_ERROR
    assert said == "ERROR: --backends: no 'NoSuchBackend', there are CpuRef, CpuAcc, GpuAcc\n\n"


@pytest.mark.parametrize("name", ["my_op.mod.py", "test_my_op.py"])
def test_a_device_that_is_not_there_is_told_in_a_line(folder: Path, name: str) -> None:
    code, said = run_pytest(folder, name, "--device=nosuch")
    assert code == 2
    [line] = [line for line in said.splitlines() if "is no device" in line]
    assert "host, vm, host-arm64, vm-arm64" in line
    assert "Traceback" not in said
    assert len(said.splitlines()) < 20


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--goldens=my_op.mod.py"], "my_op.mod.py is a spec: name it without --goldens"),
        (["--specs=test_my_op.py"], "a spec's name ends in .mod.py"),
        (["--hal=AIDL-5", "--device=vm", "my_op.mod.py"], "no HAL version 'AIDL-5'"),
    ],
)
def test_options_that_make_no_sense_are_told_in_a_line(
    folder: Path, words: list[str], message: str
) -> None:
    code, said = run_pytest(folder, *words)
    assert code == pytest.ExitCode.USAGE_ERROR
    assert message in said
    assert len(said.strip().splitlines()) == 1


def test_a_case_that_fails_tells_why_without_a_traceback(folder: Path) -> None:
    (folder / "my_op.mod.py").write_text(SPEC.replace("22.0]", "23.0]"))
    code, said = run_pytest(folder, "my_op.mod.py", "--derived=none")
    assert code == 1
    assert "failed: output 'y': 1 of 2 elements are off" in said
    assert "Traceback" not in said
    assert "3 failed" in said


def test_expected_failures_are_strict(folder: Path) -> None:
    (folder / "my_op.mod.py").write_text(SPEC.replace("22.0]", "23.0]"))
    device = folder / "device.yaml"
    device.write_text("kind: host\nexpected_failures:\n  my_op*: off by one\n")
    words = ["my_op.mod.py", "--derived=none", f"--device={device}"]
    code, said = run_pytest(folder, *words)
    assert code == 0, said
    assert "3 xfailed" in said
    (folder / "my_op.mod.py").write_text(SPEC)
    code, said = run_pytest(folder, *words)
    assert code == 1
    assert "xpassed: it passes, and was expected to fail: off by one" in said


def test_a_wrong_option_ends_the_session(folder: Path) -> None:
    for words, message in (
        (["my_op.mod.py", "--hal=1.9"], "--hal 1.9"),
        (["my_op.mod.py", "--device=no:device:x"], "is no device"),
        (["--specs=/no/such/folder"], "is not there"),
    ):
        code, said = run_pytest(folder, *words)
        assert code == 4, said
        assert message in said
        assert "Traceback" not in said


# ---- those who do not use it --------------------------------------------------------------------


STRANGER = """
import sys

def test_nothing_of_the_harness_is_loaded(pytestconfig):
    loaded = [name for name in sys.modules if name.startswith(("halyard", "numpy", "google"))]
    assert set(loaded) <= {"halyard", "halyard.pytest_plugin"}
    assert pytestconfig.getoption("--device") == "cuda"
"""


def test_a_project_keeps_its_own_options_and_pays_nothing(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()
    (folder / "test_stranger.py").write_text(STRANGER)
    (folder / "conftest.py").write_text(
        "def pytest_addoption(parser):\n"
        "    parser.addoption('--device')\n"
        "    parser.getgroup('theirs').addoption('--hal', default='theirs')\n"
    )
    code, said = run_pytest(folder, "--device=cuda", ".")
    assert code == 0, said
    assert "1 passed" in said
    _, said = run_pytest(folder, "--help")
    assert "--halyard-device" in said
    assert "--halyard-goldens" in said
