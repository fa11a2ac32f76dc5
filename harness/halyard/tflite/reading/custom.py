# SPDX-License-Identifier: Apache-2.0
"""Custom operators, by the names that they go by."""

from __future__ import annotations

from collections.abc import Mapping

from halyard.errors import NotExpressible
from halyard.model.budget import excerpt
from halyard.tflite.reading import detection, mediapipe
from halyard.tflite.reading.file import Operator
from halyard.tflite.reading.mapper import Handler, Mapper

_HANDLERS: Mapping[str, Handler] = {
    "Convolution2DTransposeBias": mediapipe.transposed_convolution,
    "MaxPoolingWithArgmax2D": mediapipe.pooling_with_places,
    "MaxUnpooling2D": mediapipe.unpooling,
    detection.POSTPROCESSING: detection.postprocessing,
}
# Those whose meaning is public, but for which there is neither a mapping nor a kernel of LiteRT's.
_MEDIAPIPE = frozenset(
    {"Landmarks2TransformMatrix", "TransformLandmarks", "TransformTensorBilinear"}
)


def custom(mapper: Mapper, operator: Operator) -> None:
    handler = _HANDLERS.get(operator.kind)
    if handler is not None:
        handler(mapper, operator)
        return
    if operator.kind in _MEDIAPIPE:
        raise NotExpressible(
            "an operator of MediaPipe's, which LiteRT's interpreter has no kernel for: only "
            "MediaPipe itself runs it"
        )
    if operator.kind.startswith("Flex"):
        raise NotExpressible(
            f"TensorFlow's {excerpt(operator.kind[4:])}, which takes TensorFlow's Flex delegate"
        )
    raise NotExpressible("a custom operator, which only its own runtime knows")
