# SPDX-License-Identifier: Apache-2.0
"""A small spec, and the parts of a case that tests of the spec language look at."""

from collections.abc import Callable

import numpy as np

from halyard.cases import Case
from halyard.model import dtype_of
from halyard.proto import halyard_pb2 as pb

Load = Callable[..., dict[str, Case]]

RELU = """
x = Input("x", ("TENSOR_FLOAT32", [4]))
z = Output("z", ("TENSOR_FLOAT32", [4]))
model = Model().Operation("RELU", x).To(z)
feed = {x: [-1, 0, 1, 2], z: [0, 0, 1, 2]}
"""


def operands(case: Case) -> dict[str, pb.Operand]:
    return {operand.name: operand for operand in case.test_case.model.main.operands}


def fed(case: Case) -> list[list[float]]:
    main = case.test_case.model.main
    return [
        np.frombuffer(value.data, dtype_of(main.operands[index].type)).tolist()
        for index, value in zip(main.input_indexes, case.test_case.examples[0].inputs, strict=True)
    ]


def expected(case: Case) -> list[list[float]]:
    return [output.values.tolist() for output in case.expected]
