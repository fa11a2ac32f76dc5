# SPDX-License-Identifier: Apache-2.0
"""Reports of the times of nodes."""

import io

import pytest
from rich.console import Console

from halyard.profiling.node_times import node_times, print_profile
from halyard.proto import halyard_pb2 as pb
from halyard.terminal.console import Terminal
from halyard.timing.machine import Peak

PEAK = Peak(1, "fma", 100.0, "dot", 400.0, 20.0, 10.0)


def rows() -> list[pb.NodeProfile]:
    return [
        pb.NodeProfile(
            operations=[63],
            label="operation 63 (DEPTHWISE_CONV_2D)",
            node="DepthwiseConv2d",
            type="FLOAT32",
            backend="CpuRef",
            kernel="ref::DepthwiseConv2d",
            median_ns=3_000_000,
            bytes=1_000_000,
            multiply_adds=75_000_000,
            nodes=1,
        ),
        pb.NodeProfile(
            label="operation 64 (CONV_2D)",
            type="QUANT8_ASYMM_SIGNED",
            backend="CpuAcc",
            kernel="conv",
            median_ns=500_000,
            multiply_adds=50_000_000,
            nodes=3,
        ),
        pb.NodeProfile(
            label="operation 70 (ADD)",
            type="FLOAT32",
            median_ns=500_000,
            bytes=1_000_000,
            nodes=1,
        ),
    ]


def test_a_node_is_measured_by_its_multiply_adds_or_else_by_what_it_moves() -> None:
    depthwise, convolution, addition = node_times(rows(), PEAK)
    assert (depthwise.rate, depthwise.unit) == (50.0, "GFLOP/s")
    assert (convolution.rate, convolution.unit) == (200.0, "GOP/s")
    assert (addition.rate, addition.unit) == (2.0, "GB/s")


def test_the_peak_is_that_of_the_arithmetic_or_the_memory() -> None:
    assert [time.share_of_peak for time in node_times(rows(), PEAK)] == [0.5, 0.5, 0.2]
    assert [time.share_of_peak for time in node_times(rows())] == [None] * 3
    without_dot_product = Peak(1, "fma", 100.0, "", 0.0, 20.0, 10.0)
    assert node_times(rows(), without_dot_product)[1].share_of_peak is None


def test_shares_are_of_all_nodes_together() -> None:
    times = node_times(rows(), PEAK)
    assert [time.share for time in times] == [0.75, 0.125, 0.125]
    assert times[0].milliseconds == 3.0


def test_a_node_without_time_has_no_rate() -> None:
    (time,) = node_times([pb.NodeProfile(label="operation 0 (ADD)")], PEAK)
    assert time.rate is None
    assert time.share_of_peak is None
    assert time.share == 0.0


@pytest.mark.parametrize(
    ("index", "name"), [(0, "63 DEPTHWISE_CONV_2D"), (1, "64 CONV_2D +2"), (2, "70 ADD")]
)
def test_names_are_short(index: int, name: str) -> None:
    assert node_times(rows())[index].name == name


def test_the_table_fits_80_columns() -> None:
    shown = io.StringIO()
    print_profile(Terminal(Console(file=shown, width=80)), node_times(rows(), PEAK))
    lines = shown.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    text = shown.getvalue()
    for word in ("63 DEPTHWISE_CONV_2D", "50.0 GFLOP/s", "75%", "200.0 GOP/s", "2.0 GB/s"):
        assert word in text
    assert lines[-1] == "all nodes: 4.000 ms"


def test_json_has_what_the_table_has_and_more() -> None:
    first = node_times(rows(), PEAK)[0].record()
    assert first.operations == [63]
    assert first.median_ms == 3.0
    assert first.share_of_peak == 0.5
    assert first.kernel == "ref::DepthwiseConv2d"
