# SPDX-License-Identifier: Apache-2.0
"""Models compiled ahead for processors that this one is not, run on those: under emulation."""

from __future__ import annotations

import functools
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert.compiled_model")

from tests.harness import tflite_models
from tests.litert.compiling import new_environment, run

# The least that LiteRT's own package runs on: AVX without AVX2.
_LEAST = "SandyBridge"
_SHAPE = (1, 12, 12, 3)
_PROGRAM = f"""
import sys
import numpy
import halyard.litert

npu = halyard.litert.environment(threads=1)
found = npu.compile(sys.argv[1])
inputs, outputs = found.model.create_input_buffers(0), found.model.create_output_buffers(0)
inputs[0].write(numpy.full({_SHAPE}, 0.25, numpy.float32))
found.model.run_by_index(0, inputs, outputs)
print(found.loaded.packed_constants, found.loaded.compiled_when_loaded)
print(*numpy.asarray(outputs[0].read(10, numpy.float32)).tolist())
"""


@functools.cache
def _content() -> bytes:
    graph, outputs = tflite_models.conv_net()
    return graph.content(*outputs)


def _emulated(cpu: str, model: Path) -> subprocess.CompletedProcess[str]:
    emulator = shutil.which("qemu-x86_64")
    if emulator is None or platform.machine() != "x86_64":
        pytest.skip("there is no qemu-x86_64, or this is another machine")
    return subprocess.run(
        [emulator, "-cpu", cpu, sys.executable, "-c", _PROGRAM, str(model)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def _compiled_for(processor: str, folder: Path) -> tuple[Path, list[float]]:
    """And what the model gives here."""
    source, target = folder / "model.tflite", folder / "compiled.tflite"
    source.write_bytes(_content())
    with new_environment() as npu:
        npu.compile_ahead(source, target, processor=processor)
        found = npu.compile(source)
        results = run(found.model, [np.full(_SHAPE, 0.25, np.float32)])
    return target, results[0].reshape(-1).tolist()


@pytest.mark.parametrize(
    ("processor", "cpu"), [("x86_64-sse4", _LEAST), ("x86_64-avx2", "Haswell")]
)
def test_runs_with_nothing_packed_again(processor: str, cpu: str, tmp_path: Path) -> None:
    target, expected = _compiled_for(processor, tmp_path)
    done = _emulated(cpu, target)
    assert done.returncode == 0, done.stderr[-3000:]
    counts, values = done.stdout.splitlines()
    assert counts == "0 0"
    assert np.allclose([float(each) for each in values.split()], expected, rtol=1e-4, atol=1e-6)


def test_a_lesser_processor_refuses_it(tmp_path: Path) -> None:
    target, _ = _compiled_for("x86_64-avx2", tmp_path)
    done = _emulated(_LEAST, target)
    assert done.returncode == 1, done.stderr[-3000:]
    assert "bytecode: UNSUPPORTED: this processor has no avx2" in done.stderr


def test_a_graph_runs_anywhere(tmp_path: Path) -> None:
    """What can't be packed here, as on the processor that it is for."""
    target, expected = _compiled_for("arm64-cortex-a76", tmp_path)
    done = _emulated(_LEAST, target)
    assert done.returncode == 0, done.stderr[-3000:]
    counts, values = done.stdout.splitlines()
    assert counts.split()[1] == "1"
    assert np.allclose([float(each) for each in values.split()], expected, rtol=1e-4, atol=1e-6)
    assert "constants for arm64-cortex-a76 can't be packed here" in done.stderr
