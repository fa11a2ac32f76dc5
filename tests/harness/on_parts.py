# SPDX-License-Identifier: Apache-2.0
"""A converted model's outputs: NNAPI's parts by the driver in a process on this machine, the host's
by ONNX Runtime."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from halyard.comparison.difference import compare
from halyard.engines.halyard import HalyardProcess
from halyard.engines.original import engine_of, run_file, run_part
from halyard.model import Array, Conversion, NnapiPart, RunnableModel, TensorInfo, operation_name
from halyard.model.fitting import fitted
from tests.harness.agreement import disagreements
from tests.harness.on_engine import outputs_of


def original(path: Path, inputs: Sequence[Array]) -> list[Array]:
    """Of the file in its own engine."""
    return run_file(engine_of("ONNX", 1), path, inputs, 1, 0)[0]


def converted(conversion: Conversion, inputs: Sequence[Array]) -> list[Array]:
    values = {info.name: array for info, array in zip(conversion.inputs, inputs, strict=True)}
    for part in conversion.parts:
        given = [values[name] for name in part.inputs]
        if isinstance(part, NnapiPart):
            infos = RunnableModel.of(part.model).inputs
            fitting = [fitted(*each) for each in zip(given, infos, strict=True)]
            results = outputs_of(HalyardProcess(), part.model, fitting)
        else:
            results, _ = run_part(part, given, 1, 0, threads=1)
        values |= dict(zip(part.outputs, results, strict=True))
    return [fitted(values[info.name], info) for info in conversion.outputs]


def inputs_for(infos: Sequence[TensorInfo], seed: int = 0) -> list[Array]:
    """Numbers between -1 and 1; indexes and truth values of 0 and 1; all bytes."""
    random = np.random.default_rng(seed)
    made = []
    for info in infos:
        if np.issubdtype(info.dtype, np.floating):
            made.append(random.uniform(-1, 1, info.shape).astype(info.dtype))
        elif info.dtype.itemsize == 1 and info.dtype != np.bool_:
            limits = np.iinfo(info.dtype)
            made.append(random.integers(limits.min, limits.max, info.shape, info.dtype))
        else:
            made.append(random.integers(0, 2, info.shape).astype(info.dtype))
    return made


def problems(conversion: Conversion, path: Path, seed: int = 0) -> list[str]:
    """Where the two disagree by more than compare.py allows; 8-bit and whole numbers must be the
    same."""
    inputs = inputs_for(conversion.inputs, seed)
    expected = original(path, inputs)
    found = converted(conversion, inputs)
    differences = []
    for info, wanted, actual in zip(conversion.outputs, expected, found, strict=True):
        assert actual.shape == wanted.shape
        assert info.is_open or wanted.shape == info.shape
        differences.append(compare(info, wanted, actual))
    count = sum(
        len(part.model.main.operations) for part in conversion.parts if isinstance(part, NnapiPart)
    )
    wrong = [
        each.text()
        for info, each in zip(conversion.outputs, differences, strict=True)
        if not np.issubdtype(info.dtype, np.floating) and each.max_abs_error != 0
    ]
    return wrong + disagreements(differences, count)


def operations(conversion: Conversion) -> list[str]:
    """Of all NNAPI parts, in their order."""
    return [
        operation_name(operation.type)
        for part in conversion.parts
        if isinstance(part, NnapiPart)
        for operation in part.model.main.operations
    ]


def counted(names: Sequence[str]) -> Mapping[str, int]:
    return {name: list(names).count(name) for name in names}
