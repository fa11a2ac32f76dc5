# SPDX-License-Identifier: Apache-2.0
"""Golden cases: models with inputs and the outputs that the NNAPI specs give for them.

A file is gzip'd JSON, {"schema": 1, "spec": ..., "cases": [...]}; an index.json lists the files of
a folder. Every case becomes a pb.TestCase with one example, and keeps what its check needs. What
golden_writing.py writes has a few fields more, which say what only a spec tells.
"""

from __future__ import annotations

import base64
import dataclasses
import gzip
import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from halyard.cases.assembly import (
    VERSIONS,
    Terms,
    ValuedOperand,
    ValuedSubgraph,
    assemble,
)
from halyard.cases.case import Case
from halyard.cases.check import Tolerance
from halyard.cases.names import Names, joined
from halyard.errors import HalyardError
from halyard.proto import halyard_pb2 as pb

SCHEMA = 1


def load(path: Path | str) -> list[Case]:
    """The cases of one file, or of a folder with an index.json, that a known HAL version can carry.

    HalyardError for what is not there, not readable or not of the known schema.
    """
    path = Path(path)
    return [
        case for file in (files(path) if path.is_dir() else [path]) for case in _load_file(file)
    ]


def files(folder: Path) -> list[Path]:
    """The entries of a folder's index.json. HalyardError where there is none that can be read."""
    index = folder / "index.json"
    try:
        return [folder / entry["file"] for entry in _read(index)["specs"]]
    except (KeyError, TypeError) as error:
        raise HalyardError(f"{index}: not an index of golden cases: {error!r}") from error


def _load_file(path: Path) -> list[Case]:
    document = _read(path)
    if document.get("schema") != SCHEMA:
        raise HalyardError(f"{path}: schema {document.get('schema')}, not {SCHEMA}")
    try:
        names = Names()
        return [
            _case(document["spec"], case, names)
            for case in document["cases"]
            if case["halVersion"] in VERSIONS
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


def _case(spec: str, case: Mapping[str, Any], names: Names) -> Case:
    """`names` are those that the forms with other lifetimes have got so far."""
    variations = [each["name"] for each in case.get("variation", [])]
    parts = (case.get("model"), case.get("example"), *variations)
    stem = joined(Path(spec).name.split(".")[0], *parts)
    dropped = tuple(tuple(each) for each in case["droppedVariants"])
    terms = Terms(
        name=case["name"],
        spec=spec,
        hal_version=VERSIONS[case["halVersion"]],
        expect_failure=case["expectFailure"],
        relaxed=case["isRelaxed"],
        tags=case["tags"],
        lifetime_variants=dropped,
        lifetime_names=tuple(
            case.get("droppedVariantNames")
            or [names.unique(joined(stem, *each)) for each in dropped]
        ),
        multinomial_tolerance=case["expectedMultinomialDistributionTolerance"] or 0.0,
    )
    tolerances = {
        pb.OperandType.Value(f"OPERAND_TYPE_{name}"): Tolerance(bounds["atol"], bounds["rtol"])
        for name, bounds in case["tolerance"].items()
        if name != "multinomial"
    }
    referenced = [subgraph(each) for each in case["referenced"]]
    found = assemble(terms, subgraph(case["main"]), referenced, tolerances)
    known = bool(case.get("outputShapesMustBeKnown"))
    return dataclasses.replace(found, shapes_must_be_known=known) if known else found


def subgraph(source: Mapping[str, Any]) -> ValuedSubgraph:
    """A subgraph as a file has it."""
    return ValuedSubgraph(
        operands=[_operand(entry) for entry in source["operands"]],
        operations=[
            pb.Operation(
                type=pb.OperationType.Value(f"OPERATION_TYPE_{entry['type']}"),
                inputs=entry["inputs"],
                outputs=entry["outputs"],
            )
            for entry in source["operations"]
        ],
        input_indexes=source["inputIndexes"],
        output_indexes=source["outputIndexes"],
    )


def _operand(source: Mapping[str, Any]) -> ValuedOperand:
    operand = pb.Operand(
        type=f"OPERAND_TYPE_{source['type']}",
        dimensions=source["dimensions"],
        scale=source["scale"],
        zero_point=source["zeroPoint"],
        lifetime=f"OPERAND_LIFE_TIME_{source['lifetime']}",
        name=source["name"],
    )
    if "channelQuant" in source:
        operand.channel_quant.scales.extend(source["channelQuant"]["scales"])
        operand.channel_quant.channel_dim = source["channelQuant"]["channelDim"]
    return ValuedOperand(
        operand,
        None if source["data"] is None else base64.b64decode(source["data"]),
        ignored=bool(source.get("isIgnored")),
        never_internal=not source.get("mayBeInternal", True),
        never_input=not source.get("mayBeInput", True),
    )
