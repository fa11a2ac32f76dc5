# SPDX-License-Identifier: Apache-2.0
"""What .tflite files become for NNAPI gives what LiteRT gives of the files themselves."""

from pathlib import Path

import pytest

from halyard.hal_version import lowest_version
from halyard.proto import halyard_pb2 as pb

pytest.importorskip("ai_edge_litert.interpreter")

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
    filters = found.model.main.operands[found.model.main.operations[0].inputs[1]]
    assert filters.type == pb.OPERAND_TYPE_TENSOR_QUANT8_SYMM_PER_CHANNEL
    assert len(filters.channel_quant.scales) == 8


def test_half_weights_become_floats_before_anything_runs(tmp_path: Path) -> None:
    found = check(*half_weights(), tmp_path)
    assert operations(found) == ["CONV_2D"]
