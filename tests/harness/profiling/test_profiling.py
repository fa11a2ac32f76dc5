# SPDX-License-Identifier: Apache-2.0
"""Profiles from the driver's traces: rows, Perfetto's packets, flame graphs, counters."""

import json
import re
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from halyard.cli.program import cli
from halyard.devices.host import HostDevice
from halyard.engines.placement import lost_forms
from halyard.errors import HalyardError
from halyard.profiling import capture, flame, perfetto
from halyard.profiling.counters import Sampler, parse
from halyard.profiling.driver_trace import Execution, Slice, node_profiles, read
from halyard.profiling.node_times import node_times
from halyard.proto import halyard_pb2 as pb
from halyard.records import decode
from halyard.records.profile import Profile
from tests.waiting import awaited

_MODEL = ["--model", "mobilenet_v2", "--size", "32", "--width", "0.1"]
# NNAPI's contract: a layer and a phase, and what it is.
_CONTRACT = re.compile(r"\[NN_L[ARIDCOU]_P(O|WU|BM|I|P|C|E|T|U|IO|TR|CO|R)\].+")


def a_node(begin: int, time: int, node: str = "operation 0 (ADD)", **more: Any) -> Slice:
    return Slice(
        f"[NN_LC_PCO]{node}", "node", "CpuRef", begin, time, "ref::Binary", node, "Binary", **more
    )


# ---- rows ---------------------------------------------------------------------------------------


def test_a_drivers_trace_is_read() -> None:
    execution = read(
        b'{"displayTimeUnit":"ns","otherData":{"left_out":2,"begin_ns":5000,"pid":7,"tid":8},'
        b'"traceEvents":[{"ph":"X","pid":1,"tid":0,"cat":"node","name":"[NN_LC_PCO]x","ts":1.500,'
        b'"dur":2.001,"args":{"bytes":8,"kernel":"k","node":"x","kind":"Unary","fused":["y"]}},'
        b'{"ph":"M","pid":1,"tid":0,"name":"thread_name","args":{"name":"CpuRef"}}]}'
    )
    assert (execution.process, execution.thread, execution.left_out) == (7, 8, 2)
    assert execution.slices == [
        Slice("[NN_LC_PCO]x", "node", "CpuRef", 6500, 2001, "k", "x", "Unary", ("y",), 8)
    ]


_HEAD = b'{"otherData":{"left_out":0,"begin_ns":%s,"pid":1,"tid":1},"traceEvents":[%s]}'


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b'{"traceEvents":[],"otherData":{}}',
        b"[1",
        b'{"x":' + b"[" * 100_000,
        _HEAD % (b"-1", b""),
        _HEAD % (b"1e99", b""),
        b'{"otherData":{"left_out":0,"begin_ns":0,"pid":2147483648,"tid":1},"traceEvents":[]}',
        _HEAD % (b"0", b'{"ph":"X","tid":0,"name":"x","ts":1e999}'),
        _HEAD % (b"0", b'{"ph":"X","tid":0,"name":"x","dur":-1}'),
        _HEAD % (b"0", b'{"ph":"X","tid":0,"name":"x","args":{"bytes":-1}}'),
        _HEAD % (b"0", b'{"ph":"X","tid":0,"name":7}'),
    ],
)
def test_what_is_no_trace_is_refused(content: bytes) -> None:
    with pytest.raises(HalyardError, match="no trace of an execution"):
        read(content)


def test_rows_are_medians_of_what_a_node_took_in_each_execution() -> None:
    executions = [
        Execution(1, 1, 0, [a_node(0, 10, bytes=4), a_node(20, 10, bytes=4)]),
        Execution(1, 1, 0, [a_node(0, 100, bytes=4)]),
        Execution(1, 1, 0, [a_node(0, 30, bytes=4)]),
    ]
    [row] = node_profiles(pb.Model(), executions)
    assert (row.median_ns, row.bytes, row.label) == (30, 8, "operation 0 (ADD)")
    assert (row.operations, row.backend, row.kernel) == ([0], "CpuRef", "ref::Binary")


def test_a_fused_node_stands_for_its_operations() -> None:
    placement = [
        pb.Placement(label="operation 0 (ADD)", operations=[0, 1], backend="CpuAcc", partition=3)
    ]
    fused = a_node(0, 10, fused=("operation 2 (RELU)",))
    [row] = node_profiles(pb.Model(), [Execution(1, 1, 0, [fused])], placement)
    assert list(row.operations) == [0, 1, 2]
    assert (row.nodes, row.backend, row.partition) == (2, "CpuAcc", 3)


