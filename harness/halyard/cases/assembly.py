# SPDX-License-Identifier: Apache-2.0
"""Puts a case together from subgraphs whose operands know their values.

Golden data and specs both end here, so that the same case is the same message whichever of them it
was written in."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from halyard.cases.case import Case
from halyard.cases.check import ExpectedOutput, Multinomial, Tolerance
from halyard.model import dtype_of, is_tensor
from halyard.proto import halyard_pb2 as pb

# The versions that a case's folder, or the case itself, may name and a pb.HalVersion can say.
VERSIONS = {
    "V1_0": pb.HAL_VERSION_1_0,
    "V1_1": pb.HAL_VERSION_1_1,
    "V1_2": pb.HAL_VERSION_1_2,
    "V1_3": pb.HAL_VERSION_1_3,
    "AIDL_V1": pb.HAL_VERSION_AIDL_1,
    "AIDL_V2": pb.HAL_VERSION_AIDL_2,
    "AIDL_V3": pb.HAL_VERSION_AIDL_3,
    "AIDL_V4": pb.HAL_VERSION_AIDL_4,
}
# Constants start at multiples of this in their pool.
_ALIGNMENT = 4


@dataclass(frozen=True)
class ValuedOperand:
    """An operand without a place, and its value: a constant's, the one that an example feeds to an
    input, the one that is expected of an output, a subgraph's index as 4 bytes. None: it has none.
    """

    operand: pb.Operand
    data: bytes | None = None
    # The device's result is not looked at.
    ignored: bool = False
    # No derived form may compute it inside the model, or feed it as an input.
    never_internal: bool = False
    never_input: bool = False


@dataclass(frozen=True)
class ValuedSubgraph:
    operands: Sequence[ValuedOperand]
    operations: Sequence[pb.Operation]
    input_indexes: Sequence[int]
    output_indexes: Sequence[int]


@dataclass(frozen=True)
class Terms:
    """The description of a case beside its model and values."""

    name: str
    spec: str
    hal_version: pb.HalVersion
    expect_failure: bool = False
    relaxed: bool = False
    tags: Collection[str] = ()
    lifetime_variants: tuple[tuple[str, ...], ...] = ()
    lifetime_names: tuple[str, ...] = ()
    multinomial_tolerance: float = 0.0


def assemble(
    terms: Terms,
    main: ValuedSubgraph,
    referenced: Sequence[ValuedSubgraph],
    tolerances: Mapping[int, Tolerance],
) -> Case:
    """The case. `tolerances` by the type of an output; exact where there is none."""
    placement = _Placement()
    model = pb.Model(
        name=terms.name,
        main=placement.subgraph(main),
        referenced=[placement.subgraph(subgraph) for subgraph in referenced],
        operand_values=bytes(placement.values),
        pools=[bytes(placement.pool)] if placement.pool else [],
        relax_computation_float32_to_float16=terms.relaxed,
    )
    inputs = [main.operands[index] for index in main.input_indexes]
    outputs = [main.operands[index] for index in main.output_indexes]
    if terms.multinomial_tolerance:
        # Its values are random; the distribution that they follow is looked at.
        outputs = [dataclasses.replace(each, ignored=False) for each in outputs]
    expected = tuple(_expected(each, tolerances.get(each.operand.type)) for each in outputs)
    return Case(
        name=terms.name,
        spec=terms.spec,
        test_case=pb.TestCase(
            name=terms.name, model=model, examples=[_example(terms.name, inputs, expected)]
        ),
        expected=expected,
        hal_version=terms.hal_version,
        expect_failure=terms.expect_failure,
        tags=frozenset(terms.tags),
        lifetime_variants=terms.lifetime_variants,
        lifetime_names=terms.lifetime_names,
        multinomial=_multinomial(inputs, terms.multinomial_tolerance),
        never_internal=_marked(main, [each.never_internal for each in main.operands]),
        never_input=_marked(main, [each.never_input for each in main.operands]),
    )


class _Placement:
    """Gives constants their places."""

    def __init__(self) -> None:
        self.values = bytearray()
        self.pool = bytearray()

    def subgraph(self, source: ValuedSubgraph) -> pb.Subgraph:
        return pb.Subgraph(
            operands=[self._operand(each) for each in source.operands],
            operations=source.operations,
            input_indexes=source.input_indexes,
            output_indexes=source.output_indexes,
        )

    def _operand(self, source: ValuedOperand) -> pb.Operand:
        operand = pb.Operand()
        operand.CopyFrom(source.operand)
        data = source.data or b""
        if operand.lifetime == pb.OPERAND_LIFE_TIME_CONSTANT_COPY:
            _place(operand, self.values, data)
        elif operand.lifetime == pb.OPERAND_LIFE_TIME_CONSTANT_REFERENCE:
            _place(operand, self.pool, data)
        elif operand.lifetime == pb.OPERAND_LIFE_TIME_SUBGRAPH:
            operand.location.offset = int(np.frombuffer(data, "<u4")[0])
        return operand


def _place(operand: pb.Operand, pool: bytearray, data: bytes) -> None:
    pool.extend(bytes(-len(pool) % _ALIGNMENT))
    operand.location.offset = len(pool)
    operand.location.length = len(data)
    pool.extend(data)


def _marked(subgraph: ValuedSubgraph, marks: Sequence[bool]) -> frozenset[int]:
    return frozenset(index for index in range(len(subgraph.operands)) if marks[index])


# ---- values -------------------------------------------------------------------------------------


def _expected(source: ValuedOperand, tolerance: Tolerance | None) -> ExpectedOutput:
    operand = source.operand
    values = np.frombuffer(source.data or b"", dtype_of(operand.type))
    return ExpectedOutput(
        operand.name, _shape(operand.dimensions, values.size), values, tolerance, source.ignored
    )


def _example(
    name: str, inputs: Sequence[ValuedOperand], outputs: Sequence[ExpectedOutput]
) -> pb.Example:
    example = pb.Example(name=name)
    for source in inputs:
        operand, data = source.operand, source.data or b""
        value = example.inputs.add(data=data, has_no_value=not data)
        if data and 0 in operand.dimensions:
            count = len(data) // dtype_of(operand.type).itemsize
            value.dimensions.extend(_shape(operand.dimensions, count))
    for output in outputs:
        # An empty result is offered a byte, too.
        example.outputs.add(byte_size=max(1, output.values.nbytes))
    return example


def _shape(dimensions: Sequence[int], count: int) -> tuple[int, ...]:
    """The shape of a value. One unspecified dimension follows from the number of elements."""
    if count and list(dimensions).count(0) == 1:
        known = math.prod(extent for extent in dimensions if extent)
        return tuple(extent or count // known for extent in dimensions)
    return tuple(dimensions)


def _multinomial(inputs: Sequence[ValuedOperand], tolerance: float) -> Multinomial | None:
    if not tolerance:
        return None
    logits = inputs[0]
    values = np.frombuffer(logits.data or b"", dtype_of(logits.operand.type))
    shaped = values.reshape(tuple(logits.operand.dimensions)).astype(np.float64)
    return Multinomial(shaped, tolerance)


# ---- what follows from a model ------------------------------------------------------------------

_HALF = Tolerance(5 * 2.0**-10, 5 * 2.0**-10)
_SINGLE = Tolerance(1e-5, 5 * 2.0**-23)
_ONE_STEP = Tolerance(1, 0)
# Errors of a whole quantised network add up.
_THREE_STEPS = Tolerance(3, 0)
_EXACT = Tolerance(0, 0)
_QUANT8 = frozenset(
    {
        pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM,
        pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM_SIGNED,
        pb.OPERAND_TYPE_TENSOR_QUANT8_SYMM,
    }
)


def tolerances(
    name: str, relaxed: bool, subgraphs: Sequence[ValuedSubgraph]
) -> dict[int, Tolerance]:
    """The official tolerances of a case, by the type of an output."""
    types = {each.operand.type for subgraph in subgraphs for each in subgraph.operands}
    half = relaxed or pb.OPERAND_TYPE_TENSOR_FLOAT16 in types
    network = "mobilenet" in name
    found: dict[int, Tolerance] = {}
    for index in subgraphs[0].output_indexes:
        output = subgraphs[0].operands[index].operand.type
        if subgraphs[0].operands[index].ignored:
            continue
        if output in (pb.OPERAND_TYPE_TENSOR_FLOAT16, pb.OPERAND_TYPE_FLOAT16):
            found[output] = _HALF
        elif output in (pb.OPERAND_TYPE_TENSOR_FLOAT32, pb.OPERAND_TYPE_FLOAT32):
            found[output] = _HALF if half else _SINGLE
        elif output in (pb.OPERAND_TYPE_TENSOR_BOOL8, pb.OPERAND_TYPE_BOOL):
            found[output] = _EXACT
        else:
            found[output] = _THREE_STEPS if network and output in _QUANT8 else _ONE_STEP
    return found


def tags(subgraphs: Sequence[ValuedSubgraph]) -> frozenset[str]:
    """The special traits of a model and its values; the names are those of the golden cases."""
    main = subgraphs[0]
    found = set()
    if len(main.operations) > 1:
        found.add("multiOp")
    if len(subgraphs) > 1:
        found.add("controlFlow")
    if any(main.operands[index].data == b"" for index in main.input_indexes):
        found.add("omittedInput")
    if any(main.operands[index].data == b"" for index in main.output_indexes):
        found.add("zeroSizedOutput")
    operands = [each for subgraph in subgraphs for each in subgraph.operands]
    lifetimes = {each.operand.lifetime for each in operands}
    if pb.OPERAND_LIFE_TIME_NO_VALUE in lifetimes:
        found.add("omittedConstant")
    if pb.OPERAND_LIFE_TIME_CONSTANT_REFERENCE in lifetimes:
        found.add("constantReference")
    # Zero-sized results need a model whose inner shapes are open, and are known by that.
    if "zeroSizedOutput" not in found and any(_is_unknown(each) for each in operands):
        found.add("unknownShape")
    return frozenset(found)


def _is_unknown(source: ValuedOperand) -> bool:
    operand = source.operand
    if not is_tensor(operand.type) or operand.lifetime == pb.OPERAND_LIFE_TIME_NO_VALUE:
        return False
    return source.data is None and (not operand.dimensions or 0 in operand.dimensions)
