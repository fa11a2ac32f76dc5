# SPDX-License-Identifier: Apache-2.0
"""Models from .tflite files, over adb and binder, against the files themselves in LiteRT."""

from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("ai_edge_litert.interpreter")

from halyard import hal_version
from halyard.devices import Service, VirtualDevice
from halyard.engines.halyard import HalyardDevice
from halyard.measurement import measure
from halyard.proto import halyard_pb2 as pb
from halyard.runner import Target
from halyard.subject import FileSubject
from tests.harness.test_tflite_parts import mixed
from tests.harness.tflite_file import GraphFile
from tests.harness.tflite_models import conv_net, half_weights, per_channel


@pytest.mark.parametrize("build", [conv_net, per_channel, half_weights, mixed])
def test_a_file_agrees_with_itself_in_litert(
    device: VirtualDevice,
    service: Service,
    build: Callable[[], tuple[GraphFile, list[int]]],
    tmp_path: Path,
) -> None:
    """In the lowest version that carries it, and the newest."""
    graph, outputs = build()
    path = tmp_path / "model.tflite"
    path.write_bytes(graph.content(*outputs))
    subject = FileSubject(path, seed=3)
    lowest = hal_version.lowest_version(subject.conversion.model)
    for version in dict.fromkeys([lowest, pb.HAL_VERSION_1_3]):
        options = pb.RunOptions(hal_version=version, measure_timing=True)
        engine = HalyardDevice(device, Target.hidl(service.instance), options)
        measured = measure(engine, subject, count=2)
        assert measured.problems == []
        assert measured.result.hal_version == version
        assert measured.differences