def test_forms_that_lost_are_counted_with_the_reason_that_most_give() -> None:
    rows = [
        pb.Placement(lost_forms=text)
        for text in ("a: slow; b: dear: 2 cycles", "b: late", "b: late", "")
    ]
    assert list(map(str, lost_forms(rows))) == [
        "b: 3 nodes: late (and 1 other reason)",
        "a: 1 node: slow",
    ]


def test_copies_have_a_row_for_each_way() -> None:
    slices = [
        Slice("[NN_LC_PTR]copy to Far", "copy", "Far", begin, 5, "to Far", bytes=10)
        for begin in (0, 10)
    ]
    [row] = node_profiles(pb.Model(), [Execution(1, 1, 0, slices)])
    assert (row.label, row.node, row.nodes, row.bytes) == ("copies to Far", "Copy", 2, 20)
    assert row.median_ns == 10


# ---- Perfetto -----------------------------------------------------------------------------------


def decoded(content: bytes) -> Any:
    """By perfetto's own messages; a field that they lack would be an unknown one."""
    messages = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    trace = messages.Trace()
    trace.ParseFromString(content)
    assert_all_known(trace)
    return trace


def assert_all_known(message: Any) -> None:
    from google.protobuf.unknown_fields import UnknownFieldSet

    assert len(UnknownFieldSet(message)) == 0
    for field, value in message.ListFields():
        if field.message_type is not None:
            many = hasattr(value, "add") or isinstance(value, list)
            for each in value if many else [value]:
                assert_all_known(each)


def nested(trace: Any) -> dict[int, list[tuple[str, int, int, int]]]:
    """By track: name, begin, end and depth of each slice, checked to begin and end in order."""
    found: dict[int, list[tuple[str, int, int, int]]] = defaultdict(list)
    open_slices: dict[int, list[tuple[str, int]]] = defaultdict(list)
    last: dict[int, int] = defaultdict(int)
    for packet in trace.packet:
        if not packet.HasField("track_event"):
            continue
        event, time = packet.track_event, packet.timestamp
        assert time >= last[event.track_uuid]
        last[event.track_uuid] = time
        stack = open_slices[event.track_uuid]
        if event.type == event.TYPE_SLICE_BEGIN:
            stack.append((event.name, time))
        elif event.type == event.TYPE_SLICE_END:
            name, begin = stack.pop()
            found[event.track_uuid].append((name, begin, time, len(stack)))
    assert not any(open_slices.values())
    return found


def test_slices_nest_on_their_thread() -> None:
    slices = [
        perfetto.Slice("inner", 10, 20, "node", {"bytes": 300, "kernel": "k"}),
        perfetto.Slice("outer", 0, 30),
        perfetto.Slice("later", 30, 40),
        # A clock that was read late: it ends with what is around it.
        perfetto.Slice("too long", 22, 35),
    ]
    trace = decoded(perfetto.encode([perfetto.Thread("t", slices, 7, "p", 8)], []))
    [found] = nested(trace).values()
    assert sorted(found) == [
        ("inner", 10, 20, 1),
        ("later", 30, 40, 0),
        ("outer", 0, 30, 0),
        ("too long", 22, 30, 1),
    ]
    process, thread = (packet.track_descriptor for packet in trace.packet[:2])
    assert (process.process.pid, process.process.process_name) == (7, "p")
    assert (thread.thread.pid, thread.thread.tid, thread.thread.thread_name) == (7, 8, "t")
    assert thread.parent_uuid == process.uuid
    [inner] = (packet.track_event for packet in trace.packet if packet.track_event.name == "inner")
    assert list(inner.categories) == ["node"]
    values = {each.name: each.uint_value or each.string_value for each in inner.debug_annotations}
    assert values == {"bytes": 300, "kernel": "k"}


def test_a_counter_is_a_track_with_a_unit() -> None:
    counter = perfetto.Counter("cpu0 frequency", "kHz", [(5, 1e6), (7, 2.5)])
    trace = decoded(perfetto.encode([], [counter]))
    described = trace.packet[0].track_descriptor
    assert (described.name, described.counter.unit_name) == ("cpu0 frequency", "kHz")
    events = [packet.track_event for packet in trace.packet[1:]]
    assert {event.type for event in events} == {events[0].TYPE_COUNTER}
    assert [event.double_counter_value for event in events] == [1e6, 2.5]
    assert [packet.timestamp for packet in trace.packet[1:]] == [5, 7]


def test_times_and_names_that_a_device_makes_up_are_written() -> None:
    slices = [perfetto.Slice("\udc80", 2**64 - 1, 2**65, "", {"\udc80": "\udc80"})]
    trace = decoded(perfetto.encode([perfetto.Thread("\udc80", slices)], []))
    assert [list(each) for each in nested(trace).values()] == [[("?", 2**64 - 1, 2**64 - 1, 0)]]


