# SPDX-License-Identifier: Apache-2.0
"""Signatures: the part of an ONNX operator that a mapping understands: versions of its schema,
attributes, inputs and outputs. Whatever else a node has is a reason to leave it to the host."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from onnx import defs, helper

from halyard.errors import NotExpressible
from halyard.onnx.reading.mapper import Mapper
from halyard.onnx.reading.network import Network, Node
from halyard.onnx.reading.unmapped import reason

# NotExpressible says what it is that NNAPI has no word for.
Handler = Callable[[Mapper, Node], None]

# Of inputs whose number is up to the node.
MANY = sys.maxsize

AttributeValue = int | float | str


@dataclass(frozen=True)
class Only:
    """The values of an attribute that are understood, its default among them or not."""

    values: tuple[AttributeValue, ...]
    why: str = ""  # a node with another one is left to the host; {value} is that


def only(*values: AttributeValue, why: str = "") -> Only:
    return Only(values, why)


@dataclass(frozen=True)
class Signature:
    """Of versions of a schema that mean the same to the mapping.

    `reads`: attributes that the mapping looks at, whatever their value. `only`: those of which some
    values alone are understood. `ignores`: those that say nothing about what is computed here.
    `outputs`: how many of them are computed; others may be named, but not read.
    """

    versions: tuple[int, ...]
    inputs: int = 1
    outputs: int = 1
    reads: tuple[str, ...] = ()
    only: Mapping[str, Only] = field(default_factory=dict)
    ignores: tuple[str, ...] = ()

    @property
    def attributes(self) -> frozenset[str]:
        return frozenset((*self.reads, *self.only, *self.ignores))


def since(
    *versions: int,
    inputs: int = 1,
    outputs: int = 1,
    reads: Sequence[str] = (),
    ignores: Sequence[str] = (),
    **only: Only,
) -> Signature:
    """The signature of the versions that schemas have since those operator sets."""
    return Signature(versions, inputs, outputs, tuple(reads), only, tuple(ignores))


@dataclass(frozen=True)
class Operator:
    """How an operator is mapped. An operator of another domain than ONNX's has one version for each
    version of its domain."""

    handler: Handler
    signatures: tuple[Signature, ...]

    def signature(self, version: int) -> Signature | None:
        return next((each for each in self.signatures if version in each.versions), None)

    @property
    def newest(self) -> int:
        return max(version for each in self.signatures for version in each.versions)


def operator(handler: Handler, *signatures: Signature) -> Operator:
    return Operator(handler, signatures)


def refusals(network: Network, operators: Mapping[str, Operator]) -> dict[int, str]:
    """Why nodes are not mapped, by their numbers, as far as their signatures tell."""
    found = {}
    # Those too whose results are constants, as the scales of weights are read off them.
    nodes = {node.number: node for node in (*network.producers.values(), *network.nodes)}
    for node in nodes.values():
        try:
            _check(network, node, operators)
        except NotExpressible as error:
            found[node.number] = str(error)
    return found


def _check(network: Network, node: Node, operators: Mapping[str, Operator]) -> None:
    row = operators.get(node.operator)
    if row is None:
        raise NotExpressible(reason(node.operator))
    schema = _schema(node)
    version = node.opset if schema is None else schema.since_version
    signature = row.signature(version)
    if signature is None:
        raise NotExpressible(
            f"its version is that of operator set {version}, which is not read"
            + (f": {row.newest} is the newest that is" if version > row.newest else "")
        )
    _check_attributes(node, signature, schema)
    for place, name in enumerate(node.inputs):
        if name and place >= signature.inputs:
            what = f"input {place}" if schema is None else f"input {schema.inputs[place].name!r}"
            raise NotExpressible(f"its {what} is not understood")
    for place, name in enumerate(node.outputs):
        wanted = name in network.outputs or network.uses.get(name)
        if name and place >= signature.outputs and wanted:
            what = f"output {place}" if schema is None else f"output {schema.outputs[place].name!r}"
            raise NotExpressible(f"its {what} is read, which no operation computes")


def _schema(node: Node) -> defs.OpSchema | None:
    """None of another domain than ONNX's."""
    if "::" in node.operator:
        return None
    newest = defs.onnx_opset_version()
    if node.opset > newest:
        raise NotExpressible(
            f"operator set {node.opset} is newer than {newest}, the newest that the package onnx "
            "knows here"
        )
    try:
        return defs.get_schema(node.proto.op_type, node.opset, "")
    except defs.SchemaError as error:
        raise NotExpressible(f"operator set {node.opset} has no such operator") from error


def _check_attributes(node: Node, signature: Signature, schema: defs.OpSchema | None) -> None:
    for name in node.attributes:
        if name not in signature.attributes:
            raise NotExpressible(f"its attribute {name!r} is not understood")
    for name, understood in signature.only.items():
        default = None if schema is None else _default(schema, name)
        value = node.attributes.get(name, default)
        if isinstance(value, bytes):
            value = value.decode(errors="replace")
        if value is None or value in understood.values:
            continue
        legal = " or ".join(str(each) for each in understood.values)
        why = understood.why or f"its {name} is {{value}}, and {legal} is understood"
        raise NotExpressible(why.format(value=value))


def _default(schema: defs.OpSchema, name: str) -> AttributeValue | bytes | None:
    proto = schema.attributes[name].default_value
    if not proto.name:
        return None
    value: AttributeValue | bytes = helper.get_attribute_value(proto)
    return value
