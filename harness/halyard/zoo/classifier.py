# SPDX-License-Identifier: Apache-2.0
"""The end of a network that tells classes."""

from __future__ import annotations

from halyard.proto import halyard_pb2 as pb
from halyard.zoo.image_network import ImageNetwork
from halyard.zoo.network import Layer, Network


def classified(network: Network, logits: Layer) -> pb.Model:
    """Probabilities, and the logits as well: most probabilities are next to 0, and nearly nothing
    is told by comparing those."""
    return network.build(network.softmax(logits, "probabilities"), logits)


def pooled_classifier(network: ImageNetwork, layer: Layer, classes: int) -> pb.Model:
    return classified(network, network.classifier(network.global_average_pool(layer), classes))
