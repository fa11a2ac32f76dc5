# SPDX-License-Identifier: Apache-2.0
"""A trial of a real model judges the commands' output; a script stands for them."""

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from halyard import records
from halyard.records.convert import Convert, Part, Tensor
from halyard.records.run import Agreement, Device, Memory, OutputAgreement, Run, Timings
from halyard.records.run import Model as RunModel
from tests.real import trial
from tests.real.catalog import Model, Package

MODEL = Model("shop/a.onnx", Package("shop", "1.0", "pypi"), "shop/a.onnx", "0" * 64, "shopping")
FILE = Path("a.onnx")


def tensor(name: str, *shape: int, dtype: str = "float32") -> Tensor:
    return Tensor(name=name, type=dtype, shape=list(shape), scale=0.0, zero_point=0)


def part(runs_on: str, *operations: str) -> Part:
    return Part(runs_on=runs_on, inputs=[], outputs=[], operations=list(operations), file="")


CONVERTED = Convert(
    source="a.onnx",
    format="ONNX",
    hal="1.2",
    inputs=[tensor("x", 1, 4), tensor("rate", dtype="int64"), tensor("ids", 1, 9, dtype="int32")],
    outputs=[tensor("y", 1, 2)],
    parts=[
        part("NNAPI", "CONV_2D", "RELU"),
        part("host", "2 If 'if_0'", "3 NonZero ''", "5 If 'if_1'"),
        part("NNAPI", "TANH"),
    ],
    unmapped=[],
    notes=[],
)


def output(error: float | None, largest: float = 0.5, steps: int | None = None) -> OutputAgreement:
    return OutputAgreement(
        name="y",
        elements=2,
        nonzero=2,
        max_abs_error="inf" if error is None else error,
        max_relative_error=0.0,
        max_steps=steps,
        exact_share=0.5,
        nan=0,
        largest=largest,
    )


def ran(*outputs: OutputAgreement) -> Run:
    return Run(
        model=RunModel(name="a.onnx", file="a.onnx", seed=0),
        device=Device(serial="host", emulated=False, properties={}),
        target="in-process",
        driver="halyard",
        hal="1.2",
        ok=True,
        problems=[],
        notes=[],
        failed_stage="NONE",
        status="NONE",
        message="",
        agreement=Agreement(with_="ONNX Runtime", outputs=list(outputs)) if outputs else None,
        prepare_ms=1.0,
        timings_ms=Timings.of([3.0, 1.0, 2.0]),
        driver_timings_ms=None,
        device_timings_ms=None,
        peer_timings_ms=Timings.of([3.0]),
        memory=Memory(
            model_constant_bytes=0, peak_rss_bytes=0, constant_bytes=0, arena_bytes=0, device=None
        ),
        partitions=1,
        bytes_between_partitions=0,
        copies=[],
        profile=[],
        placement=[],
        vanished=[],
    )


