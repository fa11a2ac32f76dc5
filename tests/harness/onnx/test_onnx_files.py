# SPDX-License-Identifier: Apache-2.0
"""ONNX files that are damaged, or made to do harm, and those with their data in a file beside."""

import random
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from onnx import ModelProto, TensorProto, helper

from halyard import onnx
from halyard.conversion import convert
from halyard.errors import HalyardError
from halyard.model import Conversion
from halyard.model.budget import Budget
from halyard.onnx.reading import file
from halyard.onnx.reading.file import model_of
from halyard.onnx.reading.network import network_of
from tests.harness import onnx_models
from tests.harness.on_parts import problems
from tests.harness.onnx_models import Graph

pytest.importorskip("onnxruntime")


def read(model: ModelProto, folder: Path) -> Conversion:
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return convert(path)


# ---- data in a file beside ----------------------------------------------------------------------


def test_weights_may_lie_in_a_file_beside(tmp_path: Path) -> None:
    conversion = read(onnx_models.with_data_beside(tmp_path), tmp_path)
    assert conversion.unmapped == ()
    assert problems(conversion, tmp_path / "model.onnx") == []


def moved(**entries: str) -> Callable[[Path, ModelProto], None]:
    """Of the first tensor, another description of where it lies."""

    def change(_: Path, model: ModelProto) -> None:
        for entry in model.graph.initializer[0].external_data:
            entry.value = entries.get(entry.key, entry.value)

    return change


def cut(folder: Path, _: ModelProto) -> None:
    (folder / "weights.bin").write_bytes(b"")


def gone(folder: Path, _: ModelProto) -> None:
    (folder / "weights.bin").unlink()


def elsewhere(folder: Path, _: ModelProto) -> None:
    (folder / "weights.bin").unlink()
    (folder / "weights.bin").symlink_to("/proc/self/environ")


SPOILT: dict[str, tuple[Callable[[Path, ModelProto], None], str]] = {
    "above": (moved(location="../weights.bin"), "lies outside of the model's folder"),
    "absolute": (moved(location="/etc/passwd"), "lies outside of the model's folder"),
    "link": (elsewhere, "lies outside of the model's folder"),
    "device": (moved(location="."), "lies outside of the model's folder"),
    "zero_in_name": (moved(location="a\0b"), "'constant_1'|null|is not there"),
    "gone": (gone, "is not there: keep the file beside the model"),
    "cut": (cut, "864 are needed and the file has 0"),
    "negative": (moved(offset="-1"), "from -1 on|must be non-negative"),
    "beyond": (moved(offset=str(2**62)), "are needed and the file has"),
    "too_long": (moved(length=str(2**40)), "where 864 are needed"),
    "no_number": (moved(length="many"), "external data is not described"),
}


@pytest.mark.parametrize("name", SPOILT)
def test_data_beside_is_read_from_the_models_folder_alone(name: str, tmp_path: Path) -> None:
    change, message = SPOILT[name]
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "weights.bin").write_bytes(bytes(10**6))
    model = onnx_models.with_data_beside(folder)
    change(folder, model)
    with pytest.raises(HalyardError, match=message):
        read(model, folder)


# ---- what makes no sense ------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"\xff\xff", b"\x08\x08", b"TFL3"])
def test_what_is_no_file_of_it_is_told(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    with pytest.raises(HalyardError, match=r"model\.onnx: this is no ONNX file"):
        convert(path)


def lying(change: Callable[[ModelProto], None]) -> ModelProto:
    model = onnx_models.resnet_block_qdq()
    change(model)
    return model


def _short(model: ModelProto) -> None:
    model.graph.initializer[1].dims[:] = [2**20, 2**20]


def _negative(model: ModelProto) -> None:
    model.graph.initializer[1].dims[:] = [-1]


def _loop(model: ModelProto) -> None:
    model.graph.node[0].input[0] = model.graph.node[-1].output[0]


def _huge_input(model: ModelProto) -> None:
    model.graph.input[0].type.tensor_type.shape.dim[2].dim_value = 2**40


def _no_shape(model: ModelProto) -> None:
    model.graph.input[0].type.tensor_type.ClearField("shape")


def _mismatch(model: ModelProto) -> None:
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 5


def _sparse(model: ModelProto) -> None:
    values = helper.make_tensor("sparse", TensorProto.FLOAT, [1], [1.0])
    places = helper.make_tensor("places", TensorProto.INT64, [1], [0])
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, [4]))


@pytest.mark.parametrize("change", [_short, _negative, _loop, _huge_input, _no_shape, _sparse])
def test_a_file_that_contradicts_itself_is_refused(
    change: Callable[[ModelProto], None], tmp_path: Path
) -> None:
    with pytest.raises(HalyardError, match=r"model\.onnx: "):
        read(lying(change), tmp_path)


def test_filters_that_do_not_go_with_the_image_are_not_mapped(tmp_path: Path) -> None:
    conversion = read(lying(_mismatch), tmp_path)
    assert conversion.unmapped[0].reason == "its filter is for 3 channels, and its input has 5"


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf")])
def test_a_scale_that_is_none_is_left_to_the_host(scale: float, tmp_path: Path) -> None:
    g = Graph()
    x = g.op("QuantizeLinear", g.input("x", (2, 3)), g.constant(scale), g.constant(0, "i1"))
    conversion = read(g.model(x), tmp_path)
    assert [each.reason for each in conversion.unmapped] == [f"its scale is {scale}"]


