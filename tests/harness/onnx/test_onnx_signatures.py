# SPDX-License-Identifier: Apache-2.0
"""The understood part of an ONNX operator: any other is a reason to leave it to the host."""

import math
from collections.abc import Mapping

import pytest
from onnx import ModelProto, TensorProto, defs, helper

from halyard.onnx.reading.network import network_of
from halyard.onnx.reading.operators import OPERATORS
from halyard.onnx.reading.signatures import MANY, Operator, only, operator, refusals, since
from tests.harness.onnx_models import Graph

# The oldest operator set that is read.
OLDEST = 6
VARIADIC = defs.OpSchema.FormalParameterOption.Variadic


def schemas(name: str) -> Mapping[int, defs.OpSchema]:
    """Those of the operator in the sets that are read, by version."""
    found = {}
    for opset in range(OLDEST, defs.onnx_opset_version() + 1):
        try:
            schema = defs.get_schema(name, opset, "")
        except defs.SchemaError:
            continue
        if not schema.deprecated:
            found[schema.since_version] = schema
    return found


@pytest.mark.parametrize("name", [name for name in OPERATORS if "::" not in name])
def test_knows_all_attributes_and_inputs_of_the_versions_it_reads(name: str) -> None:
    known = schemas(name)
    for signature in OPERATORS[name].signatures:
        for version in signature.versions:
            schema = known[version]
            assert signature.attributes == set(schema.attributes), version
            variadic = any(each.option == VARIADIC for each in schema.inputs)
            assert signature.inputs == (MANY if variadic else len(schema.inputs)), version


@pytest.mark.parametrize("name", [name for name in OPERATORS if "::" not in name])
def test_each_version_is_read_by_one_signature(name: str) -> None:
    versions = [version for each in OPERATORS[name].signatures for version in each.versions]
    assert sorted(versions) == sorted(set(versions))


def reasons(model: ModelProto, operators: Mapping[str, Operator] = OPERATORS) -> list[str]:
    return list(refusals(network_of(model), operators).values())


def of_one(kind: str, opset: int = 17, **attributes: object) -> ModelProto:
    g = Graph(0, opset)
    return g.model(g.op(kind, g.input("x", (1, 4, 2, 2)), **attributes))


def nothing(*_: object) -> None:
    pass


def test_refuses_attribute_that_no_signature_names() -> None:
    table = {"Softmax": operator(nothing, since(13))}
    assert reasons(of_one("Softmax", axis=1), table) == ["its attribute 'axis' is not understood"]
    assert reasons(of_one("Softmax"), table) == []


def test_refuses_value_that_a_signature_does_not_name() -> None:
    table = {"Softmax": operator(nothing, since(13, axis=only(1, 2)))}
    reason = "its axis is 3, and 1 or 2 is understood"
    assert reasons(of_one("Softmax", axis=3), table) == [reason]
    assert reasons(of_one("Softmax", axis=2), table) == []


def test_default_of_an_attribute_is_a_value_too() -> None:
    table = {"Softmax": operator(nothing, since(13, axis=only(1, why="along {value}")))}
    assert reasons(of_one("Softmax"), table) == ["along -1"]


def test_refuses_input_that_no_signature_names() -> None:
    g = Graph(0)
    model = g.model(g.op("Clip", g.input("x", (2,)), "", g.constant(1)))
    assert reasons(model, {"Clip": operator(nothing, since(13, inputs=2))}) == [
        "its input 'max' is not understood"
    ]
    assert reasons(model, {"Clip": operator(nothing, since(13, inputs=3))}) == []


@pytest.mark.parametrize("wanted", ["by_an_operator", "as_an_output", "by_none"])
def test_refuses_output_that_is_not_computed_where_it_is_read(wanted: str) -> None:
    g = Graph(0)
    values, places = g.ops("MaxPool", g.input("x", (1, 1, 2, 2)), outputs=2, kernel_shape=[2, 2])
    outputs = [values]
    if wanted == "by_an_operator":
        outputs.append(g.op("Neg", places))
    elif wanted == "as_an_output":
        outputs.append(places)
    reason = "its output 'Indices' is read, which no operation computes"
    assert reasons(g.model(*outputs)) == ([] if wanted == "by_none" else [reason])


