# SPDX-License-Identifier: Apache-2.0
"""The commands' report of a device that computes: its times, its memory, and its absence."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from halyard.bench import gpu
from halyard.cli.program import cli
from halyard.errors import HalyardError
from tests.harness import opencl

SMALL = ("small_classifier", "--size", "16", "--width", "0.25")


@pytest.fixture(scope="module", autouse=True)
def device() -> Iterator[None]:
    with opencl.visible():
        try:
            gpu.check([opencl.BACKEND])
        except HalyardError as error:
            pytest.skip(f"there is no OpenCL device: {error}")
        yield


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


def written(path: Path, *arguments: str) -> tuple[Any, str]:
    """The JSON, and what was printed."""
    done = invoke(*arguments, "--json", str(path))
    assert done.exit_code == 0, done.output
    return json.loads(path.read_text()), done.output


def check_nodes(nodes: list[Any], output: str) -> None:
    computed = [node for node in nodes if node["backend"] == "GpuAcc"]
    assert [node["node"] for node in computed][:2] == ["Conv2d", "Pool2d"]
    for node in computed:
        assert 0 < node["device_ms"] <= node["median_ms"], node
        assert node["share_of_peak"] is None, "the machine's peak is the processor's"
    assert computed[0]["kernel"].startswith("gpu::Conv2d: "), "with the kernel's name"
    copies = {node["label"].split()[1]: node for node in nodes if node["node"] == "Copy"}
    assert copies["to"]["bytes"] == 16 * 16 * 3 * 4
    assert copies["from"]["nodes"] == 2
    assert copies["from"]["device_ms"] is None
    assert "device ms" in output
    assert " ms of it on the device" in output
    assert "copies to " in output


def test_profile_tells_the_devices_time_beside_the_wall_time(tmp_path: Path) -> None:
    record, output = written(
        tmp_path / "p.json", "profile", *SMALL, "-c", opencl.BACKEND, "--runs", "3"
    )
    check_nodes(record["nodes"], output)
    total = sum(node["device_ms"] or 0 for node in record["nodes"])
    assert record["device_ms"] == pytest.approx(total)
    assert record["device_memory"]["constant_bytes"] > 0
    assert "device memory " in output


def test_run_profiles_and_tells_the_devices_memory(tmp_path: Path) -> None:
    record, output = written(
        tmp_path / "r.json",
        *("run", *SMALL, "--device", "host", "-c", opencl.BACKEND, "--num-runs", "2", "--profile"),
    )
    [record] = record if isinstance(record, list) else [record]
    check_nodes(record["profile"], output)
    held = record["memory"]["device"]
    assert held["constant_bytes"] >= record["memory"]["model_constant_bytes"]
    assert held["workspace_bytes"] > 0
    assert "holds      device memory " in output


def test_a_model_on_the_processor_holds_nothing_on_devices(tmp_path: Path) -> None:
    record, output = written(
        tmp_path / "r.json",
        *("run", *SMALL, "--device", "host", "-c", "CpuAcc", "--num-runs", "2", "--profile"),
    )
    [record] = record if isinstance(record, list) else [record]
    assert record["memory"]["device"] is None
    assert all(node["device_ms"] is None for node in record["profile"])
    assert "device" not in output.split("all nodes")[1]
    assert "device ms" not in output


def test_bench_profiles_tells_memory_and_shows_it_later(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    record, output = written(
        path,
        *("bench", *SMALL, "--types", "float32", "--threads", "1", "--runs", "3"),
        *("--backends", opencl.BACKEND, "--peers", "litert", "--profile"),
    )
    [result] = record["results"]
    check_nodes(result["profile"], output)
    assert result["engines"]["halyard"]["device_memory"]["constant_bytes"] > 0
    assert result["engines"]["halyard"]["share_of_peak"] is None
    assert "Halyard: device memory " in output
    shown = invoke("bench", "show", str(path))
    assert shown.exit_code == 0
    ratio = result["engines"]["litert"]["ratio"]
    assert ratio == pytest.approx(result["ratio_to_best_peer"])
    [row] = [line for line in shown.output.splitlines() if line.startswith("LiteRT")]
    assert f"{ratio:.2f}" in row
    assert "Halyard: device memory " in shown.output


def test_the_page_tells_what_lay_on_devices(tmp_path: Path) -> None:
    results, page = str(tmp_path / "results.db"), tmp_path / "page.html"
    arguments = ["run", *SMALL, "--device", "host", "-c", opencl.BACKEND, "--results", results]
    assert invoke(*arguments).exit_code == 0
    done = invoke("report", results, "-o", str(page), "--no-plots")
    assert done.exit_code == 0, done.output
    assert "What lay on devices" in page.read_text()


@pytest.mark.parametrize("command", ["bench"])
def test_a_device_that_is_not_there_is_told_in_a_sentence(command: str) -> None:
    done = invoke(command, *SMALL, "--backends", "GpuAcc:device=no such one")
    assert done.exit_code == 1
    assert done.output.startswith("Error: --backends GpuAcc:device=no such one: ")
    assert 'there is no OpenCL device "no such one"; those there are: 0: ' in done.output


def test_a_machine_without_opencl_is_told_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCL_ICD_VENDORS", "/nonexistent")
    done = invoke("bench", *SMALL, "--backends", "GpuAcc")
    assert done.exit_code == 1
    assert done.output.startswith("Error: GpuAcc can't be measured on this machine: ")
    assert len(done.output.splitlines()) <= 2


def test_other_backends_need_no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCL_ICD_VENDORS", "/nonexistent")
    gpu.check(["GpuAcc", "CpuAcc"])
    gpu.check(["CpuAcc"])
