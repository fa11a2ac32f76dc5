# SPDX-License-Identifier: Apache-2.0
"""Models from .tflite files, over adb and binder, against the files themselves in LiteRT."""

from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("ai_edge_litert.interpreter")

from halyard.benchmark_model import DynamicModel, FileModel
from halyard.devices import Service, VirtualDevice
from halyard.engines.halyard import HalyardDevice
from halyard.measurement.measurement import measure
from halyard.measurement.shape_runs import measure_shapes
from halyard.model.read_options import ReadOptions
from halyard.model.shapes import Shapes
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import Target
from halyard.transport import hal_version
from tests.harness.tflite.test_tflite_parts import mixed
from tests.harness.tflite.test_tflite_shapes import any_image
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
    benchmark_model = FileModel(path, seed=3)
    lowest = hal_version.lowest_version(benchmark_model.conversion.model)
    for version in dict.fromkeys([lowest, pb.HAL_VERSION_1_3]):
        options = pb.RunOptions(hal_version=version, measure_timing=True)
        engine = HalyardDevice(device, Target.hidl(service.instance), options)
        measured = measure(engine, benchmark_model, count=2)
        assert measured.problems == []
        assert measured.result.hal_version == version
        assert measured.differences


@pytest.mark.parametrize("version", [pb.HAL_VERSION_1_2, pb.HAL_VERSION_1_3])
def test_one_prepared_model_runs_in_several_shapes(
    device: VirtualDevice, service: Service, version: pb.HalVersion, tmp_path: Path
) -> None:
    """Its dimensions cross as unspecified, and requests have their shapes."""
    graph, outputs = any_image()
    path = tmp_path / "model.tflite"
    path.write_bytes(graph.content(*outputs))
    shapes = ["1,6,6,3", "3,9,4,3", "2,1,1,3"]
    benchmark_model = DynamicModel(
        tuple(
            FileModel(path, options=ReadOptions(Shapes.parse([each], [])), dynamic=True)
            for each in shapes
        )
    )
    options = pb.RunOptions(hal_version=version)
    engine = HalyardDevice(device, Target.hidl(service.instance), options)
    found = measure_shapes(engine, benchmark_model)
    assert [each.problems for each in found] == [[], [], []]
    counts = [[each.count for each in one.differences or []] for one in found]
    assert counts == [[5, 36], [15, 120], [10, 8]]
