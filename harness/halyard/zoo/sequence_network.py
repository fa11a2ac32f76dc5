# SPDX-License-Identifier: Apache-2.0
"""Composes a network that sees a sequence: attention, normalisation, LSTMs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halyard.model import TensorType
from halyard.model.arguments import TANH
from halyard.proto import halyard_pb2 as pb
from halyard.zoo.network import Floats, Layer, Network, float_tensor

# Replaces a variance of zero.
_EPSILON = 1e-5

# How far the sums of an LSTM's gates spread over the samples: so far that gates open and close.
_GATE_DEVIATION = 1.5
# Forgetting is rare, so that the state lasts.
_FORGET_BIAS = 1.5
# Rows of a projection: what they project is about half as far from zero as a unit.
_PROJECTION_LENGTH = 1.5
_GATES = ("input", "forget", "cell", "output")


class SequenceNetwork(Network):
    def number(self, name: str, value: float) -> Layer:
        """A constant of one element."""
        return self.constant(self.numbered(name), np.array([value], np.float32))

    def transpose(self, data: Layer, order: Sequence[int]) -> Layer:
        name = self.numbered("transpose")
        return self.append(pb.OPERATION_TYPE_TRANSPOSE, name, data, self.vector("order", order))

    def split(self, data: Layer, axis: int, count: int) -> list[Layer]:
        names = [self.numbered("split") for _ in range(count)]
        arguments = self.builder.int32(axis), self.builder.int32(count)
        return self.append_n(pb.OPERATION_TYPE_SPLIT, names, data, *arguments)

    def batch_matmul(self, a: Layer, b: Layer, *, transpose_b: bool = False) -> Layer:
        flags = self.builder.boolean(False), self.builder.boolean(transpose_b)
        return self.append(
            pb.OPERATION_TYPE_BATCH_MATMUL, self.numbered("batch_matmul"), a, b, *flags
        )

    def layer_norm(self, data: Layer) -> Layer:
        """Over the last axis, of the operations that converters make of it. All of it has a scope
        of its own."""
        scope = self.numbered("layer_norm")
        last = (-1,)
        centred = self.sub(data, self.mean(data, last, f"{scope}/mean"), f"{scope}/centred")
        squares = self.mul(centred, centred, f"{scope}/squares")
        variance = self.mean(squares, last, f"{scope}/variance")
        epsilon = self.constant(f"{scope}/epsilon", np.array([_EPSILON], np.float32))
        shifted = self.add(variance, epsilon, name=f"{scope}/shifted")
        inverse = self.append(pb.OPERATION_TYPE_RSQRT, f"{scope}/inverse", shifted)
        normal = self.mul(centred, inverse, f"{scope}/normal")
        gamma = self.random.uniform(0.6, 1.2, data.channels).astype(np.float32)
        beta = self.random.normal(0, 0.2, data.channels).astype(np.float32)
        scaled = self.mul(normal, self.constant(f"{scope}/gamma", gamma), f"{scope}/scaled")
        return self.add(scaled, self.constant(f"{scope}/beta", beta), name=f"{scope}/output")

    # ---- LSTMs ----------------------------------------------------------------------------------

    def sequence_lstm(self, data: Layer, units: int, outputs: int) -> Layer:
        """UNIDIRECTIONAL_SEQUENCE_LSTM with a projection: [1, frames, outputs]."""
        rows = data.samples.reshape(-1, data.channels)
        name = self.numbered("lstm")
        weights = self._cell(name, rows, units, outputs)
        states = self._zero_states(name, units, outputs)
        arguments = [*self._cell_arguments(), self.builder.boolean(False)]
        omitted = [self._omitted(float_tensor((units,)))] * 4
        return self.append(
            pb.OPERATION_TYPE_UNIDIRECTIONAL_SEQUENCE_LSTM,
            name,
            data,
            *weights,
            *states,
            *arguments,
            *omitted,
        )

    def lstm_steps(self, frames: Sequence[Layer], units: int, outputs: int) -> list[Layer]:
        """An LSTM with a projection for each frame [1, features]; all have the same weights."""
        rows = np.concatenate([frame.samples for frame in frames])
        name = self.numbered("lstm")
        weights = self._cell(name, rows, units, outputs)
        output_state, cell_state = self._zero_states(name, units, outputs)
        arguments = self._cell_arguments()
        results = []
        for number, frame in enumerate(frames):
            kinds = ("scratch", "output_state", "cell_state", "output")
            _, output_state, cell_state, output = self.append_n(
                pb.OPERATION_TYPE_LSTM,
                [f"{name}/{kind}_{number}" for kind in kinds],
                frame,
                *weights,
                output_state,
                cell_state,
                *arguments,
            )
            results.append(output)
        return results

    def _cell(self, name: str, rows: Floats, units: int, outputs: int) -> list[Layer | int]:
        """Inputs 1 to 17: an input gate, no peepholes, and a projection without a bias."""
        from_input, recurrent, biases = [], [], []
        for gate in _GATES:
            weights = self.filter(units, rows.shape[1])
            from_input.append(weights * np.float32(_GATE_DEVIATION / (rows @ weights.T).std()))
            recurrent.append(_of_length(self.filter(units, outputs), 1.0))
            centre = _FORGET_BIAS if gate == "forget" else 0.0
            biases.append(self.random.normal(centre, 0.3, units).astype(np.float32))
        projection = _of_length(self.filter(outputs, units), _PROJECTION_LENGTH)

        def named(kind: str, arrays: Sequence[Floats]) -> list[Layer]:
            pairs = zip(_GATES, arrays, strict=True)
            return [self.constant(f"{name}/{gate}_{kind}", array) for gate, array in pairs]

        return [
            *named("weights", from_input),
            *named("recurrent_weights", recurrent),
            *[self._omitted(float_tensor((units,)))] * 3,
            *named("bias", biases),
            self.constant(f"{name}/projection_weights", projection),
            self._omitted(float_tensor((outputs,))),
        ]

    def _zero_states(self, name: str, units: int, outputs: int) -> tuple[Layer, Layer]:
        return (
            self.constant(f"{name}/output_state", np.zeros((1, outputs), np.float32)),
            self.constant(f"{name}/cell_state", np.zeros((1, units), np.float32)),
        )

    def _cell_arguments(self) -> list[int]:
        """A tanh, and no clipping."""
        return [self.builder.int32(TANH), self.builder.float32(0.0), self.builder.float32(0.0)]

    def _omitted(self, tensor: TensorType) -> int:
        return self.builder.omitted(tensor)


def _of_length(weights: Floats, length: float) -> Floats:
    """The weights with rows of that length, in the root mean square."""
    return weights * np.float32(length / np.sqrt(np.square(weights).sum(axis=1).mean()))
