# SPDX-License-Identifier: Apache-2.0
"""Golden cases: models with inputs and the outputs that the NNAPI specs give for them.

A file is gzip'd JSON, {"schema": 1, "spec": ..., "cases": [...]}; an index.json lists the files of
a folder. Every case becomes a pb.TestCase with one example, and keeps what its check needs.
"""

from __future__ import annotations

import base64
import gzip
import json
import math
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from halyard.conformance.case import Case
from halyard.conformance.check import ExpectedOutput, Multinomial, Tolerance
from halyard.errors import HalyardError
from halyard.model import dtype_of
from halyard.proto import halyard_pb2 as pb

_SCHEMA = 1
_VERSIONS = {
    "V1_0": pb.HAL_VERSION_1_0,
    "V1_1": pb.HAL_VERSION_1_1,
    "V1_2": pb.HAL_VERSION_1_2,
    "V1_3": pb.HAL_VERSION_1_3,
}
# Constants start at multiples of this in their pool.
_ALIGNMENT = 4


def load(path: Path | str) -> list[Case]:
    """The cases of one file, or of a folder with an index.json, that HAL 1.3 can carry.

    HalyardError for what is not there, not readable or not of the known schema.
    """
    path = Path(path)
    return [
        case for file in (files(path) if path.is_dir() else [path]) for case in _load_file(file)
    ]


def files(folder: Path) -> list[Path]:
    """What the index.json of a folder lists. HalyardError where there is none that can be read."""
    index = folder / "index.json"
    try:
        return [folder / entry["file"] for entry in _read(index)["specs"]]
    except (KeyError, TypeError) as error:
        raise HalyardError(f"{index}: not an index of golden cases: {error!r}") from error


def _load_file(path: Path) -> list[Case]:
    document = _read(path)
    if document.get("schema") != _SCHEMA:
        raise HalyardError(f"{path}: schema {document.get('schema')}, not {_SCHEMA}")
    try:
        return [
            _Loader(document["spec"], case).run()
            for case in document["cases"]
            if case["halVersion"] in _VERSIONS
        ]
    except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
        raise HalyardError(f"{path}: not a file of golden cases: {error!r}") from error


def _read(path: Path) -> dict[str, Any]:
    try:
        data = path.read_bytes()
        document = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise HalyardError(f"{path}: {error}") from error
    if not isinstance(document, dict):
        raise HalyardError(f"{path}: not a file of golden cases")
    return document


