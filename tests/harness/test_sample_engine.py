# SPDX-License-Identifier: Apache-2.0
"""The sample that builds a graph by hand and runs it through the engine's front door: its scores
are those of the same layers in numpy."""

import subprocess
from collections.abc import Sequence

import numpy as np
import pytest

from halyard import native

_MEASUREMENTS = (5.5, 2.5, 4.25, 1.125)


def classify(*words: str) -> subprocess.CompletedProcess[str]:
    program = native.folder() / "classify"
    if not program.is_file():
        pytest.skip("the sample is not built: make test-native builds it")
    return subprocess.run([str(program), *words], capture_output=True, text=True, check=False)


def expected_scores(measurements: Sequence[float]) -> np.ndarray:
    hidden = np.array([[0.5, 1.0, -1.25, -1.0], [-0.25, -0.5, 0.75, 1.5]])
    scores = np.array([[1.5, -1.5], [0.25, 0.25], [-2.0, 1.0]])
    x = np.maximum(hidden @ np.array(measurements) + np.array([0.25, -1.0]), 0)
    exponentials = np.exp(scores @ x + np.array([0.0, 0.5, -1.0]))
    return np.asarray(exponentials / exponentials.sum())


@pytest.mark.parametrize("backends", ["CpuRef", "CpuAcc", "CpuAcc:features=portable,CpuRef"])
@pytest.mark.parametrize("measurements", [_MEASUREMENTS, (5.0, 3.5, 1.5, 0.25)])
def test_scores_are_those_of_numpy(backends: str, measurements: Sequence[float]) -> None:
    words = ",".join(str(value) for value in measurements)
    run = classify("-c", backends, f"measurements={words}")
    assert run.returncode == 0, run.stderr
    name, _, values = run.stdout.strip().partition("=")
    assert name == "scores"
    scores = [float(value) for value in values.split(",")]
    np.testing.assert_allclose(scores, expected_scores(measurements), atol=2e-6)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["petals=1,2,3,4"], 1, 'the graph has no input "petals"'),
        (["measurements=1,2,3"], 1, "graph input 0"),
        (["-c", "GpuRef", "measurements=1,2,3,4"], 1, 'there is no backend "GpuRef"'),
        (["-c", "CpuAcc:speed=9", "measurements=1,2,3,4"], 1, "has no option speed"),
        (["-c", "CpuAcc:features", "measurements=1,2,3,4"], 2, '"features" is no option'),
        (["measurements=1,two,3,4"], 2, "begins with no number"),
        (["measurements"], 2, "usage"),
    ],
)
def test_says_what_is_wrong(words: list[str], code: int, message: str) -> None:
    run = classify(*words)
    assert (run.returncode, run.stdout) == (code, "")
    assert message in run.stderr
