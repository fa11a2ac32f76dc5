# SPDX-License-Identifier: Apache-2.0
"""Dimensions that a file leaves open: said by a user, told by the file, as usual, or asked for."""

import random
from collections.abc import Mapping, Sequence

import pytest

from halyard.errors import ConfigError, HalyardError
from halyard.model.shapes import Declared, OpenDimensions, Shapes, closed

IDS = Declared("ids", ("batch", "seqlen"))
MASK = Declared("mask", ("batch", "past + seqlen"))
IMAGE = Declared("image", ("N", 3, "", ""))


def shapes(
    inputs: Sequence[Declared], *shape: str, dim: Sequence[str] = ()
) -> Mapping[str, tuple[int, ...]]:
    return closed(inputs, Shapes.parse(shape, dim)).shapes


def refusal(inputs: Sequence[Declared], *shape: str, dim: Sequence[str] = ()) -> str:
    with pytest.raises(HalyardError) as caught:
        shapes(inputs, *shape, dim=dim)
    return str(caught.value)


def test_closes_dimensions_by_their_names_in_all_inputs() -> None:
    found = shapes([IDS, MASK], dim=["batch=2,seqlen=32", "past=8"])
    assert found == {"ids": (2, 32), "mask": (2, 40)}


def test_a_shape_tells_what_names_of_dimensions_stand_for() -> None:
    other = Declared("other", ("seqlen", "batch", 4))
    assert shapes([IDS, other], "ids=3,7") == {"ids": (3, 7), "other": (7, 3, 4)}


def test_takes_a_shape_without_a_name_for_the_only_input() -> None:
    assert shapes([IMAGE], "2,3,5,6") == {"image": (2, 3, 5, 6)}
    assert (
        refusal([IDS, MASK], "1,2") == "--shape 1,2: it has 2 inputs, so say which: 'ids', 'mask'"
    )


def test_takes_names_that_have_signs_of_their_own() -> None:
    strange = Declared("a=b:0", ("", ""))
    assert shapes([strange], "a=b:0=4,5") == {"a=b:0": (4, 5)}


def test_a_batch_is_one_unless_another_input_says() -> None:
    x, y = Declared("x", ("", 3)), Declared("y", ("unk__7", 4))
    assert shapes([x, y]) == {"x": (1, 3), "y": (1, 4)}
    assert shapes([x, y], "x=5,3") == {"x": (5, 3), "y": (5, 4)}
    hidden = Declared("h", (2, "batch_size", 8))
    assert shapes([hidden]) == {"h": (2, 1, 8)}


def test_a_first_dimension_that_is_a_length_is_no_batch() -> None:
    assert "'tokens' [seq_len]: seq_len" in refusal([Declared("tokens", ("seq_len",))])


def test_nothing_is_an_extent_and_not_open() -> None:
    empty = Declared("past", (1, 0, "n"))
    assert shapes([empty]) == {"past": (1, 0, 1)}
    assert shapes([IDS], "ids=1,0") == {"ids": (1, 0)}
    assert "fixes dimension 1 of 'past' to 0" in refusal([empty], "1,4,1")


def test_what_the_file_tells_closes_a_dimension() -> None:
    image = Declared("image", ("", "c", "h", "w"), {1: 3, 2: 32, 3: 64})
    assert shapes([image]) == {"image": (1, 3, 32, 64)}
    assert shapes([image], dim=["h=16"]) == {"image": (1, 3, 16, 64)}


def test_an_input_of_any_rank_takes_a_shape() -> None:
    free = Declared("x", None)
    assert shapes([free], "2,3") == {"x": (2, 3)}
    assert "'x' (of any rank)" in refusal([free])


def test_one_message_names_all_that_is_open_and_what_closes_it() -> None:
    inputs = [IDS, MASK, IMAGE, Declared("scale", (1,))]
    with pytest.raises(OpenDimensions) as caught:
        shapes(inputs)
    assert str(caught.value) == (
        "the extents of these dimensions are not known: 'ids' [batch, seqlen]: seqlen; 'mask' "
        "[batch, past + seqlen]: past + seqlen; 'image' [N, 3, ?, ?]: dimension 2 and dimension 3. "
        "Say them, for instance with --dim seqlen=128,past=128 --shape image=1,3,224,224"
    )
    options = caught.value.options
    assert options == ("--dim", "seqlen=128,past=128", "--shape", "image=1,3,224,224")
    found = shapes(inputs, options[3], dim=[options[1]])
    assert found["mask"] == (1, 256)
    assert found["image"] == (1, 3, 224, 224)


def test_an_option_is_given_once_for_a_dimension() -> None:
    lines = Declared("lines", ("", 3, "", "width"))
    with pytest.raises(OpenDimensions) as caught:
        shapes([lines])
    assert caught.value.options == ("--shape", "1,3,224,224")
    with pytest.raises(OpenDimensions) as caught:
        shapes([lines, Declared("mask", ("width",))])
    assert caught.value.options == ("--dim", "width=224", "--shape", "lines=1,3,224,224")