class _Loader:
    """Turns one case of a file into a Case."""

    def __init__(self, spec: str, case: Mapping[str, Any]) -> None:
        self._spec = spec
        self._case = case
        self._model = pb.Model(
            name=case["name"], relax_computation_float32_to_float16=case["isRelaxed"]
        )
        self._values = bytearray()
        self._pool = bytearray()

    def run(self) -> Case:
        case = self._case
        self._subgraph(self._model.main, case["main"])
        for subgraph in case["referenced"]:
            self._subgraph(self._model.referenced.add(), subgraph)
        self._model.operand_values = bytes(self._values)
        if self._pool:
            self._model.pools.append(bytes(self._pool))
        operands = case["main"]["operands"]
        inputs = [operands[index] for index in case["main"]["inputIndexes"]]
        expected = tuple(self._expected(operands[index]) for index in case["main"]["outputIndexes"])
        return Case(
            name=case["name"],
            spec=self._spec,
            test_case=pb.TestCase(
                name=case["name"],
                model=self._model,
                examples=[_example(case["name"], inputs, expected)],
            ),
            expected=expected,
            hal_version=_VERSIONS[case["halVersion"]],
            expect_failure=case["expectFailure"],
            tags=frozenset(case["tags"]),
            lifetime_variants=tuple(tuple(names) for names in case["droppedVariants"]),
            multinomial=self._multinomial(inputs),
        )

    def _subgraph(self, subgraph: pb.Subgraph, source: Mapping[str, Any]) -> None:
        for entry in source["operands"]:
            operand = subgraph.operands.add(
                type=pb.OperandType.Value(f"OPERAND_TYPE_{entry['type']}"),
                lifetime=pb.OperandLifeTime.Value(f"OPERAND_LIFE_TIME_{entry['lifetime']}"),
                name=entry["name"],
            )
            self._operand(operand, entry)
        for entry in source["operations"]:
            subgraph.operations.add(
                type=pb.OperationType.Value(f"OPERATION_TYPE_{entry['type']}"),
                inputs=entry["inputs"],
                outputs=entry["outputs"],
            )
        subgraph.input_indexes.extend(source["inputIndexes"])
        subgraph.output_indexes.extend(source["outputIndexes"])

    def _operand(self, operand: pb.Operand, source: Mapping[str, Any]) -> None:
        operand.dimensions.extend(source["dimensions"])
        operand.scale = source["scale"]
        operand.zero_point = source["zeroPoint"]
        if "channelQuant" in source:
            operand.channel_quant.scales.extend(source["channelQuant"]["scales"])
            operand.channel_quant.channel_dim = source["channelQuant"]["channelDim"]
        data = base64.b64decode(source["data"] or "")
        if operand.lifetime == pb.OPERAND_LIFE_TIME_CONSTANT_COPY:
            _place(operand, self._values, data)
        elif operand.lifetime == pb.OPERAND_LIFE_TIME_CONSTANT_REFERENCE:
            _place(operand, self._pool, data)
        elif operand.lifetime == pb.OPERAND_LIFE_TIME_SUBGRAPH:
            operand.location.offset = int(np.frombuffer(data, "<u4")[0])

    def _expected(self, source: Mapping[str, Any]) -> ExpectedOutput:
        operand_type = pb.OperandType.Value(f"OPERAND_TYPE_{source['type']}")
        data = base64.b64decode(source["data"])
        values = np.frombuffer(data, dtype_of(operand_type))
        dimensions = _shape(source["dimensions"], values.size)
        tolerance = self._case["tolerance"].get(source["type"])
        bounds = Tolerance(tolerance["atol"], tolerance["rtol"]) if tolerance else None
        ignored = bool(source.get("isIgnored"))
        return ExpectedOutput(source["name"], dimensions, values, bounds, ignored)

    def _multinomial(self, inputs: Sequence[Mapping[str, Any]]) -> Multinomial | None:
        tolerance = self._case["expectedMultinomialDistributionTolerance"]
        if not tolerance:
            return None
        logits = inputs[0]
        operand_type = pb.OperandType.Value(f"OPERAND_TYPE_{logits['type']}")
        values = np.frombuffer(base64.b64decode(logits["data"]), dtype_of(operand_type))
        return Multinomial(values.reshape(logits["dimensions"]).astype(np.float64), tolerance)


def _place(operand: pb.Operand, pool: bytearray, data: bytes) -> None:
    pool.extend(bytes(-len(pool) % _ALIGNMENT))
    operand.location.offset = len(pool)
    operand.location.length = len(data)
    pool.extend(data)


def _shape(dimensions: Sequence[int], count: int) -> tuple[int, ...]:
    """The shape of a value. One unspecified dimension follows from the number of elements."""
    if count and list(dimensions).count(0) == 1:
        known = math.prod(extent for extent in dimensions if extent)
        return tuple(extent or count // known for extent in dimensions)
    return tuple(dimensions)


def _example(
    name: str, inputs: Sequence[Mapping[str, Any]], outputs: Sequence[ExpectedOutput]
) -> pb.Example:
    example = pb.Example(name=name)
    for source in inputs:
        data = base64.b64decode(source["data"])
        value = example.inputs.add(data=data, has_no_value=not data)
        if data and 0 in source["dimensions"]:
            dtype = dtype_of(pb.OperandType.Value(f"OPERAND_TYPE_{source['type']}"))
            value.dimensions.extend(_shape(source["dimensions"], len(data) // dtype.itemsize))
    for output in outputs:
        # An empty result is offered a byte, too.
        example.outputs.add(byte_size=max(1, output.values.nbytes))
    return example
