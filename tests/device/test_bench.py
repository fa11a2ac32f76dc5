# SPDX-License-Identifier: Apache-2.0
"""halyard bench on a device: a service there, executed in turns, that is gone afterwards."""

import json
import subprocess
from pathlib import Path

import pytest

from halyard.devices import VirtualDevice
from halyard.programs.native import SERVICE
from tests.device.footprint import await_computing
from tests.device.test_commands import command, halyard, left_over
from tests.harness.tflite_file import GraphFile
from tests.waiting import awaited

SMALL = ("bench", "--models", "small_classifier", "--size", "16", "--width", "0.35")
ONE = (*SMALL, "--types", "float32", "--threads", "1")


def runners(device: VirtualDevice) -> int:
    said = device.shell("cat /proc/[0-9]*/comm 2>/dev/null").stdout
    return said.splitlines().count("halyard-runner")


def is_serving(device: VirtualDevice) -> bool:
    """Whether a runner waits for commands."""
    return any(name.endswith(".commands") for name in left_over(device))


def test_a_model_is_timed_as_a_service_and_under_load(
    device: VirtualDevice, tmp_path: Path
) -> None:
    before = left_over(device)
    path, results = tmp_path / "bench.json", tmp_path / "results.db"
    done = halyard(
        device,
        *(*ONE, "--runs", "6", "--warmup", "2", "--sustained", "1", "--mode", "burst"),
        *("--max-temperature", "40", "--json", str(path), "--results", str(results)),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    content = json.loads(path.read_text())
    assert content["target"] == "hidl:halyard-default"
    assert content["device"]["serial"] == device.serial
    [result] = content["results"]
    ours = result["engines"]["halyard"]
    assert (ours["timings_ms"]["count"], ours["warmup_ms"]["count"]) == (6, 2)
    assert [len(each) for each in ours["rounds_ms"]] == [1] * 6
    assert ours["agreement"] is None or ours["agreement"][0]["max_abs_error"] < 1e-4
    load = result["sustained"]
    assert len(load["windows"]) == 10
    assert load["joules"] is None
    assert load["reason"]
    found = result["conditions"]
    assert found["temperature_c"] is None
    assert "no temperatures (/sys/class/thermal)" in found["missing"]
    assert "it was not waited for" in result["waited"]["reason"]
    assert "Inference timings in us: Init: " in done.stdout
    assert left_over(device) == before
    assert runners(device) == 0


def test_two_services_take_turns(device: VirtualDevice, tmp_path: Path) -> None:
    path = tmp_path / "pair.json"
    done = halyard(
        device,
        *("bench", "pair", "small_classifier", "--size", "16", "--width", "0.35"),
        *("--runs", "6", "--json", str(path)),
        *("--a", "backends=CpuRef", "--b", "backends=CpuAcc"),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    [pair] = json.loads(path.read_text())["pairs"]
    assert pair["comparison"]["ratio"] > 0
    for side in (pair["a"], pair["b"]):
        assert side["result"]["engines"]["halyard"]["runs"] == 6
    assert "of A's time (95 %: " in done.stdout


def test_parts_of_a_model_have_one_service_and_the_host(
    device: VirtualDevice, tmp_path: Path
) -> None:
    """A COS, which NNAPI has not, between two TANH."""
    pytest.importorskip("ai_edge_litert")
    graph = GraphFile()
    source = graph.input((2, 8))
    before, between, last = (graph.tensor((2, 8)) for _ in range(3))
    graph.add("TANH", [source], [before])
    graph.add("COS", [before], [between])
    graph.add("TANH", [between], [last])
    model, path = tmp_path / "parts.tflite", tmp_path / "bench.json"
    model.write_bytes(graph.content(last))
    there = left_over(device)
    words = ("bench", str(model), "--threads", "1", "--runs", "4", "--json", str(path))
    done = halyard(device, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    [result] = json.loads(path.read_text())["results"]
    ours = result["engines"]["halyard"]
    assert (result["parts"], result["host_parts"]) == (3, 1)
    assert ours["runs"] == ours["host_timings_ms"]["count"] == 4
    assert 0 < ours["host_share"] < 1
    assert ours["agreement"] is not None
    assert left_over(device) == there
    assert runners(device) == 0


def test_an_interrupted_benchmark_leaves_nothing_on_the_device(
    device: VirtualDevice, tmp_path: Path
) -> None:
    before = left_over(device)
    path = tmp_path / "bench.json"
    words = (*ONE, "--runs", "2", "--sustained", "300", "--json", str(path))
    with subprocess.Popen(
        command(device, *words), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            awaited(lambda: is_serving(device) or process.poll() is not None, "no runner serves")
            # It is under the load by then, whose commands last ten seconds each.
            [pid] = device.shell(f"pidof {SERVICE}").check().stdout.split()
            await_computing(device, int(pid), ticks=100)
            assert is_serving(device)
            assert runners(device) == 1
            process.terminate()
            assert process.wait(60) == 143
        finally:
            process.kill()
    assert left_over(device) == before
    assert runners(device) == 0
    assert not json.loads(path.read_text())["complete"]
