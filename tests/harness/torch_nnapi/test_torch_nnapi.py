# SPDX-License-Identifier: Apache-2.0
"""PyTorch's models for NNAPI (torch_models/make.py): the driver computes what PyTorch computed of
the same inputs before it converted them. PyTorch itself is not needed here."""

import io
import pickle
import random
import struct
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from halyard.comparison.difference import compare_all
from halyard.conversion import convert
from halyard.engines.halyard import HalyardProcess
from halyard.errors import HalyardError
from halyard.model import Array, Conversion, NnapiPart, RunnableModel, operation_name
from halyard.model.budget import OverBudget
from halyard.model.read_options import ReadOptions
from halyard.model.shapes import OpenDimensions, Shapes
from halyard.torch_nnapi import convert_torch, pickles, read_conversion
from halyard.torch_nnapi.archive import Archive
from halyard.torch_nnapi.pickles import Storage, Tensor
from halyard.torch_nnapi.serialized import parse
from tests.harness.agreement import disagreements
from tests.harness.on_engine import outputs_of

FOLDER = Path(__file__).parents[1] / "torch_models"
MODELS = ("conv_net", "pointwise_net", "quantized_net")


def arrays(name: str, side: str) -> list[Array]:
    with np.load(FOLDER / f"{name}.npz", allow_pickle=False) as held:
        return [held[key] for key in sorted(held) if key.startswith(side)]


@pytest.mark.parametrize("name", MODELS)
def test_models_agree_with_pytorch(name: str) -> None:
    """Floats within the limits of compare.py, 8 bits exactly."""
    conversion = convert(FOLDER / f"{name}.pt")
    part = conversion.whole
    # float16 where the model allows it would be another comparison.
    part.model.relax_computation_float32_to_float16 = False
    model = RunnableModel.of(part.model)
    found = outputs_of(HalyardProcess(), part.model, arrays(name, "input"))
    differences = compare_all(model, arrays(name, "output"), found)
    assert disagreements(differences, len(part.model.main.operations), steps=0) == []


def test_a_model_is_what_pytorch_hands_to_nnapi() -> None:
    conversion = convert(FOLDER / "conv_net.pt")
    part = conversion.whole
    assert [operation_name(each.type) for each in part.model.main.operations] == [
        "CONV_2D", "RELU", "DEPTHWISE_CONV_2D", "RELU6", "MAX_POOL_2D", "AVERAGE_POOL_2D",
        "RESHAPE", "FULLY_CONNECTED", "SOFTMAX",
    ]  # fmt: skip
    assert (part.inputs, part.outputs) == (("arg_0",), ("retval_0",))
    [image] = conversion.inputs
    # PyTorch moves its channels to the back.
    assert image.shape == (1, 16, 16, 3)
    assert part.permutations == {part.model.main.input_indexes[0]: (0, 2, 3, 1)}


def test_relaxed_computation_is_kept() -> None:
    relaxed = [
        convert(FOLDER / f"{name}.pt").model.relax_computation_float32_to_float16 for name in MODELS
    ]
    assert relaxed == [False, True, False]


def test_8_bit_operands_have_their_scales() -> None:
    conversion = convert(FOLDER / "quantized_net.pt")
    [output] = conversion.outputs
    assert output.dtype == np.uint8
    assert output.scale > 0
    filters = [
        conversion.model.main.operands[each.inputs[1]]
        for each in conversion.model.main.operations
        if operation_name(each.type) == "CONV_2D"
    ]
    assert all(each.zero_point == 128 and each.scale > 0 for each in filters)


# ---- files that are none, or do harm -------------------------------------------------------------


def rewritten(name: str, change: Callable[[str, bytes], bytes | None], **options: int) -> bytes:
    """The archive with each of its files changed, or left away."""
    made = io.BytesIO()
    with zipfile.ZipFile(FOLDER / f"{name}.pt") as old, zipfile.ZipFile(made, "w") as new:
        for info in old.infolist():
            content = change(info.filename.partition("/")[2], old.read(info))
            if content is not None:
                new.writestr(info.filename, content, options.get("compression", zipfile.ZIP_STORED))
    return made.getvalue()


def read(content: bytes) -> Conversion:
    return read_conversion(content, Path("model.pt"))


def with_pickle(content: bytes) -> bytes:
    return rewritten("conv_net", lambda name, old: content if name == "data.pkl" else old)


def with_blob(change: Callable[[bytearray], None]) -> bytes:
    """With another serialised model, of the same size."""

    def spoil(name: str, content: bytes) -> bytes:
        if name != "data/0":
            return content
        spoilt = bytearray(content)
        change(spoilt)
        return bytes(spoilt)

    return rewritten("conv_net", spoil)


def word(place: int, value: int) -> Callable[[bytearray], None]:
    def change(blob: bytearray) -> None:
        struct.pack_into("<i", blob, 4 * place, value)

    return change


def test_an_archive_as_pytorch_writes_it_may_be_written_anew() -> None:
    assert read(rewritten("conv_net", lambda _, content: content)).unmapped == ()


