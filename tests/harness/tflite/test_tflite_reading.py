# SPDX-License-Identifier: Apache-2.0
"""Models converted from .tflite files give the results of LiteRT on the files themselves."""

from pathlib import Path

import pytest

from halyard.benchmark_model import FileModel
from halyard.engines.workload import Workload
from halyard.errors import NotExpressible
from halyard.proto import halyard_pb2 as pb
from halyard.transport.hal_version import lowest_version

pytest.importorskip("ai_edge_litert.interpreter")

from tests.harness.tflite_file import GraphFile
from tests.harness.tflite_models import check, conv_net, half_weights, operations, per_channel


def test_a_conv_net_is_mapped_operator_by_operator(tmp_path: Path) -> None:
    found = check(*conv_net(), tmp_path)
    assert operations(found) == [
        "CONV_2D",
        "PAD",
        "DEPTHWISE_CONV_2D",
        "ADD",
        "MAX_POOL_2D",
        "RESHAPE",
        "FULLY_CONNECTED",
        "SOFTMAX",
    ]
    assert lowest_version(found.model) == pb.HAL_VERSION_1_1


def test_scales_per_channel_stay_with_their_filters(tmp_path: Path) -> None:
    found = check(*per_channel(), tmp_path)
    _, filters, bias, *_ = (
        found.model.main.operands[index] for index in found.model.main.operations[0].inputs
    )
    assert filters.type == pb.OPERAND_TYPE_TENSOR_QUANT8_SYMM_PER_CHANNEL
    assert len(filters.channel_quant.scales) == 8
    assert bias.scale == 0, "which stands for one per channel"


def test_half_weights_become_floats_before_anything_runs(tmp_path: Path) -> None:
    found = check(*half_weights(), tmp_path)
    assert operations(found) == ["CONV_2D"]


def test_litert_is_given_the_file_itself(tmp_path: Path) -> None:
    """Where it takes and gives other types than NNAPI, it is written anew."""
    graph, outputs = conv_net()
    path = tmp_path / "model.tflite"
    path.write_bytes(graph.content(*outputs))
    with Workload.seeded(FileModel(path).runnable, 0) as work:
        assert work.tflite() == path
    graph = GraphFile()
    source, truth = graph.input((2, 3)), graph.tensor((2, 3), "bool")
    graph.add("LESS", [source, source], [truth])
    other = tmp_path / "other.tflite"
    other.write_bytes(graph.content(truth))
    with (
        Workload.seeded(FileModel(other).runnable, 0) as work,
        pytest.raises(NotExpressible, match="operation 0"),
    ):
        work.tflite()