@pytest.mark.parametrize("kind", ["ConstantOfShape", "Expand", "Tile", "Range"])
def test_a_few_bytes_do_not_become_gigabytes(kind: str, tmp_path: Path) -> None:
    g = Graph()
    few, many = 77, 2**36
    inputs = {
        "ConstantOfShape": [g.ints(few)],
        "Expand": [g.constant([1]), g.ints(few)],
        "Tile": [g.constant([1]), g.ints(few)],
        "Range": [g.constant(0, "i8"), g.constant(few, "i8"), g.constant(1, "i8")],
    }[kind]
    large = g.op(kind, *inputs)
    total = g.op("ReduceSum", g.op("Cast", large, to=TensorProto.FLOAT), keepdims=1)
    model = g.model(g.op("Add", g.input("x", (1,)), total))
    for tensor in model.graph.initializer:
        tensor.raw_data = tensor.raw_data.replace(
            few.to_bytes(8, "little"), many.to_bytes(8, "little")
        )
    tracemalloc.start()
    try:
        conversion = read(model, tmp_path)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 2**24
    assert conversion.unmapped


def with_functions(calls: Sequence[Sequence[str]]) -> ModelProto:
    """A function for each row, f0 and so on, which calls those of the row. The graph calls f0."""
    model = helper.make_model(
        helper.make_graph(
            [helper.make_node("f0", ["x"], ["y"], domain="own")],
            "functions",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])],
        ),
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("own", 1)],
        ir_version=8,
    )
    for number, row in enumerate(calls):
        names = ["x", *(f"t{place}" for place in range(len(row) - 1)), "y"]
        nodes = [
            helper.make_node(called, [before], [after], domain="" if called == "Relu" else "own")
            for called, before, after in zip(row, names[:-1], names[1:], strict=True)
        ]
        imports = list(model.opset_import)
        made = helper.make_function("own", f"f{number}", ["x"], ["y"], nodes, imports)
        model.functions.append(made)
    return model


def doubling(count: int) -> ModelProto:
    return with_functions([[f"f{i + 1}"] * 2 for i in range(count)] + [["Relu"]])


def test_functions_come_to_as_many_nodes_as_they_call(tmp_path: Path) -> None:
    model = doubling(3)
    assert read(model, tmp_path).unmapped == ()
    assert len(network_of(model_of(model.SerializeToString(), tmp_path / "model.onnx")).nodes) == 8


def test_functions_that_double_with_each_are_refused_before_they_are_put_in(
    tmp_path: Path,
) -> None:
    with pytest.raises(HalyardError, match="comes to 262144 nodes, and no model has 200000"):
        read(doubling(18), tmp_path)
    with pytest.raises(HalyardError, match=f"comes to {2**90} nodes"):
        read(doubling(90), tmp_path)


def test_a_function_that_calls_itself_is_refused(tmp_path: Path) -> None:
    """By onnx's checker, where it looks for that, and by the count itself."""
    model = with_functions([["f1"], ["f0"]])
    with pytest.raises(HalyardError, match=r"this is no ONNX file: .*(calls itself|Cycle)"):
        read(model, tmp_path)
    with pytest.raises(ValueError, match="its function 'f0' calls itself"):
        file._take_functions(model, Budget(1))


def test_what_is_computed_of_constants_is_bounded_as_a_whole() -> None:
    g = Graph()
    total = g.op("Sum", *(g.op("ConstantOfShape", g.ints(2**22)) for _ in range(64)))
    first = g.op("Slice", total, g.ints(0), g.ints(1))
    model = g.model(g.op("Add", g.input("x", (1,)), first))
    network = network_of(model)
    held = {id(values): values.nbytes for values in network.constants.values()}
    assert sum(held.values()) < 2**27
    assert any(node.operator == "ConstantOfShape" for node in network.nodes)


def test_an_attribute_of_no_meaning_is_told(tmp_path: Path) -> None:
    g = Graph()
    image = g.op("Relu", g.input("x", (1, 3, 4, 4)))
    scales = g.constant([1, 1, 2, 2])
    conversion = read(g.model(g.op("Resize", image, "", scales, nearest_mode="up")), tmp_path)
    assert [each.reason for each in conversion.unmapped] == [
        "its nearest_mode is up, and round_prefer_floor or round_prefer_ceil or floor or ceil is "
        "understood"
    ]


def test_weights_that_are_no_numbers_are_read_without_a_warning(tmp_path: Path) -> None:
    """Warnings are errors here."""
    model = onnx_models.mobilenet_block()
    for tensor in model.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT:
            tensor.raw_data = b"\xff\xff\x7f\xff" * (len(tensor.raw_data) // 4)
    assert read(model, tmp_path).unmapped == ()


@pytest.mark.parametrize("name", ["mobilenet_block", "resnet_block_qdq", "transformer_encoder"])
def test_whatever_is_damaged_is_told_or_read(name: str, tmp_path: Path) -> None:
    """Bytes are changed all over the file: nothing but a HalyardError comes of it."""
    content = getattr(onnx_models, name)().SerializeToString()
    dice = random.Random(7)
    path = tmp_path / "model.onnx"
    for _ in range(150):
        spoilt = bytearray(content)
        for _ in range(dice.choice((1, 1, 3, 20))):
            spoilt[dice.randrange(len(spoilt))] = dice.randrange(256)
        if dice.random() < 0.1:
            del spoilt[dice.randrange(len(spoilt)) :]
        try:
            conversion = onnx.read_conversion(bytes(spoilt), path)
        except HalyardError:
            continue
        assert all(part.outputs for part in conversion.parts)
