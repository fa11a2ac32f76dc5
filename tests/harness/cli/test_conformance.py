# SPDX-License-Identifier: Apache-2.0
"""`halyard conformance`, with the driver in-process."""

import json
import os
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from halyard.cli import program
from halyard.conformance.outcome import Status
from tests.harness.cases.test_golden_cases import ACTIVATION, addition, encode, operand, quantized
from tests.harness.cases.test_golden_suite import WRONG, multiplication, write

Invoke = Callable[..., Result]


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    runner = CliRunner()
    return lambda *words: runner.invoke(program.cli, ["conformance", *map(str, words)])


def unsupported() -> dict[str, Any]:
    case = addition(name="oem", droppedVariants=[])
    case["main"]["operations"][0]["type"] = "OEM_OPERATION"
    return case


def quantized_addition() -> dict[str, Any]:
    """One of its two results is a step off, which is allowed."""
    return addition(
        [
            quantized("a", "SUBGRAPH_INPUT", [2, 4], 0),
            quantized("b", "CONSTANT_COPY", [10, 20], 0),
            ACTIVATION,
            quantized("sum", "SUBGRAPH_OUTPUT", [12, 25], 0),
        ],
        name="quantized",
        tolerance={"TENSOR_QUANT8_ASYMM": {"atol": 1, "rtol": 0}},
    )


