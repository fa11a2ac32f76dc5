# SPDX-License-Identifier: Apache-2.0
"""Halyard's own files: a serialised halyard.Model (halyard.proto)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from google.protobuf.message import DecodeError

from halyard.errors import HalyardError
from halyard.model import Conversion, NnapiPart, Source, byte_size, names_of, tensor_infos
from halyard.model.read_options import USUAL, ReadOptions
from halyard.model.shapes import Declared, OpenDimensions, Shapes, closed
from halyard.model.wire import is_cut_off
from halyard.proto import halyard_pb2 as pb
from halyard.runner.inference import shaped

# More than any model has for an input or output: a file may say anything.
MAX_OPERAND_BYTES = 2**30


def read_conversion(content: bytes, path: Path, options: ReadOptions = USUAL) -> Conversion:
    """HalyardError for a file that holds no model, or one whose shapes are not all known."""
    model = pb.Model()
    try:
        model.ParseFromString(content)
    except DecodeError as error:
        cut_off = f"it is cut off, at {len(content)} bytes"
        reason = cut_off if is_cut_off(content) else error
        raise HalyardError(f"{path}: this is no serialised halyard.Model: {reason}") from error
    main = model.main
    if not main.operations:
        raise HalyardError(f"{path}: a model without operations")
    for side, indexes in (("input", main.input_indexes), ("output", main.output_indexes)):
        for number, index in enumerate(indexes):
            if index >= len(main.operands):
                raise HalyardError(
                    f"{path}: {side} {number} is operand {index}, which is not there"
                )
    names = names_of(model)
    model = _closed(model, names, options.shapes, path)
    main = model.main
    for side, indexes in (("input", main.input_indexes), ("output", main.output_indexes)):
        for number, index in enumerate(indexes):
            _check(f"{path}: {side} {number}", main.operands[index])
    model.name = model.name or path.stem
    part = NnapiPart(
        model,
        tuple(names[index] for index in main.input_indexes),
        tuple(names[index] for index in main.output_indexes),
        names,
    )
    return Conversion(
        Source(path, "Halyard"),
        model,
        [part],
        tensor_infos(model, main.input_indexes),
        tensor_infos(model, main.output_indexes),
    )


def _closed(model: pb.Model, names: Mapping[int, str], said: Shapes, path: Path) -> pb.Model:
    """With the shapes of inputs that the model leaves open, and those that follow from them."""
    main = model.main
    tensors = [index for index in main.input_indexes if index in names]
    inputs = [
        Declared(
            names[index], tuple(extent or "" for extent in main.operands[index].dimensions) or None
        )
        for index in tensors
    ]
    try:
        shapes = closed(inputs, said).shapes
        return shaped(model, {index: shapes[names[index]] for index in tensors})
    except OpenDimensions as error:
        raise OpenDimensions(f"{path}: {error}", error.options) from error
    except HalyardError as error:
        raise HalyardError(f"{path}: {error}") from error


def _check(what: str, operand: pb.Operand) -> None:
    if 0 in operand.dimensions:
        raise HalyardError(f"{what} has unknown dimensions, and nothing here knows them")
    try:
        size = byte_size(operand)
    except KeyError as error:
        raise HalyardError(f"{what} is of a type without values") from error
    if size > MAX_OPERAND_BYTES:
        raise HalyardError(f"{what} takes {size} bytes, which is too much")
