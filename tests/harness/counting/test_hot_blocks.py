# SPDX-License-Identifier: Apache-2.0
"""The hottest blocks of what the plugin writes: each block's executions at three reads, and in the
end."""

from pathlib import Path

import pytest

from halyard.counting.hot_blocks import hot_blocks

NOP = "d503201f"


def line(address: int, executions: tuple[int, ...], instructions: int) -> str:
    counts = " ".join(map(str, executions))
    return f"block {address:x} {counts} : {' '.join([NOP] * instructions)}\n"


def test_counts_what_one_more_inference_adds() -> None:
    # Ten before the first command; each command takes three of its own.
    [block] = hot_blocks([line(0x1000, (10, 10 + 3 + 5, 18 + 3 + 10, 40), 4)], 10)
    assert (block.executions, block.total) == (5, 20)


def test_leaves_out_what_inferences_do_not_execute() -> None:
    assert hot_blocks([line(0x1000, (10, 13, 16, 20), 4)], 10) == []


def test_merges_neighbours_that_are_executed_as_often() -> None:
    once = (0, 1, 3, 3)
    twice = (0, 2, 6, 6)
    lines = [line(0x1010, once, 2), line(0x1000, once, 4), line(0x1018, twice, 1)]
    assert [(each.address, len(each.instructions)) for each in hot_blocks(lines, 10)] == [
        (0x1000, 6),
        (0x1018, 1),
    ]


def test_does_not_merge_across_a_gap() -> None:
    once = (0, 1, 3, 3)
    lines = [line(0x1000, once, 4), line(0x1014, once, 4)]
    assert len(hot_blocks(lines, 10)) == 2


def test_the_hottest_come_first() -> None:
    lines = [line(0x1000, (0, 5, 15, 15), 1), line(0x2000, (0, 2, 6, 6), 4)]
    assert [each.address for each in hot_blocks(lines, 0)] == [0x2000, 0x1000]


def test_tells_the_file_where_a_block_lies(tmp_path: Path) -> None:
    file = tmp_path / "library.so"
    file.write_bytes(b"no ELF file")
    mapped = f"map 00010000-00020000 r-xp 00004000 08:01 7       {file}\n"
    [block] = hot_blocks([line(0x10020, (0, 1, 3, 3), 1), mapped], 10)
    assert block.place == "library.so + 0x4020"


@pytest.mark.parametrize("mapped", ["", "map 00010000-00020000 r-xp 00000000 00:00 0\n"])
def test_tells_the_address_of_what_lies_in_no_file(mapped: str) -> None:
    [block] = hot_blocks([line(0x10020, (0, 1, 3, 3), 1), mapped], 10)
    assert block.place == "0x10020"


def test_only_the_hottest_have_places() -> None:
    lines = [line(0x1000, (0, 5, 15, 15), 1), line(0x2000, (0, 2, 6, 6), 4)]
    assert [each.place for each in hot_blocks(lines, 1)] == ["0x2000", ""]
