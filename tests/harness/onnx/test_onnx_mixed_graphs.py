# SPDX-License-Identifier: Apache-2.0
"""Random ONNX graphs in parts compute what ONNX Runtime computes of the whole, and none ends in an
error: what NNAPI can't run, and what can't be cut, is the host's.

Whole numbers, truth values and bytes are the same, floats as near as functions that are composed
are. A graph follows from --seed and its number; --random-seconds says how long it goes on, and -v
counts.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from halyard import onnx
from halyard.devices.host import HostDevice
from halyard.errors import HalyardError
from halyard.model import Array
from tests.harness.on_many_parts import Run, run_all
from tests.harness.onnx_mixed_graphs import MixedGraph, generate

onnxruntime = pytest.importorskip("onnxruntime")

FILE = Path("mixed.onnx")
_BUNDLE = 25
# Other tests share --random-seconds, too.
_SHARE = 1 / 6
_SHOWN = 8
# Relative to the value and, less, to the largest one.
_TOLERANCE, _OF_HALVES = 2e-4, 3e-2


@dataclass
class Tally:
    graphs: int = 0
    parts: int = 0  # of which there are several
    hosts: int = 0
    refused: int = 0  # by ONNX Runtime

    def __str__(self) -> str:
        return (
            f"{self.graphs} graphs, {self.parts} of them in parts and {self.hosts} on the host; "
            f"ONNX Runtime takes {self.refused} others not"
        )


def reference(graph: MixedGraph) -> list[Array] | None:
    """None where ONNX Runtime does not take what was drawn."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(
            graph.model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        return [np.asarray(each) for each in session.run(None, dict(graph.inputs))]
    # Its exceptions have no class of their own in common.
    except Exception:  # noqa: BLE001
        return None


def apart(found: Array, wanted: Array, tolerance: float) -> str:
    """How they differ; empty if they do not."""
    if (found.dtype, found.shape) != (wanted.dtype, wanted.shape):
        return f"{found.dtype}{found.shape}, expected {wanted.dtype}{wanted.shape}"
    good = found == wanted
    if wanted.dtype.kind == "f":
        ours, theirs = found.astype("f8"), wanted.astype("f8")
        largest = np.abs(theirs[np.isfinite(theirs)]).max(initial=1.0)
        with np.errstate(invalid="ignore"):
            near = np.abs(ours - theirs) <= tolerance * (np.abs(theirs) + largest * 0.05)
        good = good | near | (np.isnan(ours) & np.isnan(theirs))
    if np.all(good):
        return ""
    wrong = np.argwhere(~np.asarray(good))[:_SHOWN]
    return "; ".join(
        f"{place.tolist()} is {found[tuple(place)]}, expected {wanted[tuple(place)]}"
        for place in wrong
    )


def has_halves(graph: MixedGraph) -> bool:
    """Whether anything of it is FLOAT16, which is rounded where each engine likes."""
    text = str(graph.model.graph)
    return "elem_type: 10" in text or "data_type: 10" in text or "i: 10" in text


def check(device: HostDevice, seed: int, numbers: Sequence[int], tally: Tally) -> list[str]:
    """The errors of a bundle of graphs."""
    wrong: list[str] = []
    runs: list[tuple[int, float, list[Array], Run]] = []
    for number in numbers:
        graph = generate(seed, number)
        expected = reference(graph)
        if expected is None:
            tally.refused += 1
            continue
        tally.graphs += 1
        try:
            conversion = onnx.read_conversion(graph.model.SerializeToString(), FILE)
        except HalyardError as error:
            wrong.append(f"graph {number}: {error}")
            continue
        tally.parts += len(conversion.parts) > 1
        tally.hosts += not conversion.model.main.operations
        inputs = [graph.inputs[info.name] for info in conversion.inputs]
        tolerance = _OF_HALVES if has_halves(graph) else _TOLERANCE
        runs.append((number, tolerance, expected, Run(conversion, inputs)))
    run_all(device, [run for *_, run in runs])
    for number, tolerance, expected, run in runs:
        if run.fault:
            wrong.append(f"graph {number}: {run.fault}")
            continue
        for info, found, wanted in zip(run.conversion.outputs, run.outputs, expected, strict=True):
            if difference := apart(found, wanted, tolerance):
                wrong.append(f"graph {number}: {info.name}: {difference}")
    return wrong


@pytest.fixture
def device() -> Iterator[HostDevice]:
    with HostDevice() as host:
        yield host


def test_random_graphs_in_parts_compute_what_the_whole_computes(
    device: HostDevice, steady_seed: int, pytestconfig: pytest.Config
) -> None:
    tally, wrong, first = Tally(), list[str](), 0
    ends = time.monotonic() + pytestconfig.getoption("random_seconds") * _SHARE
    while not wrong and (first == 0 or time.monotonic() < ends):
        wrong = check(device, steady_seed, range(first, first + _BUNDLE), tally)
        first += _BUNDLE
    print(f"seed {steady_seed}: {tally}")
    assert not wrong, f"--seed {steady_seed}:\n" + "\n".join(wrong[:_SHOWN])
    assert tally.parts
    assert tally.graphs > tally.refused


def test_a_wrong_value_is_seen() -> None:
    values = np.array([1.0, np.nan, 3.0], "f4")
    assert apart(values, values.copy(), _TOLERANCE) == ""
    assert apart(values, np.array([1.0, np.nan, 3.001], "f4"), _TOLERANCE).startswith("[2] is 3.0")
    assert apart(values, values.reshape(3, 1), _TOLERANCE).startswith("float32(3,), expected")
    assert apart(np.array(3, "i4"), np.array(3, "i8"), _TOLERANCE).startswith("int32(), expected")