_NAMES = ("", "batch", "n", "seqlen", "H", "past + seqlen", "2 * s0", "past - 1", "s0 // 4", "a,b",
          "x=y", " t ", "-1", "if", "f(h)")  # fmt: skip


@pytest.mark.parametrize("seed", range(300))
def test_what_the_message_gives_closes_all_that_is_open(seed: int) -> None:
    """Behind what was said already, whatever the names are."""
    dice = random.Random(seed)
    inputs = [
        Declared(
            f"input_{number}",
            tuple(
                dice.choice(_NAMES) if dice.random() < 0.7 else dice.randint(0, 9)
                for _ in range(dice.randint(0, 4))
            )
            if dice.random() < 0.95
            else None,
        )
        for number in range(dice.randint(1, 4))
    ]
    said = [name for name in ("past", "seqlen", "H") if dice.random() < 0.3]
    dim = [f"{name}={dice.randint(1, 50)}" for name in said]
    try:
        closed(inputs, Shapes.parse([], dim))
    except OpenDimensions as error:
        options = error.options
    except HalyardError:
        # The settings are for no dimension here.
        options = ()
    else:
        options = ()
    if not options:
        return
    pairs = list(zip(options[::2], options[1::2], strict=True))
    dim += [word for option, word in pairs if option == "--dim"]
    closing = closed(inputs, Shapes.parse([word for name, word in pairs if name == "--shape"], dim))
    assert set(closing.shapes) == {each.name for each in inputs}


@pytest.mark.parametrize(
    ("shape", "dim", "reason"),
    [
        (["other=1,2"], [], "--shape other=1,2: it has no input 'other'; there are 'ids', 'mask'"),
        (
            ["ids=1,2,3"],
            [],
            "--shape ids=1,2,3: 3 dimensions, and the file has 'ids' [batch, seqlen], which are 2",
        ),
        (
            [],
            ["width=3"],
            "--dim width: no open dimension of its inputs has this name; there are batch, past + "
            "seqlen, seqlen",
        ),
        (
            ["ids=2,5"],
            ["batch=3"],
            "--shape ids=2,5: dimension 0 of 'ids' is batch, which is 3",
        ),
        (
            ["ids=2,5", "mask=2,9"],
            ["past=3"],
            "--shape mask=2,9: dimension 1 of 'mask' is past + seqlen, which is 8",
        ),
    ],
)
def test_refuses_what_contradicts_the_file(
    shape: Sequence[str], dim: Sequence[str], reason: str
) -> None:
    assert refusal([IDS, MASK], *shape, dim=dim) == reason


def test_refuses_an_extent_that_the_file_fixes() -> None:
    assert refusal([IMAGE], "1,4,8,8") == (
        "--shape image=1,4,8,8: the file fixes dimension 1 of 'image' to 3"
    )
    assert refusal([Declared("x", (2,))], dim=["n=1"]) == (
        "--dim n: no open dimension of its inputs has this name; none has a name, and --shape "
        "gives them"
    )


@pytest.mark.parametrize(
    ("shape", "dim", "reason"),
    [
        (["x=1,-1"], [], "--shape x=1,-1: '-1' is no extent, a whole number from 0 to 2147483647"),
        (["x=1,2.5"], [], "--shape x=1,2.5: '2.5' is no extent"),
        (["x=1,2147483648"], [], "'2147483648' is no extent"),
        ([""], [], "--shape: there are no extents"),
        (["x=1", "x=2"], [], "--shape x=2: x has a shape already"),
        ([], ["batch"], "--dim batch: 'batch' is no NAME=EXTENT"),
        ([], ["batch=1", "batch=2"], "--dim batch=2: batch is 1 already"),
        ([], ["=2"], "--dim =2: '=2' is no NAME=EXTENT"),
    ],
)
def test_refuses_words_that_are_no_shape(
    shape: Sequence[str], dim: Sequence[str], reason: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        Shapes.parse(shape, dim)
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    "name", ["((" * 5000, "9" * 5000, "n" + "+n" * 5000, "\0", "a if b else c"]
)
def test_a_name_that_means_nothing_is_a_name(name: str) -> None:
    """Whatever a file has for one."""
    assert shapes([Declared("x", (1, name))], "1,5") == {"x": (1, 5)}
    with pytest.raises(OpenDimensions):
        shapes([Declared("x", (1, name))])


def test_is_said_as_it_was_typed() -> None:
    words = Shapes.parse(["x=1,2", "3"], ["a=1,b=2"]).words()
    assert words == ["--shape", "x=1,2", "--shape", "3", "--dim", "a=1,b=2"]
