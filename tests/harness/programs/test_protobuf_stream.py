# SPDX-License-Identifier: Apache-2.0
"""Length-delimited message files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halyard.errors import HalyardError
from halyard.programs import protobuf_stream
from halyard.proto import halyard_pb2 as pb


@given(st.lists(st.text(max_size=300)))
def test_messages_come_back(names: list[str]) -> None:
    cases = [pb.TestCase(name=name) for name in names]
    assert list(protobuf_stream.read(protobuf_stream.write(cases), pb.TestCase)) == cases


@given(st.binary(max_size=200))
def test_garbage_is_an_error_or_messages_but_no_crash(data: bytes) -> None:
    try:
        list(protobuf_stream.read(data, pb.TestCase))
    except HalyardError:
        return


@pytest.mark.parametrize("cut", [1, 2, 100])
def test_a_cut_file_names_the_place(cut: int) -> None:
    data = protobuf_stream.write([pb.TestCase(name="first"), pb.TestCase(name="x" * 200)])
    messages = protobuf_stream.read(data[:-cut], pb.TestCase)
    assert next(messages).name == "first"
    with pytest.raises(HalyardError, match="byte 8 is cut off"):
        next(messages)


def test_a_size_that_no_message_has_is_refused_before_it_comes() -> None:
    stream = protobuf_stream.Stream(pb.TestCase)
    with pytest.raises(HalyardError, match="a message of 2147483648 bytes at byte 0"):
        list(stream.feed(b"\x80\x80\x80\x80\x08"))


def test_a_size_of_more_than_32_bits_is_refused() -> None:
    with pytest.raises(HalyardError, match="no message size at byte 0"):
        list(protobuf_stream.read(b"\xff\xff\xff\xff\xff\xff\x01", pb.TestCase))
