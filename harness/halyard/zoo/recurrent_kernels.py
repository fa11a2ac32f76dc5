# SPDX-License-Identifier: Apache-2.0
"""A float32 LSTM cell in numpy, as NNAPI's LSTM and UNIDIRECTIONAL_SEQUENCE_LSTM have it.

Without what the zoo's networks leave out: the coupled input gate, peepholes and the normalisation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from halyard.zoo.float_kernels import Floats, logistic


@dataclass(frozen=True)
class Cell:
    """The gates are those of the input, of forgetting, of the cell and of the output, in this
    order: [units, features], [units, outputs] and [units] for each."""

    input_weights: tuple[Floats, ...]
    recurrent_weights: tuple[Floats, ...]
    biases: tuple[Floats, ...]
    projection: Floats | None = None  # [outputs, units]
    projection_bias: Floats | None = None
    cell_clip: float = 0.0  # 0: none
    projection_clip: float = 0.0

    def step(self, data: Floats, output: Floats, state: Floats) -> tuple[Floats, Floats]:
        """The next output and state, from input [batch, features]."""
        input_gate, forget_gate, update, output_gate = (
            data @ weights.T + output @ recurrent.T + bias
            for weights, recurrent, bias in zip(
                self.input_weights, self.recurrent_weights, self.biases, strict=True
            )
        )
        state = logistic(forget_gate) * state + logistic(input_gate) * np.tanh(update)
        if self.cell_clip > 0:
            state = np.clip(state, -np.float32(self.cell_clip), np.float32(self.cell_clip))
        output = logistic(output_gate) * np.tanh(state)
        if self.projection is not None:
            output = output @ self.projection.T
            if self.projection_bias is not None:
                output = output + self.projection_bias
            if self.projection_clip > 0:
                limit = np.float32(self.projection_clip)
                output = np.clip(output, -limit, limit)
        return output, state

    def run(self, data: Floats, output: Floats, state: Floats) -> Floats:
        """The outputs of all steps, from input [batch, steps, features]."""
        outputs = []
        for frame in range(data.shape[1]):
            output, state = self.step(data[:, frame], output, state)
            outputs.append(output)
        return np.stack(outputs, axis=1)
