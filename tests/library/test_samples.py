# SPDX-License-Identifier: Apache-2.0
"""The samples, built out of the tree: the scores of the C++ one are those of the same layers in
numpy."""

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from .conftest import ROOT, configured, run

_MEASUREMENTS = (5.5, 2.5, 4.25, 1.125)

Sample = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def samples(prefix: Path, tmp_path_factory: pytest.TempPathFactory) -> Sample:
    build = configured(
        ROOT / "samples" / "engine",
        tmp_path_factory.mktemp("samples"),
        f"-DCMAKE_PREFIX_PATH={prefix}",
    )
    run("cmake", "--build", build)

    def call(name: str, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([str(build / name), *words], capture_output=True, text=True)

    return call


def expected_scores(measurements: Sequence[float]) -> np.ndarray:
    hidden = np.array([[0.5, 1.0, -1.25, -1.0], [-0.25, -0.5, 0.75, 1.5]])
    scores = np.array([[1.5, -1.5], [0.25, 0.25], [-2.0, 1.0]])
    x = np.maximum(hidden @ np.array(measurements) + np.array([0.25, -1.0]), 0)
    exponentials = np.exp(scores @ x + np.array([0.0, 0.5, -1.0]))
    return np.asarray(exponentials / exponentials.sum())


@pytest.mark.parametrize("backends", ["CpuRef", "CpuAcc", "CpuAcc:features=portable,CpuRef"])
@pytest.mark.parametrize("measurements", [_MEASUREMENTS, (5.0, 3.5, 1.5, 0.25)])
def test_scores_are_those_of_numpy(
    samples: Sample, backends: str, measurements: Sequence[float]
) -> None:
    words = ",".join(str(value) for value in measurements)
    done = samples("classify", "-c", backends, f"measurements={words}")
    assert done.returncode == 0, done.stderr
    name, _, values = done.stdout.strip().partition("=")
    assert name == "scores"
    scores = [float(value) for value in values.split(",")]
    np.testing.assert_allclose(scores, expected_scores(measurements), atol=2e-6)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["petals=1,2,3,4"], 1, 'the program has no input "petals"'),
        (["measurements=1,2,3"], 1, "graph input 0"),
        (["-c", "GpuRef", "measurements=1,2,3,4"], 1, 'there is no backend "GpuRef"'),
        (["-c", "CpuAcc:speed=9", "measurements=1,2,3,4"], 1, "has no option speed"),
        (["-c", "CpuAcc:features", "measurements=1,2,3,4"], 1, '"features" is no option'),
        (["measurements=1,two,3,4"], 2, "begins with no number"),
        (["measurements"], 2, "usage"),
    ],
)
def test_says_what_is_wrong(samples: Sample, words: list[str], code: int, message: str) -> None:
    done = samples("classify", *words)
    assert (done.returncode, done.stdout) == (code, "")
    assert message in done.stderr


def test_convolves_8_bit_pixels(samples: Sample) -> None:
    done = samples("convolve", "4", "8", "255")
    # Filters of 2 * 0.5 and -4 * 0.25, and a bias of 40 * 0.25 for the second: x, and 10 - x.
    assert (done.returncode, done.stdout, done.stderr) == (0, "4 6 8 2 255 0\n", "")
