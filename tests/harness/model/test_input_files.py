# SPDX-License-Identifier: Apache-2.0
"""Inputs from files: which one each is for, what they may hold, and how images become one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from halyard.errors import ConfigError, HalyardError
from halyard.model import Array, TensorInfo
from halyard.model.input_files import InputFiles
from halyard.model.pixels import Layout, Pixels

Save = Callable[[str, Array], str]


def info(name: str, dtype: Any, *shape: int, scale: float = 0.0, zero_point: int = 0) -> TensorInfo:
    return TensorInfo(name, np.dtype(dtype), shape, scale, zero_point)


IDS, MASK = info("ids", np.int32, 1, 3), info("mask", np.uint8, 1, 3)
ORIGINALS = {
    "ids": info("ids", np.int64, 1, 3),
    "mask": info("mask", np.bool_, 1, 3),
    "unread": info("unread", np.float32, 2),
}


@pytest.fixture
def save(tmp_path: Path) -> Save:
    def save(name: str, values: Array) -> str:
        np.save(tmp_path / name, values)
        return str(tmp_path / name)

    return save


def arrays(*words: str) -> list[Array]:
    files = InputFiles(words)
    files.check()
    return files.arrays([IDS, MASK], ORIGINALS)


def refusal(*words: str) -> str:
    with pytest.raises(HalyardError) as caught:
        arrays(*words)
    return str(caught.value)


@pytest.fixture
def ids(save: Save) -> str:
    return save("ids.npy", np.array([[5, 6, 7]], np.int64))


@pytest.fixture
def mask(save: Save) -> str:
    return save("mask.npy", np.array([[True, False, True]]))


def test_files_are_for_inputs_by_name_or_in_order(ids: str, mask: str) -> None:
    for words in ([ids, mask], [f"mask={mask}", f"ids={ids}"], [f"mask={mask}", ids]):
        found = arrays(*words)
        assert [(each.dtype, each.tolist()) for each in found] == [
            (np.int32, [[5, 6, 7]]),
            (np.uint8, [[1, 0, 1]]),
        ]


def test_an_npz_has_several_by_their_names(tmp_path: Path, ids: str) -> None:
    path = tmp_path / "all.npz"
    np.savez(path, ids=np.array([[1, 2, 3]]), mask=np.array([[0, 1, 1]], np.uint8))
    assert [each.tolist() for each in arrays(str(path))] == [[[1, 2, 3]], [[0, 1, 1]]]
    np.savez(path, mask=np.array([[0, 1, 1]], np.uint8))
    assert arrays(str(path), f"ids={ids}")[1].tolist() == [[0, 1, 1]]
    assert "an .npz has the names of its inputs in it" in refusal(f"mask={path}")
    np.savez(path, other=np.zeros(3))
    assert "no input 'other', there are 'ids', 'mask', 'unread'" in refusal(str(path))
    path.write_bytes(b"PK\3\4 and no more")
    assert "these are no arrays of numpy's" in refusal(str(path))


def test_an_input_that_nothing_reads_may_be_given(ids: str, mask: str, save: Save) -> None:
    unread = save("unread.npy", np.zeros(2, np.float32))
    assert len(arrays(f"ids={ids}", f"mask={mask}", f"unread={unread}")) == 2


def test_names_and_files_may_have_signs_of_their_own(tmp_path: Path, save: Save) -> None:
    file = save("a=b.npy", np.ones(2, np.float32))
    for word in (file, f"x=y:0={file}"):
        [found] = InputFiles((word,)).arrays([info("x=y:0", np.float32, 2)])
        assert found.tolist() == [1, 1]


def test_whole_numbers_are_checked_against_what_the_device_holds(save: Save, mask: str) -> None:
    """INT64 is INT32 there."""
    largest = save("largest.npy", np.array([[2**31 - 1, -(2**31), 0]]))
    assert arrays(largest, mask)[0].tolist() == [[2**31 - 1, -(2**31), 0]]
    small = save("small.npy", np.array([[1, 2, 3]], np.int8))
    assert arrays(small, mask)[0].dtype == np.int32
    large = save("large.npy", np.array([[2**31, 0, 0]]))
    assert refusal(large, mask) == f"{large}: ids: it has values that int32 can't hold"


def test_truth_values_are_nought_and_one(save: Save, ids: str) -> None:
    bad = save("bad.npy", np.array([[0, 2, 1]]))
    assert refusal(ids, bad) == (
        f"{bad} has values that are neither 0 nor 1; the input mask takes bool[1, 3]"
    )


def test_raw_bytes_are_of_the_file_s_type_or_the_device_s(tmp_path: Path, mask: str) -> None:
    for kind in ("<i8", "<i4"):
        (tmp_path / "ids.raw").write_bytes(np.array([7, 8, 9], kind).tobytes())
        assert arrays(str(tmp_path / "ids.raw"), mask)[0].tolist() == [[7, 8, 9]]
    (tmp_path / "ids.raw").write_bytes(bytes(7))
    assert "ids.raw has 7 bytes, not 24; the input ids takes int64[1, 3]" in refusal(
        str(tmp_path / "ids.raw"), mask
    )


def test_refuses_files_that_do_not_fit(save: Save, ids: str, mask: str, tmp_path: Path) -> None:
    real = save("real.npy", np.zeros((1, 3), np.float32))
    assert f"{real} has elements of type float32" in refusal(real, mask)
    four = save("four.npy", np.zeros((1, 4), np.int64))
    assert f"{four} has the shape [1, 4]" in refusal(four, mask)
    assert refusal(ids) == (
        "--input: 1 of 2 inputs have files, and 'mask' has none: --input mask=FILE"
    )
    assert "no input 'idx', there are 'ids', 'mask', 'unread'" in refusal(f"idx={ids}", mask)
    assert "ids has a file already" in refusal(f"ids={ids}", f"ids={ids}", mask)
    assert "there is no such file" in refusal("ids=nowhere.npy", mask)
    assert "4 files, and the model has 3 inputs" in refusal(ids, mask, mask, mask)
    empty = tmp_path / "empty.npy"
    empty.touch()
    assert f"{empty}: this is no array of numpy's" in refusal(str(empty), mask)


# ---- images --------------------------------------------------------------------------------------


@pytest.fixture
def image_file(tmp_path: Path) -> str:
    """2 high, 3 wide; red, green and blue are told apart."""
    pixels = np.arange(18, dtype=np.uint8).reshape(2, 3, 3) * 10
    Image.fromarray(pixels).save(tmp_path / "image.png")
    return str(tmp_path / "image.png")


PIXELS = np.arange(18).reshape(1, 2, 3, 3) * 10


def image(word: str, what: TensorInfo, pixels: Pixels | None = None) -> Array:
    [found] = InputFiles((word,), pixels or Pixels()).arrays([what])
    return found


def test_an_image_has_the_layout_of_its_input(image_file: str) -> None:
    last = image(image_file, info("x", np.float32, 1, 2, 3, 3))
    np.testing.assert_array_equal(last, ((PIXELS - 128) / 128).astype(np.float32))
    first = image(image_file, info("x", np.float32, 1, 3, 2, 3), Pixels(Layout.NCHW))
    np.testing.assert_array_equal(first, last.transpose(0, 3, 1, 2))
    first = image(image_file, info("x", np.uint8, 1, 3, 4, 6))
    assert first.shape == (1, 3, 4, 6)


def test_an_image_takes_a_layout_where_both_would_do(image_file: str) -> None:
    both = info("x", np.uint8, 1, 3, 2, 3)
    with pytest.raises(HalyardError, match=r"\[1, 3, 2, 3\] may be NHWC or NCHW: --layout says"):
        image(image_file, both)
    assert image(image_file, both, Pixels(Layout.NHWC)).shape == (1, 3, 2, 3)
    first = image(image_file, both, Pixels(Layout.NCHW))
    np.testing.assert_array_equal(first, PIXELS.transpose(0, 3, 1, 2))


def test_mean_and_scale_are_of_all_channels_or_of_each(image_file: str) -> None:
    x = info("x", np.float32, 1, 2, 3, 3)
    found = image(image_file, x, Pixels(mean=(100.0, 50.0, 25.0), scale=(0.5, 0.25, 2.0)))
    expected = (PIXELS - [100, 50, 25]) * [0.5, 0.25, 2.0]
    np.testing.assert_array_equal(found, expected.astype(np.float32))
    np.testing.assert_array_equal(image(image_file, x, Pixels(mean=(127.5,))), PIXELS - 127.5)
    np.testing.assert_allclose(image(image_file, x, Pixels(scale=(1 / 255,))), PIXELS / 255, 1e-6)
    with pytest.raises(HalyardError, match="--mean has 2 numbers, and the input x has 3 channels"):
        image(image_file, x, Pixels(mean=(1.0, 2.0)))


def test_mean_and_scale_are_in_steps_of_a_quantised_input(image_file: str) -> None:
    """To the nearest, and no further than the type goes."""
    x = info("x", np.int8, 1, 2, 3, 3, scale=0.5, zero_point=-10)
    found = image(image_file, x, Pixels(mean=(100.0,), scale=(0.7,)))
    expected = np.clip(np.rint((PIXELS - 100) * 0.7 / 0.5) - 10, -128, 127)
    assert expected.min() == -128
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(HalyardError, match="make real numbers, and the input x takes uint8"):
        image(image_file, info("x", np.uint8, 1, 2, 3, 3), Pixels(mean=(1.0,)))


def test_an_image_is_for_an_input_of_one(image_file: str, tmp_path: Path) -> None:
    with pytest.raises(HalyardError) as caught:
        image(image_file, info("x", np.float32, 2, 2, 3, 3))
    assert str(caught.value) == (
        f"{image_file} has an image, which takes an input [1, height, width, 1 or 3] or "
        "[1, 1 or 3, height, width]; the input x takes float32[2, 2, 3, 3]"
    )
    (tmp_path / "cut.png").write_bytes(Path(image_file).read_bytes()[:-30])
    with pytest.raises(HalyardError, match=r"cut\.png: image file is truncated"):
        image(str(tmp_path / "cut.png"), info("x", np.uint8, 1, 4, 6, 3))


def test_what_is_for_images_is_refused_where_there_are_none(save: Save) -> None:
    with pytest.raises(ConfigError, match="are for images, and --input gives them"):
        InputFiles((), Pixels(Layout.NCHW)).check()
    zeros = save("zeros.npy", np.zeros(2, np.float32))
    with pytest.raises(ConfigError, match="are for images, and no input is one"):
        InputFiles((zeros,), Pixels(mean=(1.0,))).arrays([info("x", np.float32, 2)])
