# SPDX-License-Identifier: Apache-2.0
"""Shapes that follow from those of a model's inputs, as the driver of this package infers them."""

from __future__ import annotations

import math
import subprocess
from collections.abc import Mapping
from pathlib import Path

from halyard import paths
from halyard.errors import HalyardError
from halyard.model.exposure import exposed
from halyard.model.operands import dtype_of, is_tensor
from halyard.programs import native, protobuf_stream
from halyard.programs.case_status import failures
from halyard.proto import halyard_pb2 as pb

_MAX_INPUT_BYTES = 2**30
_ENOUGH = (pb.ERROR_STATUS_NONE, pb.ERROR_STATUS_OUTPUT_INSUFFICIENT_SIZE)


def shaped(model: pb.Model, shapes: Mapping[int, tuple[int, ...]]) -> pb.Model:
    """The model with no dimension unspecified, once its inputs have these shapes, by operand.
    HalyardError where they do not go with it."""
    whole = pb.Model()
    whole.CopyFrom(model)
    main = whole.main
    for index, shape in shapes.items():
        main.operands[index].dimensions[:] = shape
    # Nothing to be told is no unspecified rank: NNAPI has no scalar tensors.
    unknown = [
        index
        for operation in main.operations
        for index in operation.outputs
        if index < len(main.operands)
        and is_tensor(main.operands[index].type)
        and (not main.operands[index].dimensions or 0 in main.operands[index].dimensions)
    ]
    if unknown:
        for index, dimensions in _inferred(whole, unknown).items():
            main.operands[index].dimensions[:] = dimensions
    return whole


def _inferred(model: pb.Model, unknown: list[int]) -> dict[int, list[int]]:
    """Of operands that operations write: what an execution says that offers their values no
    room."""
    temporaries = [
        index
        for index in unknown
        if model.main.operands[index].lifetime == pb.OPERAND_LIFE_TIME_TEMPORARY_VARIABLE
    ]
    asking = exposed(model, temporaries)
    example = pb.Example()
    for index in asking.main.input_indexes:
        operand = asking.main.operands[index]
        try:
            size = math.prod(operand.dimensions) * dtype_of(operand.type).itemsize
        except KeyError as error:
            raise HalyardError(f"input {operand.name!r} is of a type without values") from error
        if size > _MAX_INPUT_BYTES:
            raise HalyardError(f"an input takes {size} bytes, which is too much")
        example.inputs.add(data=bytes(size), dimensions=operand.dimensions)
    for _ in asking.main.output_indexes:
        example.outputs.add()
    result = _executed(pb.TestCase(model=asking, examples=[example]))
    said = failures(result)
    if not result.examples or result.examples[0].status not in _ENOUGH:
        raise HalyardError(f"shapes do not follow from those of its inputs: {'; '.join(said)}")
    outputs = zip(asking.main.output_indexes, result.examples[0].outputs, strict=True)
    found = {index: list(output.dimensions) for index, output in outputs if index in unknown}
    for index, dimensions in found.items():
        if not dimensions or 0 in dimensions:
            name = asking.main.operands[index].name or f"operand {index}"
            raise HalyardError(f"the shape of {name!r} does not follow from those of its inputs")
    return found


def _executed(case: pb.TestCase) -> pb.CaseResult:
    program = native.program(native.RUNNER)
    with paths.Temporary("shapes") as folder:
        bundle, options, results = (folder / name for name in ("bundle", "options", "results"))
        bundle.write_bytes(protobuf_stream.write([case]))
        options.write_bytes(pb.RunOptions(timeout_s=60).SerializeToString())
        command: list[str | Path] = [program, "--target", "in-process", "--bundle", bundle]
        command += ["--options", options, "--results", results]
        done = subprocess.run(command, capture_output=True, text=True)
        content = results.read_bytes() if results.exists() else b""
        answers = list(protobuf_stream.read(content, pb.CaseResult))
    if len(answers) != 1:
        raise HalyardError(f"{program} gave no shapes: {done.stderr.strip()}")
    return answers[0]
