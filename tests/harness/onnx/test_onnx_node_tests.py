# SPDX-License-Identifier: Apache-2.0
"""onnx's own tests of operators: all that is taken is right, and the rest says why."""

import json
from collections.abc import Iterator

import onnx as onnx_package
import pytest

from halyard.devices.host import HostDevice
from tests.harness.onnx_node_tests import COUNTS, Outcome, counted, outcomes

pytest.importorskip("onnxruntime")


@pytest.fixture(scope="module")
def found() -> Iterator[list[Outcome]]:
    with HostDevice() as host:
        yield outcomes(host)


def test_what_is_taken_is_right(found: list[Outcome]) -> None:
    assert len(found) > 2000
    faults = [f"{each.name} ({each.form}): {each.fault}" for each in found if each.fault]
    assert faults == []


def test_file_says_how_many_are_taken_and_why_others_are_not(found: list[Outcome]) -> None:
    """After a change that means to take more: python -m tests.harness.onnx_node_tests."""
    said = json.loads(COUNTS.read_text())
    if said["onnx"] != onnx_package.__version__:
        pytest.skip(f"it counts the tests of onnx {said['onnx']}, not {onnx_package.__version__}")
    assert counted(found) == said