class Harm:
    """A pickle of it runs a command where pickles are believed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str]]:
        import os

        return os.system, (f"touch {self.path}",)


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_pickle_that_runs_commands_runs_none(protocol: int, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    with pytest.raises(HalyardError, match="its pickle"):
        read(with_pickle(pickle.dumps(Harm(mark), protocol)))
    assert not mark.exists()


PICKLES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "pickle exhausted"),
    "no_end": (b"\x80\x02N", "pickle"),
    "nothing": (b"\x80\x02N.", "none of its modules was converted"),
    "a_class_of_pythons": (b"\x80\x02cos\nsystem\n)\x81.", "none of TorchScript's"),
    "a_call": (b"\x80\x02cbuiltins\neval\nX\x01\x00\x00\x001\x85R.", "calls builtins.eval"),
    "an_instance": (b"(cos\nsystem\no.", "has OBJ, which TorchScript does not write"),
    "memory": (b"\x80\x02Nr\xff\xff\xff\x7f0N.", "has POP|none of its modules"),
    "below_the_stack": (b"\x80\x02R.", "damaged"),
    "no_mark": (b"\x80\x02Nt.", "did not begin"),
    "not_a_list": (b"\x80\x02NNa.", "no list"),
    "an_escape_in_a_name": (b"\x80\x02c\\d\nx\n)\x81.", "none of TorchScript's"),
    "unknown_memo": (b"\x80\x02h\x05.", "damaged"),
}


@pytest.mark.parametrize("name", PICKLES)
def test_a_pickle_that_is_not_torchscripts_is_refused(name: str) -> None:
    content, message = PICKLES[name]
    with pytest.raises(HalyardError, match=message):
        read(with_pickle(content))


# A tuple of twice itself, forty times: one object each, which it would take a year to go through.
_TWICE = b")" + b"q\x00h\x00\x86" * 40


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"}" + _TWICE + b"Ns", "a key is neither a word nor a number"),
        (_TWICE + b")\x81", "an object is made of what is no class"),
        (b"c" + b"a" * 100_000 + b"\nb\n)\x81", "makes an object of a{200}\\.\\.\\.,"),
        (b"c" + b"a" * 100_000 + b"\nb\n)R", "calls a{200}\\.\\.\\.,"),
    ],
    ids=["key", "class", "long_class", "long_function"],
)
def test_a_small_pickle_takes_little(content: bytes, message: str) -> None:
    with pytest.raises(HalyardError, match=message) as told:
        read(with_pickle(b"\x80\x02" + content + b"."))
    assert len(str(told.value)) < 1000


def test_orders_of_dimensions_are_numbers() -> None:
    twice = pickles.loads(b"\x80\x02" + _TWICE + b".")
    for given in ([twice], [3], [0, 0]):
        module = pickles.Record("module", {"inp_mem_fmts": given})
        with pytest.raises(ValueError, match="inp_mem_fmts does not say 1 times"):
            convert_torch._formats(module, "inp_mem_fmts", 1)


def test_strides_of_nothing_do_not_make_much_of_little() -> None:
    archive = Archive((FOLDER / "conv_net.pt").read_bytes())
    key = pickled_weights(archive)[0].storage.key
    large = Tensor(Storage("FloatStorage", key, 1), 0, (2**24,), (0,))
    assert archive.array(large).size == 2**24
    assert archive.array(large).size == 2**24
    with pytest.raises(OverBudget, match="its tensors would come to"):
        archive.array(large)


def pickled_weights(archive: Archive) -> Sequence[Tensor]:
    found = archive.module().get("weights")
    assert isinstance(found, list)
    return found


def test_a_list_within_itself_ends() -> None:
    with pytest.raises(HalyardError, match="none of its modules"):
        read(with_pickle(b"\x80\x02]q\x00h\x00a."))


def test_the_pickle_of_a_module_is_plain_data() -> None:
    with zipfile.ZipFile(FOLDER / "conv_net.pt") as archive:
        module = pickles.loads(archive.read("conv_net/data.pkl"))
    assert module.get("mod").get("inp_mem_fmts") == [1]


ARCHIVES: dict[str, tuple[Callable[[str, bytes], bytes | None], str]] = {
    "big_endian": (lambda name, old: b"big" if name == "byteorder" else old, "little-endian"),
    "no_pickle": (lambda name, old: None if name == "data.pkl" else old, "has no data.pkl"),
    "no_weight": (lambda name, old: None if name == "data/2" else old, "has no data/2"),
    "short_weight": (lambda name, old: old[:8] if name == "data/2" else old, "outside of data/2"),
}


@pytest.mark.parametrize("name", ARCHIVES)
def test_an_archive_without_its_parts_is_refused(name: str) -> None:
    change, message = ARCHIVES[name]
    with pytest.raises(HalyardError, match=rf"this is no PyTorch model for NNAPI: .*{message}"):
        read(rewritten("conv_net", change))


def test_what_is_no_archive_is_refused() -> None:
    with pytest.raises(HalyardError, match="it is no zip archive"):
        read(b"\x80\x02N.")


def test_a_compressed_archive_is_refused() -> None:
    """It might be a few bytes that are many."""
    content = rewritten("conv_net", lambda _, old: old, compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(HalyardError, match="is compressed, which PyTorch does not do"):
        read(content)


# Of conv_net's serialised model; its header is version and counts.
BLOBS: dict[str, tuple[Callable[[bytearray], None], str]] = {
    "version": (word(0, 2), "its version is 2"),
    "many_operands": (word(1, 2**31 - 1), "it counts"),
    "negative_count": (word(3, -1), "it counts"),
    "fewer_outputs": (word(5, 0), "after its end|say 0 times"),
    "operand_type": (word(6 + 4 * 2, 99), "is of type 99"),
    "rank": (word(6 + 4 * 2 + 1, 2**30), "an operand has 1073741824 dimensions"),
    "last_output": (lambda blob: word(len(blob) // 4 - 1, 1000)(blob), "names an operand"),
}


@pytest.mark.parametrize("name", BLOBS)
def test_a_serialised_model_that_lies_is_refused(name: str) -> None:
    change, message = BLOBS[name]
    with pytest.raises(HalyardError, match=message):
        read(with_blob(change))


def with_open_dimensions(name: str, axes: Sequence[int]) -> bytes:
    """As PyTorch writes them: 0, of all that is given or computed."""

    def opened(file: str, content: bytes) -> bytes:
        if file != "data/0":
            return content
        blob = bytearray(content)
        model = parse(content)
        place = 6 + 4 * len(model.operands) + 3 * (len(model.values) + len(model.operations))
        for index, operand in enumerate(model.operands):
            if index not in model.values:
                for axis in axes:
                    if axis < len(operand.dims):
                        word(place + axis, 0)(blob)
            place += len(operand.dims)
        return bytes(blob)

    return rewritten(name, opened)


@pytest.mark.parametrize(("name", "batch"), [("pointwise_net", 3), ("conv_net", 1)])
def test_an_open_batch_has_the_extent_that_is_said(name: str, batch: int) -> None:
    """Each of it is computed as it is alone; what is not said is one."""
    content = with_open_dimensions(name, [0])
    given = [np.concatenate([each] * batch) for each in arrays(name, "input")]
    words = [f"arg_{k}={','.join(map(str, each.shape))}" for k, each in enumerate(given)]
    options = ReadOptions(Shapes.parse(words if batch > 1 else [], []))
    conversion = read_conversion(content, Path("model.pt"), options)
    part = conversion.whole
    assert all(0 not in operand.dimensions for operand in part.model.main.operands)
    part.model.relax_computation_float32_to_float16 = False
    model = RunnableModel.of(part.model)
    found = outputs_of(HalyardProcess(), part.model, given)
    expected = [np.concatenate([each] * batch) for each in arrays(name, "output")]
    differences = compare_all(model, expected, found)
    assert disagreements(differences, len(part.model.main.operations), steps=0) == []


def test_open_dimensions_are_asked_for() -> None:
    content = with_open_dimensions("conv_net", [0, 1, 2])
    with pytest.raises(OpenDimensions) as caught:
        read(content)
    assert str(caught.value) == (
        "model.pt: the extents of these dimensions are not known: 'arg_0' [?, ?, ?, 3]: dimension "
        "1 and dimension 2. Say them, for instance with --shape 1,3,224,3"
    )


def test_a_shape_that_does_not_go_with_the_model_is_refused() -> None:
    content = with_open_dimensions("conv_net", [0])
    options = ReadOptions(Shapes.parse(["1,16,16,4"], []))
    with pytest.raises(HalyardError, match="the file fixes dimension 3 of 'arg_0' to 3"):
        read_conversion(content, Path("model.pt"), options)
    content = with_open_dimensions("conv_net", [0, 1, 2, 3])
    with pytest.raises(HalyardError, match=r"shapes do not follow .*operation 0 \(CONV_2D\)"):
        read_conversion(content, Path("model.pt"), options)


@pytest.mark.parametrize("name", MODELS)
def test_whatever_is_damaged_is_told_or_read(name: str) -> None:
    """Bytes are changed in the file, in its pickle and in the serialised model: nothing but a
    HalyardError comes of it."""
    whole = (FOLDER / f"{name}.pt").read_bytes()
    dice = random.Random(11)

    def spoilt(content: bytes) -> bytes:
        changed = bytearray(content)
        for _ in range(dice.choice((1, 1, 3))):
            changed[dice.randrange(len(changed))] = dice.randrange(256)
        return bytes(changed)

    for turn in range(300):
        inside = ("", "data.pkl", "data/0")[turn % 3]
        content = (
            rewritten(name, lambda file, old, at=inside: spoilt(old) if file == at else old)
            if inside
            else spoilt(whole)
        )
        try:
            conversion = read(content)
        except HalyardError:
            continue
        assert isinstance(conversion.whole, NnapiPart)
