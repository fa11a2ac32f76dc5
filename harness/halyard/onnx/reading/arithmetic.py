# SPDX-License-Identifier: Apache-2.0
"""Functions that are composed of several operations, step by step."""

from __future__ import annotations

from halyard.model.arguments import Activation
from halyard.onnx.reading.mapper import Layout, Mapper
from halyard.proto import halyard_pb2 as pb

# Abramowitz and Stegun, 7.1.26: within 1.5e-7 of erf, which is a step of float32 near 1.
_ERF = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)
_ERF_P = 0.3275911


class Arithmetic:
    """Steps on real operands."""

    def __init__(self, mapper: Mapper) -> None:
        self._mapper = mapper
        self._none = mapper.builder.int32(Activation.NONE)

    def add(self, a: int, b: float, fuse: Activation = Activation.NONE) -> int:
        return self._binary(pb.OPERATION_TYPE_ADD, a, b, fuse)

    def mul(self, a: int, b: float, fuse: Activation = Activation.NONE) -> int:
        return self._binary(pb.OPERATION_TYPE_MUL, a, b, fuse)

    def _binary(self, operation: int, a: int, b: float, fuse: Activation) -> int:
        """`b` is a number where it is no whole one, and else an operand."""
        other = self._mapper.number(b, a) if isinstance(b, float) else b
        code = self._mapper.builder.int32(fuse)
        return self._mapper.step(operation, [a, other, code])

    def inverse(self, a: int) -> int:
        mapper = self._mapper
        one = mapper.number(1.0, a)
        dims = mapper.builder.operand(a).dimensions
        return mapper.step(pb.OPERATION_TYPE_DIV, [one, a, self._none], dims)

    def unary(self, operation: int, a: int) -> int:
        return self._mapper.step(operation, [a])

    def finish_mul(self, name: str, a: int, b: float, layout: Layout) -> None:
        other = self._mapper.number(b, a) if isinstance(b, float) else b
        inputs = [a, other, self._none]
        self._mapper.define(name, pb.OPERATION_TYPE_MUL, inputs, layout)

    def erf_of_size(self, size: int) -> int:
        """Of what is not negative."""
        t = self.inverse(self.add(self.mul(size, _ERF_P), 1.0))
        series = self.mul(t, _ERF[0])
        for factor in _ERF[1:]:
            series = self.mul(self.add(series, factor), t)
        bell = self.unary(pb.OPERATION_TYPE_EXP, self.mul(self.mul(size, size), -1.0))
        return self.add(self.mul(self.mul(series, bell), -1.0), 1.0)
