# SPDX-License-Identifier: Apache-2.0
"""The architectures of the zoo, by name."""

from __future__ import annotations

from halyard.model import DataType
from halyard.zoo import deeplab, mobilenet, resnet, sequences, ssd
from halyard.zoo.architecture import ALL_TYPES, Architecture

# NNAPI's BATCH_MATMUL has no unsigned form.
_NOT_UNSIGNED = tuple(item for item in ALL_TYPES if item is not DataType.QUANT8)
# Its LSTMs are either floats or, as operations of their own, signed.
_FLOATS = DataType.FLOAT32, DataType.FLOAT16
_SIGNED = (DataType.QUANT8_SIGNED,)

ARCHITECTURES: dict[str, Architecture] = {
    "deeplab_v3_mobilenet_v2": Architecture(deeplab.deeplab_v3_mobilenet_v2, 513, 21),
    "efficientnet_lite0": Architecture(mobilenet.efficientnet_lite0, 224, 1000),
    "lstm_speech": Architecture(sequences.lstm_speech, 100, 128, _FLOATS),
    "mobilenet_v1": Architecture(mobilenet.mobilenet_v1, 224, 1001),
    "mobilenet_v2": Architecture(mobilenet.mobilenet_v2, 224, 1001),
    "mobilenet_v3_large": Architecture(mobilenet.mobilenet_v3_large, 224, 1001),
    "qlstm_speech": Architecture(sequences.qlstm_speech, 16, 128, _SIGNED),
    "resnet_50": Architecture(resnet.resnet_50, 224, 1001),
    "small_classifier": Architecture(resnet.small_classifier, 224, 1001),
    "ssd_mobilenet_v2": Architecture(ssd.ssd_mobilenet_v2, 300, 91),
    "transformer_encoder": Architecture(sequences.transformer_encoder, 128, 128, _NOT_UNSIGNED),
}