def endless() -> dict[str, Any]:
    """WHILE without an end, which the driver gives up after two seconds."""
    flag = operand("flag", "SUBGRAPH_OUTPUT", None, type="TENSOR_BOOL8", dimensions=[1])
    true = operand("true", "CONSTANT_COPY", encode([1], "u1"), type="TENSOR_BOOL8", dimensions=[1])
    case = addition(name="endless", halVersion="V1_3", droppedVariants=[])
    subgraph = {"type": "SUBGRAPH", "dimensions": []}
    case["main"] = {
        "operands": [
            operand("cond", "SUBGRAPH", encode([0], "<u4"), **subgraph),
            operand("body", "SUBGRAPH", encode([1], "<u4"), **subgraph),
            operand("a", "SUBGRAPH_INPUT", encode([1, 2])),
            operand("sum", "SUBGRAPH_OUTPUT", encode([1, 2])),
        ],
        "operations": [{"type": "WHILE", "inputs": [0, 1, 2], "outputs": [3]}],
        "inputIndexes": [2],
        "outputIndexes": [3],
    }
    case["referenced"] = [
        {
            "name": "cond",
            "operands": [operand("x", "SUBGRAPH_INPUT", None), true, flag],
            "operations": [{"type": "LOGICAL_OR", "inputs": [1, 1], "outputs": [2]}],
            "inputIndexes": [0],
            "outputIndexes": [2],
        },
        {
            "name": "body",
            "operands": [
                operand("x", "SUBGRAPH_INPUT", None),
                ACTIVATION,
                operand("y", "SUBGRAPH_OUTPUT", None),
            ],
            "operations": [{"type": "ADD", "inputs": [0, 0, 1], "outputs": [2]}],
            "inputIndexes": [0],
            "outputIndexes": [2],
        },
    ]
    return case


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two cases that pass, one that fails, one that the driver does not support."""
    (tmp_path / "goldens").mkdir()
    return write(
        tmp_path / "goldens",
        {
            "add": [addition(), addition(WRONG, name="wrong"), quantized_addition()],
            "oem": [unsupported()],
        },
    )


# HIDL has the operations of OEMs, which a driver need not support; AIDL does not.
PLAIN = ("--derived", "none", "--hal", "1.3")


def counts(content: dict[str, Any]) -> dict[str, int]:
    return {status.value: content[status.value] for status in Status if content[status.value]}


# ---- what comes out -----------------------------------------------------------------------------


def test_reports_say_what_each_case_came_to(invoke: Invoke, folder: Path, tmp_path: Path) -> None:
    files = ("--json", tmp_path / "report.json", "--junit", tmp_path / "report.xml")
    result = invoke("--goldens", folder, *PLAIN, *files)
    assert result.exit_code == 1, result.output
    content = json.loads((tmp_path / "report.json").read_text())
    assert counts(content) == {"passed": 2, "failed": 1, "unsupported": 1}
    assert content["crashed"] == 0
    assert (content["planned"], content["device"], content["target"]) == (4, "host", "in-process")
    cases = {case["name"]: case for case in content["cases"]}
    passed = cases["add"]
    assert (passed["status"], passed["stage"], passed["message"]) == ("passed", "", "")
    assert (passed["max_error"], passed["max_steps"]) == (0, None)
    assert (passed["operations"], passed["hal"]) == (["ADD"], "1.3")
    assert "FLOAT32" in passed["types"]
    assert 0 < passed["seconds"] < 60
    wrong = cases["wrong"]
    assert (wrong["status"], wrong["stage"], wrong["max_error"]) == ("failed", "compare", 89)
    assert "[0] is 11.0, expected 100.0" in wrong["message"]
    assert (cases["quantized"]["max_steps"], cases["quantized"]["max_error"]) == (1, None)
    oem = cases["oem"]
    assert (oem["status"], oem["stage"]) == ("unsupported", "support")
    assert "operation 0 (OEM_OPERATION) is not supported" in oem["message"]
    suite = ET.parse(tmp_path / "report.xml").getroot()[0]
    figures = [suite.attrib[name] for name in ("tests", "failures", "errors", "skipped")]
    assert figures == ["4", "1", "0", "1"]
    kinds = {test.attrib["name"]: [child.tag for child in test] for test in suite}
    assert kinds == {"add": [], "wrong": ["failure"], "quantized": [], "oem": ["skipped"]}


def test_the_end_is_a_table_and_what_failed(invoke: Invoke, folder: Path) -> None:
    said = invoke("--goldens", folder, *PLAIN).output
    rows = [" ".join(line.split()) for line in said.splitlines()]
    assert "ADD 2 1 0 FLOAT32 1 of 2, QUANT8_ASYMM 1" in rows
    assert "OEM_OPERATION 0 0 1 FLOAT32 0 of 1" in rows
    assert "FAILED wrong: output 'sum': 1 of 2 elements are off" in said
    assert "2 passed, 1 failed, 1 unsupported in" in said


def test_exit_code_0_only_when_nothing_failed(invoke: Invoke, folder: Path) -> None:
    for expression, code in (("not wrong", 0), ("wrong", 1), ("oem", 0)):
        result = invoke("--goldens", folder, *PLAIN, "-k", expression)
        assert result.exit_code == code, result.output


def test_derived_cases_are_left_out_on_request(invoke: Invoke, folder: Path) -> None:
    write(folder, {"add": [addition()]})
    assert "1 passed in" in invoke("--goldens", folder, *PLAIN).output
    # With its outputs' dimensions left open, and with its input computed inside the model.
    assert "3 passed in" in invoke("--goldens", folder).output


def test_operations_types_and_versions_select(invoke: Invoke, folder: Path, tmp_path: Path) -> None:
    write(folder, {"add": [addition(), quantized_addition()], "mul": [multiplication()]})
    for words, names in (
        (["--operations", "MUL"], ["mul"]),
        (["--types", "QUANT8_ASYMM"], ["quantized"]),
        (["-k", "mul", "--hal", "1.1..1.2"], ["mul[1.1]", "mul[1.2]"]),
    ):
        result = invoke("--goldens", folder, *PLAIN, *words, "--json", tmp_path / "json")
        assert result.exit_code == 0, result.output
        content = json.loads((tmp_path / "json").read_text())
        assert [case["name"] for case in content["cases"]] == names
    assert {case["hal"] for case in content["cases"]} == {"1.1", "1.2"}


def test_cases_that_no_version_can_carry_are_told(invoke: Invoke, folder: Path) -> None:
    write(folder, {"add": [addition(), addition(name="late", halVersion="V1_2")]})
    said = invoke("--goldens", folder, *PLAIN, "--hal", "1.0").output
    assert "1 passed" in said
    assert "1 case needs another HAL version" in said


def test_backends_reach_the_driver(invoke: Invoke, folder: Path) -> None:
    words = ("--goldens", folder, *PLAIN, "-k", "add")
    assert invoke(*words, "--backends", "CpuRef").exit_code == 0
    refused = invoke(*words, "--backends", "NoSuchBackend")
    assert refused.exit_code == 2
    assert "no 'NoSuchBackend', there are CpuRef, CpuAcc" in refused.output


# ---- hangs, interruptions -----------------------------------------------------------------------


def test_a_hang_fails_its_case_alone(invoke: Invoke, folder: Path, tmp_path: Path) -> None:
    write(folder, {"add": [addition()], "hang": [endless()], "mul": [multiplication()]})
    json_path = tmp_path / "json"
    result = invoke("--goldens", folder, *PLAIN, "--timeout", "0.5", "--json", json_path)
    assert result.exit_code == 1, result.output
    content = json.loads(json_path.read_text())
    assert counts(content) == {"passed": 2, "crashed": 1}
    [hung] = [case for case in content["cases"] if case["status"] == "crashed"]
    assert (hung["name"], hung["stage"]) == ("endless", "hang")
    assert "CRASHED endless: hang" in result.output


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interruption_leaves_the_results_so_far(
    folder: Path, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    # The first one's failure is the sign that cases run; so many more follow that the interruption
    # comes in time on a slow machine.
    hangs = [{**endless(), "name": f"endless_{i}"} for i in range(20)]
    write(folder, {"add": [addition()], "hang": hangs, "mul": [multiplication()]})
    # A shell starts what it has in the background with SIGINT ignored, and that is inherited.
    program = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from halyard.cli.program import main; main()"
    )
    command = [sys.executable, "-c", program, "conformance"]
    command += ["--goldens", str(folder), *PLAIN, "--jobs", "1", "--json", str(tmp_path / "json")]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
    ) as harness:
        assert harness.stdout is not None
        said = ""
        for line in harness.stdout:
            said += line
            if "endless_0" in line:
                break
        harness.send_signal(number)
        said += harness.stdout.read()
        assert harness.wait(timeout=60) == code, said
    content = json.loads((tmp_path / "json").read_text())
    done = [case["name"] for case in content["cases"]]
    assert done[:2] == ["add", "endless_0"]
    assert "mul" not in done
    assert content["ended_early"] == "interrupted"
    assert f"{22 - len(done)} of 22 cases did not run: interrupted" in said


# ---- what is expected, what failed last time ----------------------------------------------------


def device_file(folder: Path, failures: str) -> Path:
    path = folder / "device.yaml"
    path.write_text(f"kind: host\nexpected_failures:\n{failures}\n")
    return path


def test_expected_failures_are_strict(invoke: Invoke, folder: Path, tmp_path: Path) -> None:
    words = ("--goldens", folder, *PLAIN, "--json", tmp_path / "json", "--device")
    good = invoke(*words, device_file(tmp_path, "  wro*: one is far off"))
    assert good.exit_code == 0, good.output
    content = json.loads((tmp_path / "json").read_text())
    assert counts(content) == {"passed": 2, "unsupported": 1, "xfailed": 1}
    bad = invoke(*words, device_file(tmp_path, "  '*': nothing works"))
    assert bad.exit_code == 1
    content = json.loads((tmp_path / "json").read_text())
    assert counts(content) == {"unsupported": 1, "xfailed": 1, "xpassed": 2}
    assert "XPASSED add: it passes, and was expected to fail: nothing works" in bad.output


def test_what_failed_last_time_can_be_run_again(
    invoke: Invoke, folder: Path, tmp_path: Path
) -> None:
    words = ("--goldens", folder, *PLAIN, "--json", tmp_path / "json", "--last-failed")

    def names() -> list[str]:
        return [case["name"] for case in json.loads((tmp_path / "json").read_text())["cases"]]

    first = invoke(*words)
    assert "running all" in first.output
    assert len(names()) == 4
    assert invoke(*words).exit_code == 1
    assert names() == ["wrong"]
    write(folder, {"add": [addition(), addition(name="wrong")]})
    assert invoke(*words).exit_code == 0
    assert names() == ["wrong"]
    assert "running all" in invoke(*words).output


# ---- wrong command lines ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name cases"),
        (["--goldens", "/no/such/folder"], "does not exist"),
        (["{goldens}", "--hal", "1.9"], "1.9"),
        (["{goldens}", "-k", "and"], "a word is missing"),
        (["{goldens}", "-k", "nothing_of_that_name"], "no case is left"),
        (["{goldens}", "--backends", "CpuRef,"], "empty name"),
        (["{goldens}", "--operations", "CONV2D"], "no 'CONV2D'; there are CONV_2D, "),
        (["{goldens}", "--types", "QUANT8"], "no 'QUANT8'; there are FLOAT32, "),
        (["{goldens}", "--instance", "mine"], "needs a service"),
        (["{goldens}", "--device", "vm", "--instance", "x", "--backends", "CpuRef"], "not --inst"),
        (["{goldens}", "--device", "nosuch"], "'nosuch' is no device"),
        (["{goldens}", "--device", "no:device:x"], "is no device"),
        (["{goldens}", "--json", "/no/such/folder/report.json"], "is not a folder"),
        (["{goldens}", "--junit", "/proc/report.xml"], "/proc/report.xml"),
    ],
)
def test_a_wrong_command_line_exits_with_2(
    invoke: Invoke, folder: Path, words: list[str], message: str
) -> None:
    given = [word for each in words for word in (("--goldens", folder) if "{" in each else (each,))]
    result = invoke(*given)
    assert result.exit_code == 2, result.output
    assert message in " ".join(result.output.split())
    assert "Reading" not in result.output or "-k" in words


def test_a_report_that_was_there_stays_until_the_end(
    invoke: Invoke, folder: Path, tmp_path: Path
) -> None:
    report = tmp_path / "report.json"
    report.write_text("before")
    assert invoke("--goldens", folder, "--hal", "1.9", "--json", report).exit_code == 2
    assert report.read_text() == "before"
    other = tmp_path / "other.json"
    assert invoke("--goldens", folder, "--hal", "1.9", "--json", other).exit_code == 2
    assert not other.exists()


SPEC = """
x = Input("x", ("TENSOR_FLOAT32", [2]))
y = Output("y", ("TENSOR_FLOAT32", [2]))
model = Model().Operation("RELU", x).To(y)
Example({x: [1.0, -2.0], y: [1.0, 0.0]})
"""


def test_a_spec_that_can_not_be_read_is_told_and_the_others_run(
    invoke: Invoke, tmp_path: Path
) -> None:
    specs = tmp_path / "specs"
    specs.mkdir()
    (specs / "a.mod.py").write_text("this is no spec")
    (specs / "b.mod.py").write_text(SPEC)
    (specs / "c.mod.py").write_text("x = 1 / 0")
    reports = ("--json", tmp_path / "json", "--junit", tmp_path / "xml")
    result = invoke("--specs", specs, *PLAIN, *reports)
    assert result.exit_code == 1
    assert "1 passed in" in result.output
    content = json.loads((tmp_path / "json").read_text())
    assert [Path(each.partition(":")[0]).name for each in content["unreadable"]] == [
        "a.mod.py",
        "c.mod.py",
    ]
    suite = ET.parse(tmp_path / "xml").getroot()[0]
    assert (suite.attrib["tests"], suite.attrib["errors"]) == ("3", "2")


def test_golden_data_and_specs_are_not_taken_for_each_other(invoke: Invoke, folder: Path) -> None:
    spec = folder / "add.mod.py"
    for words, message in (
        (["--specs", folder], "name it as --goldens"),
        (["--specs", folder / "index.json"], "golden data is named by --goldens"),
    ):
        result = invoke(*words)
        assert (result.exit_code, message in " ".join(result.output.split())) == (2, True)
    spec.write_text(SPEC)
    (folder / "index.json").unlink()
    for words, message in (
        (["--goldens", spec], "is a spec: name it without --goldens"),
        (["--goldens", folder], "specs lie there, which are named by --specs"),
    ):
        result = invoke(*words)
        assert (result.exit_code, message in " ".join(result.output.split())) == (2, True)


def test_a_folder_of_golden_data_that_another_lists_is_told(invoke: Invoke, folder: Path) -> None:
    inner = folder / "V1_0"
    inner.mkdir()
    result = invoke("--goldens", inner)
    assert result.exit_code == 2
    said = " ".join(result.output.split())
    assert f"(index.json) lies there, but in {folder}: --goldens {folder} takes all" in said


def test_golden_data_that_is_none_is_told(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "index.json").write_text("[]")
    result = invoke("--goldens", tmp_path)
    assert result.exit_code == 1
    assert "index.json" in result.output
