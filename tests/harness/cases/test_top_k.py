# SPDX-License-Identifier: Apache-2.0
"""Agreement of the best classes."""

import numpy as np

from halyard.comparison.agreement_statistics import top_k
from halyard.model import TensorInfo

SCORES = TensorInfo("scores", np.dtype(np.float32), (2, 4))


def rows(*values: list[float]) -> np.ndarray:
    return np.array(values, np.float32)


def test_the_best_of_each_row_is_counted() -> None:
    expected = rows([4, 3, 2, 1], [1, 2, 3, 4])
    found = top_k(SCORES, expected, rows([4, 3, 2, 1], [1, 2, 4, 3]), 2)
    assert found is not None
    assert (found.k, found.first, found.shared) == (2, 0.5, 1.0)


def test_those_that_are_not_among_the_best_are_counted() -> None:
    found = top_k(SCORES, rows([4, 3, 2, 1], [4, 3, 2, 1]), rows([4, 3, 2, 1], [1, 2, 3, 4]), 2)
    assert found is not None
    assert (found.first, found.shared) == (0.5, 0.5)


def test_equal_scores_are_equally_good() -> None:
    found = top_k(SCORES, rows([4, 4, 1, 1], [4, 4, 1, 1]), rows([3, 4, 1, 1], [4, 3, 1, 1]), 1)
    assert found is not None
    assert found.first == 1.0


def test_there_are_no_more_best_than_classes() -> None:
    values = rows([4, 3, 2, 1], [4, 3, 2, 1])
    found = top_k(SCORES, values, values, 99)
    assert found is not None
    assert found.k == 4


def test_what_has_no_classes_has_no_best() -> None:
    assert top_k(TensorInfo("x", np.dtype(np.float32), (3, 1)), *[np.ones((3, 1))] * 2, 5) is None
    values = rows([np.nan, 3, 2, 1], [4, 3, 2, 1])
    assert top_k(SCORES, values, values, 5) is None