def test_refuses_version_that_is_not_read() -> None:
    table = {"Relu": operator(nothing, since(6, 13))}
    assert reasons(of_one("Relu", 13), table) == []
    assert reasons(of_one("Relu", 14), table) == [
        "its version is that of operator set 14, which is not read: 13 is the newest that is"
    ]
    table = {"Relu": operator(nothing, since(13, 14))}
    assert reasons(of_one("Relu", 6), table) == [
        "its version is that of operator set 6, which is not read"
    ]


def test_takes_newer_operator_set_that_left_the_operator_unchanged() -> None:
    newest = defs.onnx_opset_version()
    assert defs.get_schema("Elu", newest, "").since_version < newest
    assert reasons(of_one("Elu", newest)) == []


def test_refuses_operator_set_newer_than_the_package_knows() -> None:
    newest = defs.onnx_opset_version()
    model = of_one("Relu")
    model.opset_import[0].version = newest + 1
    network = network_of(model)
    assert list(refusals(network, OPERATORS).values()) == [
        f"operator set {newest + 1} is newer than {newest}, the newest that the package onnx "
        "knows here"
    ]


def test_operator_of_another_domain_has_a_version_for_each_of_the_domain() -> None:
    g = Graph(0)
    x = g.input("x", (2,))
    g.nodes.append(helper.make_node("Scale", [x, x], ["y"], domain="maker", factor=math.pi))
    graph = helper.make_graph(
        g.nodes, "model", g.inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])]
    )
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("maker", 2)]
    model = helper.make_model(graph, opset_imports=sets)
    understood = since(2, inputs=2, reads=["factor"])
    assert reasons(model, {"maker::Scale": operator(nothing, understood)}) == []
    assert reasons(model, {"maker::Scale": operator(nothing, since(1, inputs=2))}) == [
        "its version is that of operator set 2, which is not read: 1 is the newest that is"
    ]
    assert reasons(model, {"maker::Scale": operator(nothing, since(2, reads=["factor"]))}) == [
        "its input 1 is not understood"
    ]
    assert reasons(model, {"maker::Scale": operator(nothing, since(2, inputs=2))}) == [
        "its attribute 'factor' is not understood"
    ]


# The reason where an attribute makes another operator of a node.
TRAINING = "it is in training mode"


def normalization(opset: int, **attributes: object) -> ModelProto:
    g = Graph(0, opset)
    return g.model(
        g.op(
            "BatchNormalization", g.input("x", (1, 4, 2, 2)), g.factors(4), g.weights(4),
            g.weights(4), g.factors(4), outputs=3 if "training_mode" in attributes else 1,
            **attributes,
        )
    )  # fmt: skip


@pytest.mark.parametrize(
    ("opset", "attributes", "expected"),
    [
        (6, {}, [TRAINING]),  # where 0 is the default of is_test
        (6, {"is_test": 1}, []),
        (7, {"spatial": 0}, ["its spatial is 0, and 1 is understood"]),
        (15, {"momentum": 0.5}, []),
        (15, {"training_mode": 1}, [TRAINING]),
    ],
)
def test_batch_normalization_is_mapped_outside_of_training(
    opset: int, attributes: Mapping[str, object], expected: list[str]
) -> None:
    assert reasons(normalization(opset, **attributes)) == expected


@pytest.mark.parametrize(
    ("kind", "opset", "attributes", "reason"),
    [
        (
            "MaxPool", 17, {"kernel_shape": [1, 1], "auto_pad": "SAME"},
            "its auto_pad is SAME, and NOTSET or SAME_UPPER or SAME_LOWER or VALID is understood",
        ),
        ("DepthToSpace", 13, {"blocksize": 2, "mode": "CDR"},
         "its mode is CDR, and DCR or CRD is understood"),
        ("Gelu", 20, {"approximate": "erf"},
         "its approximate is erf, and none or tanh is understood"),
    ],
)  # fmt: skip
def test_words_that_mean_nothing_are_refused(
    kind: str, opset: int, attributes: Mapping[str, object], reason: str
) -> None:
    assert reasons(of_one(kind, opset, **attributes)) == [reason]
