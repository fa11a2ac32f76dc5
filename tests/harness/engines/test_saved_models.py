# SPDX-License-Identifier: Apache-2.0
"""A model that is saved by one process, and mapped and run by another, gives what it gave: the same
bits, with nothing packed again, on CpuRef and on CpuAcc."""

import random
from pathlib import Path

import pytest

from halyard.cases import Case
from tests import validation_program

_LOADED = 6
# Of the golden cases, unless --no-sample.
_SAMPLE = 400


def test_saved_models_come_back(
    golden_cases: list[Case], tmp_path: Path, seed: int, pytestconfig: pytest.Config
) -> None:
    cases = [
        case for case in golden_cases if not case.expect_failure and "infiniteLoop" not in case.tags
    ]
    if not pytestconfig.getoption("--no-sample"):
        cases = random.Random(seed).sample(cases, min(_SAMPLE, len(cases)))
    folder = tmp_path / "models"
    folder.mkdir()
    saved = validation_program.run("halyard_saved", cases, tmp_path, command=["save", str(folder)])
    loaded = validation_program.run("halyard_saved", cases, tmp_path, command=["load", str(folder)])
    print(f"{len(cases)} golden cases, --seed {seed}\n{saved.table()}\n{loaded.table()}")
    saved.assert_all_held()
    assert len(loaded.checks) == _LOADED
    loaded.assert_all_held()