@pytest.fixture
def say(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Sequence[str]]]:
    """Sets the commands' files and output. Gives the arguments that they got."""

    def set_up(run: Run, code: int = 0, said: str = "") -> list[Sequence[str]]:
        asked: list[Sequence[str]] = []

        def halyard(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
            asked.append(words)
            is_run = words[0] == "run"
            if "--json" in words:
                record = run if is_run else CONVERTED
                Path(words[words.index("--json") + 1]).write_bytes(records.encode(record))
            return subprocess.CompletedProcess(words, code if is_run else 0, said, "")

        monkeypatch.setattr(trial, "_halyard", halyard)
        return asked

    return set_up


Say = Callable[..., list[Sequence[str]]]


def test_counts_what_the_host_runs_by_kind(say: Say) -> None:
    say(ran(output(1e-6)))
    outcome = trial.attempt(MODEL, FILE)
    assert (outcome.device_parts, outcome.host_parts) == (2, 1)
    assert outcome.host == {"If": 2, "NonZero": 1}
    assert outcome.operators == 6
    assert not outcome.is_whole
    assert outcome.ratio == pytest.approx(0.67)


def test_an_error_is_a_share_of_the_outputs_largest_value(say: Say) -> None:
    say(ran(output(0.5, largest=1000), output(1e-6, largest=0.01), output(4.0, steps=2)))
    outcome = trial.attempt(MODEL, FILE)
    assert outcome.error == pytest.approx(5e-4)
    assert outcome.steps == 2


def test_the_same_shapes_go_to_both_commands(say: Say) -> None:
    asked = say(ran(output(0.0)))
    trial.attempt(replace(MODEL, shapes={"x": [1, 4]}, dims={"batch": 2}), FILE)
    assert [words[0] for words in asked] == ["convert", "run"]
    for words in asked:
        at = words.index("--shape")
        assert words[at : at + 4] == ["--shape", "x=1,4", "--dim", "batch=2"]


def test_inputs_are_of_the_tensors_types_and_shapes(
    say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = say(ran(output(0.0)))
    saved = {}
    monkeypatch.setattr(np, "save", lambda path, array: saved.update({Path(path).name: array}))
    trial.attempt(replace(MODEL, inputs={"x": [0.25, 0.5], "rate": 16000, "ids": [3, 5]}), FILE)
    given = [asked[1][at + 1] for at, word in enumerate(asked[1]) if word == "--input"]
    assert [word.partition("=")[0] for word in given] == ["x", "rate", "ids"]
    x, rate, ids = (saved[f"{number}.npy"] for number in range(3))
    assert (x.shape, x.dtype) == ((1, 4), np.dtype("float32"))
    assert 0.25 <= x.min() < x.max() <= 0.5
    assert (rate.shape, rate.dtype, int(rate)) == ((), np.dtype("int64"), 16000)
    assert (ids.shape, ids.dtype) == ((1, 9), np.dtype("int32"))
    assert set(ids.flat) <= {3, 4, 5}
    with pytest.raises(trial.Failed, match="has no input z, but x, rate, ids"):
        trial.attempt(replace(MODEL, inputs={"z": 1}), FILE)


def test_a_model_that_fails_is_told_with_what_was_said(say: Say) -> None:
    say(ran(output(0.0)), 1, "PROBLEM disagrees with ONNX Runtime")
    with pytest.raises(trial.Failed, match="PROBLEM disagrees"):
        trial.attempt(MODEL, FILE)


def test_a_dispute_has_a_limit_and_an_end(say: Say) -> None:
    disputed = replace(MODEL, disputed=1e-2)
    told = msgspec.structs.replace(
        ran(output(5e-3, largest=1.0)), ok=False, problems=["disagrees with ONNX Runtime by more"]
    )
    say(told, 1)
    assert trial.attempt(disputed, FILE).error == pytest.approx(5e-3)
    with pytest.raises(trial.Failed, match=r"is 0\.005 off, and 0\.001 is listed"):
        trial.attempt(replace(MODEL, disputed=1e-3), FILE)
    say(msgspec.structs.replace(told, problems=["prepare: INVALID_ARGUMENT"]), 1)
    with pytest.raises(trial.Failed, match="prepare: INVALID_ARGUMENT"):
        trial.attempt(disputed, FILE)
    say(ran(output(0.0)))
    with pytest.raises(trial.Failed, match="listed as disputed, and it agrees"):
        trial.attempt(disputed, FILE)


def test_what_says_nothing_does_not_pass(say: Say) -> None:
    say(ran())
    with pytest.raises(trial.Failed, match="compared with nothing"):
        trial.attempt(MODEL, FILE)
    say(ran(msgspec.structs.replace(output(0.0), nonzero=0)))
    with pytest.raises(trial.Failed, match="zeros alone"):
        trial.attempt(MODEL, FILE)


def test_a_traceback_is_no_reason(say: Say) -> None:
    traceback = "Traceback (most recent call last):\nKeyError: 'k'"
    say(ran(output(0.0)), 1, traceback)
    for run in (trial.attempt, trial.failure):
        with pytest.raises(trial.Failed, match="ended in a traceback"):
            run(MODEL, FILE)


def test_a_listed_failure_that_runs_is_told(say: Say) -> None:
    say(ran(output(0.0)), 1, "Error: LiteRT has no\nsuch operator")
    assert "LiteRT has no such operator" in trial.failure(MODEL, FILE)
    say(ran(output(0.0)))
    with pytest.raises(trial.Failed, match="listed as one that fails, and it runs"):
        trial.failure(MODEL, FILE)
