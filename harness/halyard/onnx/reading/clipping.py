# SPDX-License-Identifier: Apache-2.0
"""Relu and Clip: what limits them, and which NNAPI has fused activations for."""

from __future__ import annotations

import math

from halyard.errors import NotExpressible
from halyard.model.arguments import Activation
from halyard.onnx.reading.network import Network, Node

FUSED = {
    (0.0, math.inf): Activation.RELU,
    (-1.0, 1.0): Activation.RELU1,
    (0.0, 6.0): Activation.RELU6,
}


def limits(network: Network, node: Node) -> tuple[float, float]:
    """Of a Relu or a Clip. NotExpressible where they are computed."""
    if node.operator == "Relu":
        return 0.0, math.inf
    found = [-math.inf, math.inf]
    for place, word in enumerate(("min", "max")):
        name = node.input(place + 1)
        if name:
            values = network.constants.get(name)
            if values is None or values.size != 1:
                raise NotExpressible(f"its {word} is computed, and NNAPI takes a constant")
            found[place] = float(values.reshape(-1)[0])
        elif node.has(word):
            found[place] = node.real(word, 0.0)
    low, high = found
    # Exporters write such bounds for no limit.
    return (low if low > -3e38 else -math.inf), (high if high < 3e38 else math.inf)


def fused(network: Network, node: Node) -> Activation | None:
    """The activation that an operation before it may do in its place."""
    if node.operator not in ("Relu", "Clip"):
        return None
    try:
        return FUSED.get(limits(network, node))
    except NotExpressible:
        return None
