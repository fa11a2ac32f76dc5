# SPDX-License-Identifier: Apache-2.0
"""Values that go from NNAPI to an engine that runs the original, and back."""

import numpy as np
import pytest

from halyard.engines.engine import EngineRefused
from halyard.engines.original import engine_of, fitted
from halyard.errors import HalyardError
from halyard.model import TensorInfo


def info(dtype: str, *shape: int) -> TensorInfo:
    return TensorInfo("value", np.dtype(dtype), shape)


def test_values_take_the_type_and_the_shape_that_is_wanted() -> None:
    assert fitted(np.array([3, -1], np.int32), info("int64", 1, 2)).tolist() == [[3, -1]]
    number = fitted(np.array([1], np.uint8), info("bool"))
    assert (number.shape, number.dtype, bool(number)) == ((), np.dtype(bool), True)


def test_integers_that_do_not_fit_are_told() -> None:
    with pytest.raises(HalyardError, match="value: it has values that int32 can't hold"):
        fitted(np.array([2**40]), info("int32", 1))


def test_a_shape_that_a_run_decided_is_told() -> None:
    with pytest.raises(HalyardError, match=r"value: \[3\] came, and \[4\] is what it is for"):
        fitted(np.zeros(3, np.float32), info("float32", 4))


def test_a_format_that_no_engine_runs_is_told() -> None:
    with pytest.raises(EngineRefused, match="no engine here runs Halyard files"):
        engine_of("Halyard", 1)
