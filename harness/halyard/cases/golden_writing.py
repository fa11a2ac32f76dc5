# SPDX-License-Identifier: Apache-2.0
"""Writes cases as golden data, which golden.py reads as the same cases."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from halyard.cases.assembly import VERSIONS
from halyard.cases.case import Case
from halyard.cases.golden import SCHEMA
from halyard.model import operation_name
from halyard.proto import halyard_pb2 as pb

Json = dict[str, Any]

_VERSION_NAMES = {version: name for name, version in VERSIONS.items()}


def write(path: Path, spec: str, cases: Sequence[Case]) -> None:
    """A file of the cases of one spec. The same cases give the same bytes."""
    document = {"schema": SCHEMA, "spec": spec, "cases": [as_json(case) for case in cases]}
    path.write_bytes(gzip.compress(json.dumps(document).encode(), mtime=0))


def as_json(case: Case) -> Json:
    model = case.test_case.model
    bounds = {} if case.multinomial is None else {"multinomial": case.multinomial.tolerance}
    written: Json = {
        "name": case.name,
        "halVersion": _VERSION_NAMES[case.hal_version],
        "isRelaxed": model.relax_computation_float32_to_float16,
        "expectFailure": case.expect_failure,
        "expectedMultinomialDistributionTolerance": bounds.get("multinomial", 0.0),
        "tolerance": {**bounds, **dict(_tolerances(case))},
        "tags": sorted(case.tags),
        "droppedVariants": [list(names) for names in case.lifetime_variants],
        "droppedVariantNames": list(case.lifetime_names),
        "main": _main(case),
        "referenced": [_subgraph(model, each, {}) for each in model.referenced],
    }
    if case.shapes_must_be_known:
        written["outputShapesMustBeKnown"] = True
    return written


def _tolerances(case: Case) -> Iterator[tuple[str, Json]]:
    """By the types of the outputs. An exact one need not be told."""
    main = case.test_case.model.main
    for index, expected in zip(main.output_indexes, case.expected, strict=True):
        if expected.tolerance is not None:
            bounds = expected.tolerance
            written = {"atol": bounds.absolute, "rtol": bounds.relative}
            yield _name(pb.OperandType, main.operands[index].type, "OPERAND_TYPE_"), written


def _main(case: Case) -> Json:
    """The main subgraph, with what is fed and what is expected."""
    model, example = case.test_case.model, case.test_case.examples[0]
    values = {
        index: value.data
        for index, value in zip(model.main.input_indexes, example.inputs, strict=True)
    }
    values |= {
        index: expected.values.tobytes()
        for index, expected in zip(model.main.output_indexes, case.expected, strict=True)
    }
    main = _subgraph(model, model.main, values)
    for index, operand in enumerate(main["operands"]):
        if index in case.never_internal:
            operand["mayBeInternal"] = False
        if index in case.never_input:
            operand["mayBeInput"] = False
    for index, expected in zip(model.main.output_indexes, case.expected, strict=True):
        if expected.ignored:
            main["operands"][index]["isIgnored"] = True
    return main


def _subgraph(model: pb.Model, subgraph: pb.Subgraph, values: Mapping[int, bytes]) -> Json:
    return {
        "operands": [
            _operand(model, operand, values.get(index))
            for index, operand in enumerate(subgraph.operands)
        ],
        "operations": [
            {
                "type": operation_name(operation.type),
                "inputs": list(operation.inputs),
                "outputs": list(operation.outputs),
            }
            for operation in subgraph.operations
        ],
        "inputIndexes": list(subgraph.input_indexes),
        "outputIndexes": list(subgraph.output_indexes),
    }


def _operand(model: pb.Model, operand: pb.Operand, value: bytes | None) -> Json:
    place = operand.location
    if operand.lifetime == pb.OPERAND_LIFE_TIME_CONSTANT_COPY:
        value = model.operand_values[place.offset : place.offset + place.length]
    elif operand.lifetime == pb.OPERAND_LIFE_TIME_CONSTANT_REFERENCE:
        value = model.pools[place.pool_index][place.offset : place.offset + place.length]
    elif operand.lifetime == pb.OPERAND_LIFE_TIME_SUBGRAPH:
        value = int(place.offset).to_bytes(4, "little")
    written: Json = {
        "name": operand.name,
        "type": _name(pb.OperandType, operand.type, "OPERAND_TYPE_"),
        "dimensions": list(operand.dimensions),
        "scale": operand.scale,
        "zeroPoint": operand.zero_point,
        "lifetime": _name(pb.OperandLifeTime, operand.lifetime, "OPERAND_LIFE_TIME_"),
        "data": None if value is None else base64.b64encode(value).decode(),
    }
    if operand.HasField("channel_quant"):
        written["channelQuant"] = {
            "channelDim": operand.channel_quant.channel_dim,
            "scales": list(operand.channel_quant.scales),
        }
    return written


def _name(enum: Any, code: int, prefix: str) -> str:
    return str(enum.Name(code)).removeprefix(prefix)
