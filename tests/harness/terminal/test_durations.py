# SPDX-License-Identifier: Apache-2.0
"""Times in words keep the digits that tell them apart."""

import pytest

from halyard.terminal.durations import microseconds, milliseconds


@pytest.mark.parametrize(
    ("value", "text", "fine"),
    [
        (0.0, "0.000", "0.000"),
        (0.000125, "0.000125", "0.000125"),
        (0.003124, "0.00312", "0.00312"),
        (0.0999, "0.0999", "0.0999"),
        (0.12345, "0.123", "0.123"),
        (4.5678, "4.57", "4.568"),
        (99.5, "99.50", "99.500"),
        (123.456, "123", "123.5"),
    ],
)
def test_a_short_time_keeps_three_digits(value: float, text: str, fine: str) -> None:
    assert milliseconds(value) == text
    assert microseconds(value) == fine
