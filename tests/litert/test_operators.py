# SPDX-License-Identifier: Apache-2.0
"""The importer computes each of TFLite's operators as LiteRT does: a file for every operator, its
types and its attributes, through the delegate and through libhalyard."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert.interpreter")

from halyard import conversion
from halyard.errors import NotExpressible
from halyard.model import Array
from tests.litert.engine_library import EngineError, EngineLibrary
from tests.litert.interpreting import interpreter, new_delegate, run
from tests.litert.operator_files import CASES, SEED, Case, build
from tests.random_tflite import silence


@pytest.fixture(scope="module")
def engine() -> EngineLibrary:
    return EngineLibrary()


@pytest.fixture(scope="module", autouse=True)
def seed() -> None:
    print(f"seed {SEED}")


def apart(case: Case, ours: Sequence[Array], theirs: Sequence[Array], tolerance: float) -> str:
    """Empty where two runs agree."""
    for number, (left, right) in enumerate(zip(ours, theirs, strict=True)):
        if left.shape != right.shape or left.dtype != right.dtype:
            return f"output {number}: {left.shape} {left.dtype}, not {right.shape} {right.dtype}"
        if left.dtype.kind == "f":
            largest = float(np.abs(right).max(initial=0.0, where=np.isfinite(right)))
            good = np.allclose(
                left, right, rtol=tolerance, atol=tolerance * max(1.0, largest), equal_nan=True
            )
        elif left.dtype.itemsize < 4 and left.dtype != np.bool_:
            good = bool(np.all(np.abs(left.astype(int) - right.astype(int)) <= case.steps))
        else:
            good = np.array_equal(left, right)
        if not good:
            return f"output {number}:\n{left}\n{right}"
    return ""


files = cache(build)


def refusal(engine: EngineLibrary, content: bytes) -> str:
    with pytest.raises(EngineError) as error:
        engine.program(content)
    return str(error.value)


@pytest.mark.parametrize("case", [each for each in CASES if each.runs], ids=str)
def test_operators(case: Case, engine: EngineLibrary, tmp_path: Path) -> None:
    file = files(case)
    report = tmp_path / "report.json"
    with silence():
        ours = interpreter(file.content, new_delegate(backends="CpuAcc,CpuRef", report=report))
    ours.reset_all_variables()
    # Of the main graph, as it was first.
    said = json.loads(report.read_text())["graphs"][0]
    reasons = [each["reason"] for each in said["unmapped"]]
    found = [[np.array(each) for each in run(ours, feed)] for feed in file.feeds]
    reason = case.reason or case.delegate_reason
    if reason:
        assert any(reason in each for each in reasons), reasons
    else:
        assert reasons == []
        assert said["taken"] == said["operators"]
    for results, expected in zip(found, file.expected, strict=True):
        assert apart(case, results, expected, case.tolerance) == ""
    for results, rounded in zip(found, file.rounded or [], strict=False):
        assert apart(case, results, rounded, case.hybrid) == ""
    if case.reason:
        assert case.reason in refusal(engine, file.content)
        return
    sizes = [each.nbytes for each in found[0]]
    with engine.program(file.content) as program:
        for feed, results in zip(file.feeds, found, strict=True):
            for own, result in zip(program.run(feed, sizes), results, strict=True):
                wanted = result.astype(np.int32) if result.dtype == np.int64 else result
                assert (own.shape, own.dtype) == (wanted.shape, wanted.dtype)
                assert own.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("case", [each for each in CASES if not each.runs], ids=str)
def test_what_the_runtime_does_not_run(case: Case, engine: EngineLibrary) -> None:
    assert case.reason in refusal(engine, files(case).content)


@pytest.mark.parametrize("case", [each for each in CASES if each.reason], ids=str)
def test_the_harness_takes_nothing_else(case: Case, tmp_path: Path) -> None:
    """What the importer refuses NNAPI has no words for either."""
    path = tmp_path / "model.tflite"
    path.write_bytes(files(case).content)
    try:
        left = [each.text() for each in conversion.convert(path).unmapped]
    except NotExpressible as error:
        left = [str(error)]
    assert left
