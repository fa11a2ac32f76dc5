# SPDX-License-Identifier: Apache-2.0
"""Cycles of blocks by LLVM's models of cores."""

import pytest

from halyard.counting.hot_blocks import HotBlock
from halyard.counting.modelled_cycles import MODELS, cycles
from halyard.errors import HalyardError

ADD = 0x8B020020  # add x0, x1, x2
MULTIPLY_ADD = 0x4E22CC20  # fmla v0.4s, v1.4s, v2.4s: each waits for the one before
CALL = 0x94000001


def block(executions: int, *instructions: int) -> HotBlock:
    return HotBlock("", 0x1000, executions, instructions)


@pytest.mark.parametrize("model", MODELS)
def test_grow_with_the_executions(model: str) -> None:
    once = cycles([block(1, ADD, MULTIPLY_ADD)], model)
    assert cycles([block(7, ADD, MULTIPLY_ADD)], model) == pytest.approx(7 * once)


def test_dependent_instructions_take_longer() -> None:
    for model in MODELS:
        assert cycles([block(1, *[MULTIPLY_ADD] * 8)], model) > 2 * cycles(
            [block(1, *[ADD] * 8)], model
        )


def test_blocks_add_up() -> None:
    one, other = block(5, *[ADD] * 8), block(3, *[MULTIPLY_ADD] * 8)
    both = cycles([one, other], "neoverse-n1")
    alone = cycles([one], "neoverse-n1") + cycles([other], "neoverse-n1")
    assert both == pytest.approx(alone)


def test_rare_blocks_take_as_long_an_instruction_as_the_rest() -> None:
    """LLVM reads the blocks that make up nearly all: it can't read this one."""
    hot = block(1000, *[ADD] * 8)
    assert cycles([hot, block(1, 0xFFFFFFFF)], "cortex-a55") == pytest.approx(
        cycles([hot], "cortex-a55") * 8001 / 8000
    )


def test_a_call_is_no_more_than_an_instruction() -> None:
    assert cycles([block(1, ADD, CALL)], "cortex-a55") < 10


def test_an_invalid_instruction_is_an_error() -> None:
    with pytest.raises(HalyardError, match="reads 0 of 1 instructions"):
        cycles([block(1, 0xFFFFFFFF)], "cortex-a55")
