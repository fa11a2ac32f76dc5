# SPDX-License-Identifier: Apache-2.0
"""A TFLite graph in the making, in the objects that LiteRT's package has for the file format."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

from halyard.model.budget import Budget, OverBudget

_VERSION = 3
_FILE_IDENTIFIER = b"TFL3"
# Buffers start at multiples of this in the file, so that a runtime can use them where they are.
_BUFFER_ALIGNMENT = 16

# An optional tensor that is left away.
OMITTED = -1

# Objects of the schema; the package has no types for them.
Quantization = Any
Options = Any


def made(kind: type, **fields: object) -> Any:
    """An object of the schema, whose other fields have their defaults."""
    result = kind()
    for name, value in fields.items():
        if not hasattr(result, name):
            raise TypeError(f"{kind.__name__} has no field {name}")
        setattr(result, name, value)
    return result


def quantization(
    scales: Sequence[float], zero_points: Sequence[int], dimension: int = 0
) -> Quantization:
    """One scale and zero point, or one per index of `dimension`."""
    return made(
        schema.QuantizationParametersT,
        scale=np.asarray(scales, "<f4"),
        zeroPoint=np.asarray(zero_points, "<i8"),
        quantizedDimension=dimension,
    )


class _AlignedBuffer(schema.BufferT):  # type: ignore[misc]
    def Pack(self, builder: flatbuffers.Builder) -> int:  # noqa: N802 (the schema's name)
        builder.Prep(_BUFFER_ALIGNMENT, len(self.data))
        return int(super().Pack(builder))


class Graph:
    def __init__(self, name: str) -> None:
        self._subgraph = made(
            schema.SubGraphT, name=name, tensors=[], operators=[], inputs=[], outputs=[]
        )
        # Buffer 0 is the empty one of tensors without data.
        self._buffers = [schema.BufferT()]
        self._constants: dict[bytes, int] = {}  # which buffer has them
        # By code, version and, of an operator that the schema does not know, name.
        self._codes: dict[tuple[int, int, str], int] = {}

    @property
    def inputs(self) -> list[int]:
        found: list[int] = self._subgraph.inputs
        return found

    @property
    def outputs(self) -> list[int]:
        found: list[int] = self._subgraph.outputs
        return found

    def tensor(self, index: int) -> Any:
        return self._subgraph.tensors[index]

    def add(
        self,
        name: str,
        tensor_type: int,
        shape: Sequence[int],
        quantization: Quantization | None = None,
        data: bytes | None = None,
        *,
        is_variable: bool = False,
    ) -> int:
        """Adds a tensor and returns its index. `data` is a constant's; a variable is a state, which
        is there from run to run."""
        buffer = 0
        if data is not None:
            buffer = self._constants.setdefault(data, len(self._buffers))
            if buffer == len(self._buffers):
                self._buffers.append(made(schema.BufferT, data=np.frombuffer(data, np.uint8)))
        self._subgraph.tensors.append(
            made(
                schema.TensorT,
                name=name,
                type=tensor_type,
                shape=np.asarray(shape, "<i4"),
                buffer=buffer,
                quantization=quantization,
                isVariable=is_variable,
            )
        )
        return len(self._subgraph.tensors) - 1

    def emit(
        self,
        code: int,
        version: int,
        inputs: Sequence[int],
        outputs: Sequence[int],
        options: Options | None = None,
        intermediates: Sequence[int] = (),
    ) -> None:
        """An operator. Intermediates are tensors that only tell how inner values are quantised."""
        operator = made(
            schema.OperatorT,
            opcodeIndex=self._code(code, version),
            inputs=np.asarray(inputs, "<i4"),
            outputs=np.asarray(outputs, "<i4"),
        )
        if options is not None:
            kind = type(options).__name__.removesuffix("T")
            operator.builtinOptionsType = getattr(schema.BuiltinOptions, kind)
            operator.builtinOptions = options
        if intermediates:
            operator.intermediates = np.asarray(intermediates, "<i4")
        self._subgraph.operators.append(operator)

    def emit_custom(
        self, name: str, options: bytes, inputs: Sequence[int], outputs: Sequence[int]
    ) -> None:
        """An operator that the schema does not know, with options in an encoding of its own."""
        operator = made(
            schema.OperatorT,
            opcodeIndex=self._code(schema.BuiltinOperator.CUSTOM, 1, name),
            inputs=np.asarray(inputs, "<i4"),
            outputs=np.asarray(outputs, "<i4"),
            customOptions=np.frombuffer(options, np.uint8),
        )
        self._subgraph.operators.append(operator)

    def _code(self, code: int, version: int, name: str = "") -> int:
        return self._codes.setdefault((code, version, name), len(self._codes))

    def model(self) -> Any:
        codes = [
            made(
                schema.OperatorCodeT,
                # Codes above 127 do not fit the old field, which then says so with 127.
                deprecatedBuiltinCode=min(code, 127),
                builtinCode=code,
                version=version,
                customCode=name or None,
            )
            for code, version, name in self._codes
        ]
        return made(
            schema.ModelT,
            version=_VERSION,
            operatorCodes=codes,
            subgraphs=[self._subgraph],
            description="Halyard",
            buffers=self._buffers,
        )


def packed(model: Any) -> bytes:
    """The file of a schema.ModelT."""
    buffers = [_aligned(each) for each in model.buffers]
    size = sum(len(each.data) for each in buffers if each.data is not None)
    builder = flatbuffers.Builder(size + size // 8 + 4096)
    whole = made(schema.ModelT, **{**vars(model), "buffers": buffers})
    builder.Finish(whole.Pack(builder), _FILE_IDENTIFIER)
    return bytes(builder.Output())


def _aligned(buffer: Any) -> Any:
    # A buffer of no bytes comes as a number where it is read.
    has_data = buffer.data is not None and np.size(buffer.data) > 0 and np.ndim(buffer.data) == 1
    if not has_data:
        return made(schema.BufferT, **{**vars(buffer), "data": None})
    return made(_AlignedBuffer, **vars(buffer))


def unpacked(content: bytes, budget: Budget) -> Any:
    """The schema.ModelT of a file, whose vectors of numbers are views of `content`. ValueError
    where it can be none, OverBudget where it would come to far more than it is."""
    if content[4:8] != _FILE_IDENTIFIER:
        raise ValueError("it does not begin like one")
    try:
        _take_tables(schema.Model.GetRootAs(content), budget)
        return schema.ModelT.InitFromPackedBuf(content)
    except OverBudget as error:
        raise ValueError(str(error)) from error
    # The error that flatbuffers stumbles over first: it checks nothing.
    except struct.error as error:
        raise ValueError(
            f"it is cut off, or damaged: it says that there is more behind its {len(content)} bytes"
        ) from error
    except Exception as error:
        raise ValueError(f"it is damaged: {error}") from error


# Options that have texts of their own, which are copied for each operator that names them.
OPTION_TEXTS: Mapping[str, Sequence[str]] = {
    "StablehloCustomCallOptions": ("CallTargetName", "BackendConfig"),
    "VarHandleOptions": ("Container", "SharedName"),
    "StableHLOCompositeOptions": ("Name",),
}
_OPTION_NAMES = {
    (field, code): name
    for field, union in (
        ("BuiltinOptions", schema.BuiltinOptions),
        ("BuiltinOptions2", schema.BuiltinOptions2),
    )
    for name, code in vars(union).items()
    if name in OPTION_TEXTS
}


def _take_tables(model: Any, budget: Budget) -> None:
    """A file may name a table over and over, each time an object with texts of its own."""
    take = budget.take_objects
    take(model.OperatorCodesLength() + model.BuffersLength() + model.MetadataLength())
    take(model.SubgraphsLength() + model.SignatureDefsLength())
    for graph in map(model.Subgraphs, range(model.SubgraphsLength())):
        take(graph.TensorsLength() + graph.OperatorsLength())
    for signature in map(model.SignatureDefs, range(model.SignatureDefsLength())):
        take(signature.InputsLength() + signature.OutputsLength())

    def text(given: bytes | None) -> None:
        budget.take_bytes(len(given or b""), "its texts")

    for code in map(model.OperatorCodes, range(model.OperatorCodesLength())):
        text(code.CustomCode())
    for metadata in map(model.Metadata, range(model.MetadataLength())):
        text(metadata.Name())
    for signature in map(model.SignatureDefs, range(model.SignatureDefsLength())):
        text(signature.SignatureKey())
        for count, entry in (
            (signature.InputsLength(), signature.Inputs),
            (signature.OutputsLength(), signature.Outputs),
        ):
            for each in map(entry, range(count)):
                text(each.Name())
    for graph in map(model.Subgraphs, range(model.SubgraphsLength())):
        text(graph.Name())
        for tensor in map(graph.Tensors, range(graph.TensorsLength())):
            sparsity = tensor.Sparsity()
            take(tensor.VariantTensorsLength())
            take(sparsity.DimMetadataLength() if sparsity is not None else 0)
            text(tensor.Name())
        for operator in map(graph.Operators, range(graph.OperatorsLength())):
            _take_option_texts(operator, text)


def _take_option_texts(operator: Any, text: Callable[[bytes | None], None]) -> None:
    for field in ("BuiltinOptions", "BuiltinOptions2"):
        name = _OPTION_NAMES.get((field, getattr(operator, f"{field}Type")()))
        table = getattr(operator, field)()
        if name is None or table is None:
            continue
        options = getattr(schema, name)()
        options.Init(table.Bytes, table.Pos)
        for each in OPTION_TEXTS[name]:
            text(getattr(options, each)())