def test_the_first_packet_begins_a_sequence() -> None:
    trace = decoded(perfetto.encode([perfetto.Thread("t", [])], []))
    assert trace.packet[0].sequence_flags == 1
    assert {packet.trusted_packet_sequence_id for packet in trace.packet} == {1}


# ---- flame graphs -------------------------------------------------------------------------------


def rows() -> list[pb.NodeProfile]:
    return [
        pb.NodeProfile(
            label=f"operation {number} ({kind})", backend="CpuAcc", kernel=kernel, median_ns=time
        )
        for number, kind, kernel, time in (
            (0, "CONV_2D", "conv<8>", 700),
            (1, "CONV_2D", "conv;b", 200),
            (2, "ADD", "", 100),
        )
    ]


def test_stacks_are_folded_into_lines() -> None:
    assert flame.folded("m", node_times(rows())).splitlines() == [
        "m;CpuAcc;CONV_2D;0 CONV_2D [conv<8>] 700",
        "m;CpuAcc;CONV_2D;1 CONV_2D [conv,b] 200",
        "m;CpuAcc;ADD;2 ADD 100",
    ]


def test_a_flame_graph_is_one_picture_whose_frames_are_as_wide_as_long() -> None:
    root = ElementTree.fromstring(flame.svg("m & n", node_times(rows())))
    space = "{http://www.w3.org/2000/svg}"
    widths = {}
    for group in root.iter(f"{space}g"):
        title, rectangle = group.find(f"{space}title"), group.find(f"{space}rect")
        assert title is not None
        assert rectangle is not None
        widths[(title.text or "").partition(":")[0]] = float(rectangle.attrib["width"])
    whole = widths["m & n"]
    assert widths["CpuAcc"] == pytest.approx(whole)
    assert widths["CONV_2D"] == pytest.approx(0.9 * whole, abs=0.01)
    assert widths["0 CONV_2D [conv<8>]"] == pytest.approx(0.7 * whole, abs=0.01)
    assert not list(root.iter(f"{space}script"))


def test_names_from_a_device_break_no_picture_and_no_line() -> None:
    hostile = pb.NodeProfile(
        label="a\x00\x1b[31m\n</svg>", backend="b\r\n", kernel="\x08", median_ns=5
    )
    [line] = flame.folded("m", node_times([hostile])).splitlines()
    assert line.endswith(" 5")
    root = ElementTree.fromstring(flame.svg("m", node_times([hostile])))
    assert len(list(root.iter("{http://www.w3.org/2000/svg}g"))) == 4


def test_a_flame_graph_of_nothing_is_still_a_picture() -> None:
    ElementTree.fromstring(flame.svg("m", []))


# ---- counters -----------------------------------------------------------------------------------


def test_load_is_what_was_busy_between_two_samples() -> None:
    samples = parse(
        "uptime 10.00 5.0\n"
        "cpu0 100 0 100 800 0 0 0 0 0 0\n"
        "frequency /sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq 1800000\n"
        "uptime 10.05 5.0\n"
        "cpu0 103 0 100 801 0 0 0 0 0 0\n"
    )
    assert samples.load == {0: [(10_050_000_000, 0.75)]}
    assert samples.frequency == {0: [(10_000_000_000, 1_800_000.0)]}
    assert samples.missing == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "uptime\ncpu0 1",
        "uptime x\nfrequency /cpu0/ 5",
        "cpu0 1 2 3 4 5 6 7 8",
        "uptime 1\ncpu0 a b c d e f",
        "frequency",
        "uptime nan\ncpu0 1 2 3 4 5 6 7 8",
        "uptime 1e999\ncpu0 1 2 3 4 5 6 7 8",
        "uptime 1.0 ²\nfrequency /cpu0/ ²\ncpu² 1 1 1 1 1 1 1 1",
        "uptime 1.0\nfrequency /cpu0/ " + "9" * 5000 + "\ncpu0 " + "9" * 5000 + " 1 1 1 1 1 1 1",
    ],
)
def test_what_a_sample_lacks_is_said(text: str) -> None:
    samples = parse(text)
    assert any("load is missing" in note for note in samples.missing)
    assert any("frequency is missing" in note for note in samples.missing)


def test_how_long_the_device_slept_is_the_difference_of_its_clocks() -> None:
    assert parse("now at 1000000000 nsecs\n3.50 1.0\n").asleep_ns == 2_500_000_000
    assert parse("3.50 1.0\n").asleep_ns is None


