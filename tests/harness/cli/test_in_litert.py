# SPDX-License-Identifier: Apache-2.0
"""Commands with LiteRT's runtime as the device, and Halyard inside."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ai_edge_litert.interpreter")

from halyard.devices import config_of
from halyard.devices.inside_litert import DOORS, REFUSAL
from halyard.engines import libraries
from halyard.engines.engine import EngineMissing
from halyard.engines.in_litert import InLiteRt
from halyard.engines.workload import Workload
from halyard.errors import ConfigError, NotExpressible, ProgramMissing
from halyard.litert import delegate_library
from halyard.timing import machine
from halyard.timing.machine import Peak
from tests.harness.in_litert import STRANGE, chain, unread
from tests.harness.invoking import Invoke

try:
    delegate_library()
except ProgramMissing as missing:
    pytest.skip(str(missing), allow_module_level=True)

DOOR = "litert-delegate"
ON = ("--device", DOOR)
SMALL = ("small_classifier", "--size", "16", "--width", "0.35")


@pytest.fixture(autouse=True)
def no_peak(monkeypatch: pytest.MonkeyPatch) -> None:
    peak = Peak(1, "x", 100.0, "y", 100.0, 1.0, 1.0)
    monkeypatch.setattr(machine, "measure_peak", lambda threads: peak)


@pytest.fixture(params=DOORS)
def door(request: pytest.FixtureRequest) -> str:
    """Those that the build has."""
    try:
        libraries.library(request.param)
    except EngineMissing as missing:
        pytest.skip(str(missing))
    return str(request.param)


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """Three operators, of which Halyard takes the first and the last."""
    return chain(tmp_path, "ABS", STRANGE, "NEG")


def written(path: Path) -> Any:
    return json.loads(path.read_text())


# ---- run ----------------------------------------------------------------------------------------


def test_run_compares_with_litert_alone_and_tells_what_ran_where(
    invoke: Invoke, tmp_path: Path
) -> None:
    path, kept = tmp_path / "run.json", tmp_path / "kept"
    kept.mkdir(mode=0o700)
    words = ["--repeat", "3", "--threads", "1", "--cache-dir", kept, "--placement"]
    done = invoke("run", *SMALL, *ON, *words, "--json", path)
    assert done.exit_code == 0, done.output
    assert "Running in LiteRT, litert-delegate" in done.output
    assert "HAL" not in done.output, "there is none between"
    run = written(path)
    assert (run["target"], run["hal"], run["device"]["serial"]) == (DOOR, "", DOOR)
    assert run["driver"].startswith("Halyard ")
    assert run["agreement"]["with"] == "LiteRT"
    assert run["timings_ms"]["count"] == 3
    assert {row["backend"] for row in run["placement"]} == {"CpuAcc"}
    assert list(kept.iterdir()), "the folder of what is compiled went through"


def test_run_tells_what_litert_ran_itself(door: str, invoke: Invoke, mixed: Path) -> None:
    done = invoke("run", mixed, "--device", door, "--repeat", "2")
    assert done.exit_code == 0, done.output
    assert f"placement  host: 1 node in 1 partition (1 {STRANGE})" in done.output
    assert "refused    Halyard: 1 node: " in done.output
    assert "parts      " not in done.output, "those are NNAPI's"


def test_run_fails_where_halyard_takes_nothing(door: str, invoke: Invoke, tmp_path: Path) -> None:
    done = invoke("run", chain(tmp_path, STRANGE), "--device", door)
    assert done.exit_code == 1
    assert "Halyard did not take the model's operator" in done.output
    assert f"{STRANGE}: " in done.output


def test_run_writes_outputs(invoke: Invoke, mixed: Path, tmp_path: Path) -> None:
    done = invoke("run", mixed, *ON, "--repeat", "1", "--output", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert {each.name for each in (tmp_path / "out").iterdir()} == {"inputs.npz", "outputs.npz"}


def test_a_run_under_load_is_the_runtime_s(door: str, invoke: Invoke, mixed: Path) -> None:
    """NNAPI's parts have none, and this model has no parts there."""
    done = invoke("run", mixed, "--device", door, "--repeat", "1", "--sustained", "1")
    assert done.exit_code == 0, done.output
    assert "slowdown" in done.output


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("--hal 1.2", "--hal is a version of NNAPI's interface"),
        ("--instance x", "--instance is for a service of Android's"),
        ("--service-name x", "--service-name is for a service of Android's"),
        ("-u ADD", "--unsupported-operations is for a service of Android's"),
        ("-d /tmp", "--request-inputs-and-outputs-dump-dir is for a service of Android's"),
        ("--mode burst", "--mode is how NNAPI executes"),
        ("--mode async", "--mode is how NNAPI executes"),
        ("--dynamic", "--dynamic prepares one model of NNAPI's for several shapes"),
        ("--profile", "--profile needs the driver in the runner's process"),
    ],
)
def test_run_refuses_what_the_runtime_would_not_heed(
    option: str, reason: str, invoke: Invoke, mixed: Path
) -> None:
    done = invoke("run", mixed, *ON, *option.split())
    assert done.exit_code == 2, done.output
    assert f"--device litert-delegate runs models in LiteRT: {reason}" in " ".join(
        done.output.split()
    )


