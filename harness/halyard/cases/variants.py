# SPDX-License-Identifier: Apache-2.0
"""Cases derived from others, as the official suites derive them: the same results by other ways
through a driver."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

import numpy as np

from halyard.cases.case import Case
from halyard.model import is_constant, is_tensor
from halyard.model.arguments import Activation
from halyard.proto import halyard_pb2 as pb

_SHAPES_MUST_BE_KNOWN = frozenset({"RANK", "IF", "WHILE"})
# Operations that have no signed twin.
NOT_SIGNED = frozenset(
    {"CAST", "HASHTABLE_LOOKUP", "LSH_PROJECTION", "PAD_V2", "QUANTIZED_16BIT_LSTM"}
)
_UNSIGNED = pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM
_SIGNED = pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM_SIGNED
# The types that the ADD which moves an operand inside the model can carry.
_ADDABLE = frozenset(
    {
        pb.OPERAND_TYPE_TENSOR_FLOAT32,
        pb.OPERAND_TYPE_TENSOR_FLOAT16,
        pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM,
        pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM_SIGNED,
    }
)
_ADD_MAX_RANK = 4


def derived(case: Case) -> Iterator[Case]:
    """Every variant of the case that makes sense for it."""
    candidates = [
        unspecified_outputs(case),
        signed(case),
        *(with_lifetimes(case, names) for names in case.lifetime_variants),
    ]
    yield from (candidate for candidate in candidates if candidate is not None)


def unspecified_outputs(case: Case) -> Case | None:
    """The model does not say the extents of its outputs: the driver reports them."""
    if case.shapes_must_be_known or case.expect_failure or case.operations & _SHAPES_MUST_BE_KNOWN:
        return None
    test_case = _copy(case, "unspecified_outputs")
    for index in test_case.model.main.output_indexes:
        operand = test_case.model.main.operands[index]
        operand.dimensions[:] = [0] * len(operand.dimensions)
    return _replace(case, test_case, pb.HAL_VERSION_1_2)


def signed(case: Case) -> Case | None:
    """QUANT8_ASYMM becomes QUANT8_ASYMM_SIGNED, everything 128 steps lower."""
    operations = case.test_case.model.main.operations
    if len(operations) != 1 or case.test_case.model.referenced or case.operations & NOT_SIGNED:
        return None
    # "signed" alone is what many specs call a variation of their own.
    test_case = _copy(case, "as_signed")
    model, example = test_case.model, test_case.examples[0]
    values = bytearray(model.operand_values)
    pools = [bytearray(pool) for pool in model.pools]
    if not any(operand.type == _UNSIGNED for operand in model.main.operands):
        return None
    expected = list(case.expected)
    inputs = list(model.main.input_indexes)
    outputs = list(model.main.output_indexes)
    for index, operand in enumerate(model.main.operands):
        if operand.type != _UNSIGNED:
            continue
        operand.type = _SIGNED
        operand.zero_point -= 128
        place = operand.location
        if operand.lifetime == pb.OPERAND_LIFE_TIME_CONSTANT_COPY:
            _lower(values, place.offset, place.length)
        elif operand.lifetime == pb.OPERAND_LIFE_TIME_CONSTANT_REFERENCE:
            _lower(pools[place.pool_index], place.offset, place.length)
        elif index in inputs:
            value = example.inputs[inputs.index(index)]
            data = bytearray(value.data)
            _lower(data, 0, len(data))
            value.data = bytes(data)
        elif index in outputs:
            position = outputs.index(index)
            lowered = (expected[position].values ^ 0x80).view(np.int8)
            expected[position] = dataclasses.replace(expected[position], values=lowered)
    model.operand_values = bytes(values)
    model.pools[:] = [bytes(pool) for pool in pools]
    changed = _replace(case, test_case, pb.HAL_VERSION_1_3)
    return dataclasses.replace(changed, expected=tuple(expected))


def _lower(data: bytearray, offset: int, length: int) -> None:
    """Takes 128 from unsigned bytes, whose signed values then have the same bits but one."""
    for at in range(offset, offset + length):
        data[at] ^= 0x80


# ---- lifetimes ----------------------------------------------------------------------------------


def with_lifetimes(case: Case, names: tuple[str, ...]) -> Case | None:
    """The case with other operand lifetimes; names as in Case.lifetime_variants.

    None where the official suite has no such form: for each name there has to be something to
    change in a model of one operation.
    """
    official = dict(zip(case.lifetime_variants, case.lifetime_names, strict=False))
    test_case = _copy(case, "_".join(names), official.get(names))
    if not all(_LIFETIMES[name](case, test_case) for name in names):
        return None
    return _replace(case, test_case, pb.HAL_VERSION_1_0)


def _all_tensors_as_inputs(case: Case, test_case: pb.TestCase) -> bool:
    """Constant tensors become inputs. The inputs keep the order of the operands."""
    model = test_case.model
    if len(model.main.operations) != 1:
        return False
    values = dict(zip(model.main.input_indexes, test_case.examples[0].inputs, strict=True))
    before = len(values)
    for index, operand in enumerate(model.main.operands):
        if not (is_constant(operand) and is_tensor(operand.type)) or index in case.never_input:
            continue
        place = operand.location
        reference = operand.lifetime == pb.OPERAND_LIFE_TIME_CONSTANT_REFERENCE
        pool = model.pools[place.pool_index] if reference else model.operand_values
        values[index] = pb.InputValue(data=pool[place.offset : place.offset + place.length])
        operand.lifetime = pb.OPERAND_LIFE_TIME_SUBGRAPH_INPUT
        operand.ClearField("location")
    _set_inputs(test_case, values)
    return len(values) > before


def _all_inputs_as_internal(case: Case, test_case: pb.TestCase) -> bool:
    """Each input goes through an ADD with 0 first."""
    main = test_case.model.main
    if len(main.operations) != 1:
        return False
    values = dict(zip(main.input_indexes, test_case.examples[0].inputs, strict=True))
    additions = []
    for index in list(values):
        inner = main.operands[index]
        if not values[index].data or not _addable(inner) or index in case.never_internal:
            continue
        outer = _copied(main, index)
        inner.lifetime = pb.OPERAND_LIFE_TIME_TEMPORARY_VARIABLE
        values[outer] = values.pop(index)
        additions.append(_addition(test_case.model, outer, index))
    _set_inputs(test_case, values)
    operations = [*additions, *main.operations]
    del main.operations[:]
    main.operations.extend(operations)
    return bool(additions)


def _all_outputs_as_internal(case: Case, test_case: pb.TestCase) -> bool:
    """Each output goes through an ADD with 0 at last."""
    main = test_case.model.main
    if len(main.operations) != 1:
        return False
    changed = False
    for position, index in enumerate(main.output_indexes):
        inner = main.operands[index]
        if not case.expected[position].values.size or not _addable(inner):
            continue
        outer = _copied(main, index)
        inner.lifetime = pb.OPERAND_LIFE_TIME_TEMPORARY_VARIABLE
        main.output_indexes[position] = outer
        main.operations.append(_addition(test_case.model, index, outer))
        changed = True
    return changed


_LIFETIMES = {
    "all_tensors_as_inputs": _all_tensors_as_inputs,
    "all_inputs_as_internal": _all_inputs_as_internal,
    "all_outputs_as_internal": _all_outputs_as_internal,
}


def _set_inputs(test_case: pb.TestCase, values: Mapping[int, pb.InputValue]) -> None:
    """Makes these operands the inputs, in their order."""
    ordered = sorted(values)
    kept = [values[index] for index in ordered]
    test_case.model.main.input_indexes[:] = ordered
    del test_case.examples[0].inputs[:]
    test_case.examples[0].inputs.extend(kept)


def _addable(operand: pb.Operand) -> bool:
    return operand.type in _ADDABLE and len(operand.dimensions) <= _ADD_MAX_RANK


def _copied(main: pb.Subgraph, index: int) -> int:
    """A further operand like that one."""
    copy = main.operands.add()
    copy.CopyFrom(main.operands[index])
    copy.name = f"{copy.name}_new"
    return len(main.operands) - 1


def _addition(model: pb.Model, source: int, target: int) -> pb.Operation:
    """target = source + 0, exactly."""
    operand = model.main.operands[source]
    zero = model.main.operands.add(
        type=operand.type,
        dimensions=[1],
        scale=operand.scale,
        zero_point=operand.zero_point,
        lifetime=pb.OPERAND_LIFE_TIME_CONSTANT_COPY,
    )
    size = {pb.OPERAND_TYPE_TENSOR_FLOAT32: 4, pb.OPERAND_TYPE_TENSOR_FLOAT16: 2}
    # Zero is the zero point; of a float it is all bits 0.
    _append_constant(
        model, zero, (operand.zero_point & 0xFF).to_bytes(size.get(operand.type, 1), "little")
    )
    activation = model.main.operands.add(
        type=pb.OPERAND_TYPE_INT32, lifetime=pb.OPERAND_LIFE_TIME_CONSTANT_COPY
    )
    _append_constant(model, activation, int(Activation.NONE).to_bytes(4, "little"))
    added = len(model.main.operands)
    return pb.Operation(
        type=pb.OPERATION_TYPE_ADD, inputs=[source, added - 2, added - 1], outputs=[target]
    )


def _append_constant(model: pb.Model, operand: pb.Operand, data: bytes) -> None:
    values = bytearray(model.operand_values)
    values.extend(bytes(-len(values) % 4))
    operand.location.offset = len(values)
    operand.location.length = len(data)
    model.operand_values = bytes(values) + data


def renamed(case: Case, name: str) -> Case:
    test_case = _copy(case, "", name)
    return dataclasses.replace(case, name=name, test_case=test_case)


def _copy(case: Case, suffix: str, name: str | None = None) -> pb.TestCase:
    """A copy with another name: the case's with the suffix where none is given."""
    test_case = pb.TestCase()
    test_case.CopyFrom(case.test_case)
    test_case.name = name or f"{case.name}_{suffix}"
    return test_case


def _replace(case: Case, test_case: pb.TestCase, at_least: pb.HalVersion) -> Case:
    return dataclasses.replace(
        case,
        name=test_case.name,
        test_case=test_case,
        hal_version=max(case.hal_version, at_least),
        # They are forms of the case, not of this one.
        lifetime_variants=(),
        lifetime_names=(),
    )
