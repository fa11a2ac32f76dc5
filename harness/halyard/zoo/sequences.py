# SPDX-License-Identifier: Apache-2.0
"""Networks that see a sequence: a transformer's encoder, and recurrent models of speech.

A size is a number of frames, or of tokens.
"""

from __future__ import annotations

import math

from halyard.model.arguments import Activation
from halyard.proto import halyard_pb2 as pb
from halyard.zoo.architecture import make_divisible
from halyard.zoo.classifier import classified
from halyard.zoo.network import Layer
from halyard.zoo.sequence_network import SequenceNetwork

_LAYERS = 4
_HEADS = 4
_HEAD_WIDTH = 64
_FEED_FORWARD = 4


def transformer_encoder(size: int, width: float, seed: int, classes: int) -> pb.Model:
    """The encoder of Vaswani et al. 2017 from embeddings on, with the normalisation after each
    sum, and a classifier on what the tokens have in the mean."""
    network = SequenceNetwork("transformer_encoder", seed)
    head = make_divisible(_HEAD_WIDTH * width)
    depth = _HEADS * head
    # Rows of tokens, as fully connected layers take and give them.
    layer = network.reshape(network.input("embeddings", (1, size, depth)), (size, depth))
    for _ in range(_LAYERS):
        layer = network.layer_norm(network.add(layer, _attention(network, layer, size, head)))
        hidden = network.fully_connected(layer, _FEED_FORWARD * depth, Activation.RELU)
        hidden = network.fully_connected(hidden, depth, Activation.NONE)
        layer = network.layer_norm(network.add(layer, hidden))
    sequence = network.reshape(layer, (1, size, depth), "encoded")
    pooled = network.reshape(network.mean(sequence, (1,)), (1, depth))
    return network.build(network.logits(pooled, classes), sequence)


def _attention(network: SequenceNetwork, data: Layer, size: int, head: int) -> Layer:
    depth = _HEADS * head

    def heads() -> Layer:
        projected = network.fully_connected(data, depth, Activation.NONE)
        split = network.reshape(projected, (1, size, _HEADS, head))
        return network.transpose(split, (0, 2, 1, 3))

    queries, keys, values = heads(), heads(), heads()
    queries = network.mul(queries, network.number("scale", 1 / math.sqrt(head)))
    shares = network.softmax(network.batch_matmul(queries, keys, transpose_b=True))
    seen = network.transpose(network.batch_matmul(shares, values), (0, 2, 1, 3))
    joined = network.reshape(seen, (size, depth))
    return network.fully_connected(joined, depth, Activation.NONE)


# Log-mel features of speech, three frames of 80 at a time.
_FEATURES = 240
_UNITS = 512
_OUTPUTS = 256


def lstm_speech(size: int, width: float, seed: int, classes: int) -> pb.Model:
    """Two LSTMs with projections, and a class for each frame."""
    network = SequenceNetwork("lstm_speech", seed)
    layer = network.input("frames", (1, size, _FEATURES))
    outputs = make_divisible(_OUTPUTS * width)
    for _ in range(2):
        layer = network.sequence_lstm(layer, make_divisible(_UNITS * width), outputs)
    return classified(network, network.logits(network.reshape(layer, (size, outputs)), classes))


def qlstm_speech(size: int, width: float, seed: int, classes: int) -> pb.Model:
    """The same with a step at a time, which is how NNAPI has quantised LSTMs, and a class for the
    last frame."""
    network = SequenceNetwork("qlstm_speech", seed)
    frames = network.split(network.input("frames", (1, size, _FEATURES)), 1, size)
    layers = [network.reshape(frame, (1, _FEATURES)) for frame in frames]
    for _ in range(2):
        units, outputs = make_divisible(_UNITS * width), make_divisible(_OUTPUTS * width)
        layers = network.lstm_steps(layers, units, outputs)
    return classified(network, network.logits(layers[-1], classes))