@pytest.mark.parametrize("command", ["run", "bench"])
def test_the_vendor_interface_has_no_way_for_a_choice_of_backends(
    command: str, invoke: Invoke, tmp_path: Path
) -> None:
    at = ("small_classifier", "--device", "litert-npu")
    done = invoke(command, *at, "--backends", "CpuRef")
    assert done.exit_code == 2, done.output
    assert "--backends has no way through LiteRT's vendor interface" in done.output
    if command == "run":
        done = invoke(command, *at, "--cache-dir", tmp_path)
        assert done.exit_code == 2, done.output
        assert "--cache-dir has no way through LiteRT's vendor interface" in done.output


# ---- compare ------------------------------------------------------------------------------------


def test_compare_takes_it_as_either_side(invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "compare.json"
    for sides in ((DOOR, "litert"), ("CpuRef", f"{DOOR}:backends=CpuRef")):
        done = invoke("compare", *sides, *SMALL, "--seeds", "2", "--json", path)
        assert done.exit_code == 0, done.output
        assert len(written(path)["input_sets"]) == 2
    [name] = written(path)["b"]["backends"]
    assert name == "CpuRef", "the backends behind the colon went through"
    assert written(path)["b"]["version"].startswith("Halyard ")


def test_compare_finds_layers_in_a_file_and_in_what_halyard_writes(
    door: str, invoke: Invoke, mixed: Path, tmp_path: Path
) -> None:
    path = tmp_path / "compare.json"
    whole = chain(tmp_path, "ABS", "NEG", "LOGISTIC", "ABS")
    for a, b in (("litert", door), (door, "CpuRef"), (door, door)):
        done = invoke("compare", a, b, whole, "--isolate", "--json", path)
        assert done.exit_code == 0, done.output
        verdicts = [each["verdict"] for each in written(path)["layers"]["layers"]]
        assert verdicts == ["agrees"] * 4, (a, b)
    done = invoke("compare", door, "litert", mixed, "--layers", "--json", path)
    assert done.exit_code == 0, done.output
    verdicts = [each["verdict"] for each in written(path)["layers"]["layers"]]
    assert verdicts == ["agrees"] * 2, "of NNAPI's parts, on what this side hands between them"
    assert written(path)["a"]["backends"] in ({"CpuAcc": 2, "host": 1}, {"Halyard": 2, "host": 1})


def test_a_file_has_its_own_inputs_whatever_nnapi_has_of_them(
    door: str, invoke: Invoke, tmp_path: Path
) -> None:
    path = unread(tmp_path)
    for words in (["run", path, "--device", door], ["compare", "litert", door, path]):
        done = invoke(*words)
        assert done.exit_code == 0, done.output


def test_compare_has_no_answer_where_halyard_takes_nothing(
    door: str, invoke: Invoke, tmp_path: Path
) -> None:
    done = invoke("compare", "litert", door, chain(tmp_path, STRANGE))
    assert done.exit_code == 1
    assert f"{door} gave nothing: prepare: Halyard did not take" in done.output


@pytest.mark.parametrize(
    ("side", "reason"),
    [
        (f"{DOOR}:1.2", "LiteRT's runtime has no HAL version 1.2"),
        (f"{DOOR}:instance=x", "LiteRT's runtime has no services of Android's"),
        (f"{DOOR}:x", "litert-delegate takes no such words behind a colon"),
        (f"{DOOR}:threads=2", "litert-delegate takes no such words behind a colon"),
        ("litert-delegte", "did you mean litert-delegate?"),
        ("litert-npu:backends=CpuRef", "a choice of backends has no way through LiteRT's vendor"),
    ],
)
def test_compare_refuses_words_that_the_runtime_would_not_heed(
    side: str, reason: str, invoke: Invoke
) -> None:
    done = invoke("compare", "litert", side, *SMALL)
    assert done.exit_code != 0
    assert reason in done.output


# ---- bench --------------------------------------------------------------------------------------


def test_bench_times_it_beside_peers(
    door: str, invoke: Invoke, mixed: Path, tmp_path: Path
) -> None:
    path = tmp_path / "bench.json"
    models = [mixed, "small_classifier", "--size", "16", "--types", "float32"]
    words = ["--threads", "1", "--runs", "4", "--peers", "litert", "--json", path]
    done = invoke("bench", *models, "--device", door, *words)
    assert done.exit_code == 0, done.output
    document = written(path)
    assert (document["target"], document["device"]["serial"]) == (door, door)
    parts, whole = document["results"]
    for result in (parts, whole):
        assert result["ratio_to_best_peer"] > 0
        assert result["engines"]["halyard"]["version"].startswith("Halyard ")
    assert (parts["parts"], parts["host_parts"]) == (3, 1)
    assert (whole["parts"], whole["host_parts"]) == (1, 0)
    notes = parts["engines"]["halyard"]["notes"]
    assert notes[0] == "LiteRT ran 1 of 3 operators itself"
    assert notes[1].startswith("Halyard did not take 1 of 3 operators: ")
    assert notes[0] in done.output
    assert whole["engines"]["halyard"]["notes"] == []


def test_bench_fails_where_halyard_takes_nothing(door: str, invoke: Invoke, tmp_path: Path) -> None:
    words = ["--threads", "1", "--runs", "2", "--peers", "litert"]
    done = invoke("bench", chain(tmp_path, STRANGE), "--device", door, *words)
    assert done.exit_code == 1
    assert "PROBLEM  Halyard: prepare: Halyard did not take the model's operator" in done.output


def test_bench_fails_where_the_model_has_no_file_for_the_runtime(
    invoke: Invoke, mixed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_engine: InLiteRt, _work: Workload) -> None:
        raise NotExpressible("TFLite has no word for it")

    monkeypatch.setattr(InLiteRt, "prepare", refuse)
    done = invoke("bench", mixed, *ON, "--threads", "1", "--runs", "2", "--peers", "litert")
    assert done.exit_code == 1
    assert "PROBLEM  Halyard: TFLite has no word for it" in done.output


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("--hal 1.2", "--hal is a version of NNAPI's interface"),
        ("--instance x", "--instance is for a service of Android's"),
        ("--mode sync", "--mode is how NNAPI executes"),
        ("--clients 1", "--clients is for clients of one driver"),
        ("--relaxed", "--relaxed is what a model of NNAPI's allows"),
        ("--profile", "--profile needs the driver in the runner's process"),
        ("--standing .", "--standing keeps the driver's times alone"),
        ("--count-instructions", "--count-instructions is for --device host-arm64, not litert"),
    ],
)
def test_bench_refuses_what_the_runtime_would_not_heed(
    option: str, reason: str, invoke: Invoke
) -> None:
    done = invoke("bench", "small_classifier", *ON, *option.split())
    assert done.exit_code == 2, done.output
    assert reason in " ".join(done.output.split())