def _command_line(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def test_a_sampler_leaves_nothing_behind() -> None:
    with HostDevice() as device:
        folder = "/data/local/tmp/halyard"
        with Sampler(device, folder) as sampler:
            device.shell("sleep 0.3")
            pid = device.shell(f'cat "$ROOT"{folder}/counters.pid').stdout.strip()
        assert sampler.samples.load
        assert device.shell(f'ls "$ROOT"{folder}').stdout == ""
        # It was killed; on a busy machine it is there for a moment all the same.
        awaited(lambda: "uptime" not in _command_line(pid), "it samples on", seconds=30)


# ---- the command --------------------------------------------------------------------------------


def test_profiles_on_the_host(tmp_path: Path) -> None:
    paths = {name: tmp_path / name for name in ("trace", "flame", "folded", "json")}
    words = [word for name, path in paths.items() for word in (f"--{name}", str(path))]
    done = CliRunner().invoke(cli, ["profile", *_MODEL, "--runs", "4", "--warmup", "1", *words])
    assert done.exit_code == 0, done.output
    [document] = decode(paths["json"].read_bytes(), Profile)
    assert document.executions == 4
    assert re.search(r"placement: CpuAcc: \d+ nodes in 1 partition, \d+\.\d{3,} ms", done.output)
    assert re.search(r"^lost: bf16 split GEMM on AMX: \d+ nodes?: \S", done.output, re.MULTILINE)
    assert {node.backend for node in document.nodes} == {"CpuAcc"}
    assert any(node.multiply_adds for node in document.nodes)
    assert document.nodes_ms is not None
    assert document.driver_ms is not None
    assert 0 < document.nodes_ms < document.driver_ms
    assert len(paths["folded"].read_text().splitlines()) == len(document.nodes)
    ElementTree.fromstring(paths["flame"].read_text())

    trace = decoded(paths["trace"].read_bytes())
    names = {
        packet.track_descriptor.uuid: packet.track_descriptor.name
        for packet in trace.packet
        if packet.HasField("track_descriptor")
    }
    slices = nested(trace)
    for found in slices.values():
        for name, *_ in found:
            assert _CONTRACT.match(name), name
    client = next(found for uuid, found in slices.items() if names[uuid].startswith("client"))
    driver = [
        each
        for uuid, found in slices.items()
        if not names[uuid].startswith("client")
        for each in found
    ]
    calls = [each for each in client if each[0] == "[NN_LA_PE]execute"]
    served = [each for each in driver if each[0] == "[NN_LD_PE]execute"]
    assert len(calls) == len(served) == 4
    # On one clock: each request lies within its call.
    for call, request in zip(*(sorted(each) for each in (calls, served)), strict=True):
        assert call[1] <= request[1] <= request[2] <= call[2]
    depths = {each[0].partition("]")[0]: each[3] for each in driver}
    assert depths["[NN_LC_PCO"] == 2, "a node in a partition in a request"
    counters = {name for name in names.values() if name.startswith("cpu")}
    assert counters or "is missing" in done.output


def test_a_trace_counts_executions_that_a_driver_writes(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["profile", "--runs", "99", "--warmup", "2"])
    assert done.exit_code == 2
    assert "traces no more than 100" in done.output


def test_as_many_executions_as_a_driver_traces_need_no_other_option(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    done = CliRunner().invoke(cli, ["profile", *_MODEL, "--runs", "99", "--json", str(path)])
    assert done.exit_code == 0, done.output
    [document] = decode(path.read_bytes(), Profile)
    assert document.executions == 99


def test_a_model_that_fails_fails_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture, "failures", lambda _: ["execute: GENERAL_FAILURE: no luck"])
    done = CliRunner().invoke(cli, ["profile", *_MODEL, "--runs", "1"])
    assert done.exit_code == 1
    assert "PROBLEM  execute: GENERAL_FAILURE: no luck" in done.output


def test_a_version_that_can_not_carry_the_model_is_refused() -> None:
    words = ["profile", *_MODEL, "--hal", "1.0", "--type", "float16"]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 2
    assert "--hal 1.0: the model needs HAL 1.2 or newer: --hal 1.2, or leave it out" in done.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--instance", "x"], "needs a service, and so a device"),
        (["--instance", "x", "--device", "vm", "-c", "CpuRef"], "started here"),
        (["--hal", "1.0..1.3"], "one HAL version, not several"),
    ],
)
def test_refuses_options_that_contradict(words: list[str], said: str) -> None:
    done = CliRunner().invoke(cli, ["profile", *words])
    assert done.exit_code == 2
    assert said in done.output


def test_the_document_is_json(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    done = CliRunner().invoke(cli, ["profile", *_MODEL, "--runs", "1", "--json", str(path)])
    assert done.exit_code == 0, done.output
    assert json.loads(path.read_text())["schema"] == 2
