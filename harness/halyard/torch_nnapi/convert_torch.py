# SPDX-License-Identifier: Apache-2.0
"""From PyTorch's files for NNAPI to a Conversion: the model that PyTorch would hand to NNAPI, as it
is. Where PyTorch turns an image's channels to the back before it does, the input has them there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from halyard.errors import HalyardError
from halyard.model import (
    Array,
    Conversion,
    ModelBuilder,
    NnapiPart,
    Source,
    TensorType,
    byte_size,
    dtype_of,
    is_tensor,
    tensor_infos,
)
from halyard.model.read_options import USUAL, ReadOptions
from halyard.model.shapes import Declared, OpenDimensions, closed
from halyard.proto import halyard_pb2 as pb
from halyard.runner.inference import shaped
from halyard.torch_nnapi.archive import Archive
from halyard.torch_nnapi.pickles import Record, Tensor
from halyard.torch_nnapi.serialized import Operand, SerializedModel, Weight, parse

FORMAT = "PyTorch NNAPI"

_MAX_BYTES = 2**30
_CHANNELS_LAST = 1
_TO_NHWC = (0, 2, 3, 1)
# The last that PyTorch's serialiser knows of each kind.
_LAST_TYPE = pb.OPERAND_TYPE_TENSOR_QUANT16_ASYMM
_LAST_OPERATION = pb.OPERATION_TYPE_RESIZE_NEAREST_NEIGHBOR


def read_conversion(content: bytes, path: Path, options: ReadOptions = USUAL) -> Conversion:
    """A TorchScript file of what torch.backends._nnapi.prepare.convert_model_to_nnapi gives.
    HalyardError where it is none, or damaged."""
    try:
        archive = Archive(content)
        module = archive.module()
        blob, weights = _data(archive, module)
        model = parse(blob)
        build = _Build(model, weights, path.stem)
        inputs = [
            Declared(f"arg_{number}", _declared(model.operands[index]))
            for number, index in enumerate(model.inputs)
        ]
        shapes = closed(inputs, options.shapes).shapes
        part = build.part(
            _formats(module, "inp_mem_fmts", len(model.inputs)),
            _formats(module, "out_mem_fmts", len(model.outputs)),
        )
        indexes = part.model.main.input_indexes
        given = dict(zip(indexes, (shapes[each.name] for each in inputs), strict=True))
        part = replace(part, model=shaped(part.model, given))
        _check_size(part.model)
    except OpenDimensions as error:
        raise OpenDimensions(f"{path}: {error}", error.options) from error
    except HalyardError as error:
        raise HalyardError(f"{path}: {error}") from error
    # numpy's OverflowError is about strides that no tensor has.
    except (ValueError, OverflowError) as error:
        raise HalyardError(f"{path}: this is no PyTorch model for NNAPI: {error}") from error
    part.model.relax_computation_float32_to_float16 = module.get("relax_f32_to_f16") is True
    main = part.model.main
    return Conversion(
        Source(path, FORMAT),
        part.model,
        [part],
        tensor_infos(part.model, main.input_indexes),
        tensor_infos(part.model, main.output_indexes),
    )


def _declared(operand: Operand) -> tuple[int | str, ...]:
    """PyTorch writes 0 for what it leaves open."""
    return tuple(extent or "" for extent in operand.dims)


def _check_size(model: pb.Model) -> None:
    """Of what was open when it was read."""
    for operand in model.main.operands:
        if byte_size(operand) > _MAX_BYTES:
            raise HalyardError(f"{operand.name!r} takes more than {_MAX_BYTES} bytes")


def _data(archive: Archive, module: Record) -> tuple[bytes, list[Array]]:
    blob, weights = module.get("ser_model"), module.get("weights")
    if not isinstance(blob, Tensor) or blob.storage.kind != "IntStorage":
        raise ValueError("its module has no serialised model")
    if not isinstance(weights, list) or not all(isinstance(each, Tensor) for each in weights):
        raise ValueError("its module has no list of weights")
    return archive.array(blob).tobytes(), [archive.array(each) for each in weights]


def _formats(module: Record, name: str, count: int) -> list[int]:
    """Of inputs or outputs: whether PyTorch moves their channels."""
    given: Any = module.get(name)
    if (
        not isinstance(given, list)
        or len(given) != count
        or not all(type(each) is int and 0 <= each <= 2 for each in given)
    ):
        raise ValueError(f"{name} does not say {count} times how dimensions are ordered")
    return given


class _Build:
    def __init__(self, model: SerializedModel, weights: Sequence[Array], name: str) -> None:
        self._model = model
        self._weights = weights
        self._builder = ModelBuilder(name)
        self._indexes: dict[int, int] = {}  # of our operands, by PyTorch's

    def part(self, inputs: Sequence[int], outputs: Sequence[int]) -> NnapiPart:
        model, builder = self._model, self._builder
        for number, index in enumerate(model.inputs):
            if index in self._indexes or index in model.values:
                raise ValueError(f"operand {index} is an input and something else")
            self._indexes[index] = builder.input(f"arg_{number}", self._tensor(index))
        for number, operation in enumerate(model.operations):
            if not 0 <= operation.type <= _LAST_OPERATION:
                raise ValueError(f"operation {number} is of kind {operation.type}")
            given = [self._read(number, index) for index in operation.inputs]
            for index in operation.outputs:
                if index in self._indexes or index in model.values:
                    raise ValueError(f"operation {number} writes operand {index} a second time")
            written = [(f"operand_{each}", self._tensor(each)) for each in operation.outputs]
            results = builder.operation_n(operation.type, given, written)
            self._indexes.update(zip(operation.outputs, results, strict=True))
        if not model.operations or len(set(model.outputs)) != len(model.outputs):
            raise ValueError("it computes nothing, or gives something twice")
        results = [self._read(len(model.operations), index) for index in model.outputs]
        names = [f"retval_{number}" for number in range(len(results))]
        for name, index in zip(names, results, strict=True):
            builder.operand(index).name = name
        built = builder.build(results)
        ends = [*zip(built.main.input_indexes, inputs, strict=True)]
        ends += zip(results, outputs, strict=True)
        return NnapiPart(
            built,
            tuple(f"arg_{number}" for number in range(len(model.inputs))),
            tuple(names),
            {index: built.main.operands[index].name for index in self._indexes.values()},
            {index: _TO_NHWC for index, order in ends if order == _CHANNELS_LAST},
        )

    def _read(self, number: int, index: int) -> int:
        if index not in self._indexes:
            if index not in self._model.values:
                raise ValueError(f"operation {number} reads operand {index} before it is written")
            self._indexes[index] = self._constant(index)
        return self._indexes[index]

    def _operand(self, index: int) -> Operand:
        operand = self._model.operands[index]
        if not 0 <= operand.type <= _LAST_TYPE:
            raise ValueError(f"operand {index} is of type {operand.type}")
        return operand

    def _tensor(self, index: int) -> TensorType:
        operand = self._operand(index)
        if not is_tensor(operand.type):
            raise ValueError(f"operand {index} is a scalar that is computed")
        if math.prod(operand.dims) * dtype_of(operand.type).itemsize > _MAX_BYTES:
            raise ValueError(f"operand {index} takes more than {_MAX_BYTES} bytes")
        return TensorType(operand.type, operand.dims, operand.scale, operand.zero_point)

    def _constant(self, index: int) -> int:
        operand, held = self._operand(index), self._model.values[index]
        data = held if isinstance(held, bytes) else self._weight(index, held)
        dtype = dtype_of(operand.type)
        if len(data) != math.prod(operand.dims) * dtype.itemsize:
            raise ValueError(f"operand {index} has {len(data)} bytes for {list(operand.dims)}")
        values = np.frombuffer(data, dtype).reshape(operand.dims)
        if not is_tensor(operand.type):
            return self._builder.scalar(operand.type, values.item())
        if not operand.dims or 0 in operand.dims:
            raise ValueError(f"operand {index} is a tensor of the dimensions {list(operand.dims)}")
        tensor = TensorType(operand.type, operand.dims, operand.scale, operand.zero_point)
        return self._builder.constant(f"operand_{index}", tensor, values)

    def _weight(self, index: int, held: Weight) -> bytes:
        if not 0 <= held.number < len(self._weights):
            raise ValueError(f"operand {index} is in weight {held.number}, which is not there")
        # As bytes, whatever they are: the operand says that.
        content = self._weights[held.number].reshape(-1).view(np.uint8)
        end = held.offset + held.length
        if held.offset < 0 or held.length < 0 or end > content.size:
            raise ValueError(f"operand {index} lies outside of weight {held.number}")
        return content[held.offset : end].tobytes()