def test_bench_pair_has_it_take_turns_with_the_driver(
    door: str, invoke: Invoke, tmp_path: Path
) -> None:
    path = tmp_path / "pair.json"
    sides = ["--a", f"device={door}", "--b", "device=host"]
    done = invoke("bench", "pair", *SMALL, *sides, "--runs", "8", "--json", path)
    assert done.exit_code == 0, done.output
    [pair] = written(path)["pairs"]
    assert [pair[each]["result"]["target"] for each in "ab"] == [door, "in-process"]
    assert pair["comparison"]["ratio"] > 0


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("--a 'device=litert-delegate mode=burst' --b device=host", "mode= is how NNAPI executes"),
        ("--a 'device=litert-delegate hal=1.2' --b device=host", "hal= is a version of NNAPI's"),
        ("--a device=host --b 'device=litert-delegate instance=x'", "instance= is for a service"),
        ("--a threads=1 --b threads=2 --device litert-delegate --mode burst", "mode= is how"),
        ("--a 'device=litert-npu backends=CpuRef' --b device=host", "backends= has no way through"),
    ],
)
def test_bench_pair_refuses_what_the_runtime_would_not_heed(
    words: str, reason: str, invoke: Invoke
) -> None:
    done = invoke("bench", "pair", *SMALL, *shlex.split(words))
    assert done.exit_code == 2, done.output
    assert f" runs models in LiteRT: {reason}" in " ".join(done.output.split())


# ---- other commands -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "calibrate",
        "conformance",
        "demo",
        "deploy",
        "doctor",
        "log",
        "profile small_classifier",
        "pull /a .",
        "push . /a",
        "shell",
        "vts",
    ],
)
def test_what_wants_a_driver_or_files_says_that_there_are_none(line: str, invoke: Invoke) -> None:
    done = invoke(*line.split(), *ON)
    assert done.exit_code == 2, done.output
    assert f"litert-delegate: {REFUSAL}" in " ".join(done.output.split())


def test_a_file_names_no_runtime(tmp_path: Path) -> None:
    path = tmp_path / "runtime.yaml"
    path.write_text(f"kind: host\ndoor: {DOOR}\n")
    with pytest.raises(ConfigError, match="door"):
        config_of(str(path))


def test_results_are_kept_and_reported(invoke: Invoke, mixed: Path, tmp_path: Path) -> None:
    kept, page = tmp_path / "results.db", tmp_path / "report.html"
    invoke("run", chain(tmp_path, STRANGE), *ON, "--results", kept)
    invoke("run", mixed, *ON, "--repeat", "2", "--results", kept)
    done = invoke("report", kept, "-o", page)
    assert done.exit_code == 0, done.output
    assert f"{STRANGE.lower()}.tflite on {DOOR}" in page.read_text()
    assert f"{DOOR}, HAL" not in page.read_text()
