# SPDX-License-Identifier: Apache-2.0
"""The option --json of all commands: which have it, and what `--json -` puts where."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from halyard import records
from halyard.cli import demo, program
from halyard.cli.options import device as cli_device
from halyard.devices.adb import AdbDevice
from halyard.records import Document
from halyard.records.made import Calibration, Page, Saved, Transfer
from halyard.store import Origin, Store
from tests.harness import sample_results as sample
from tests.harness.cli.test_completion import PROGRAM
from tests.harness.fake_link import FakeLink

Invoke = Callable[..., Result]

SMALL = ("--size", "32", "--width", "0.1")
# Their output is a device's, or a shell's, or empty.
WITHOUT = {"bench compare", "bench show", "completion", "log", "shell", "vm shell"}


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    for name in ("STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    return lambda *words: runner.invoke(program.cli, [str(word) for word in words])


@pytest.fixture
def link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeLink:
    made = FakeLink(tmp_path / "device")
    monkeypatch.setattr(cli_device, "open_config", lambda config: AdbDevice(made, config.serial))
    return made


def commands(group: click.Group, before: str = "") -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, f"{name} ")
        else:
            yield f"{before}{name}", command


def test_every_command_with_something_to_tell_has_the_option() -> None:
    lacking = {
        name
        for name, command in commands(program.cli)
        if not any("--json" in each.opts for each in command.params)
    }
    assert lacking == WITHOUT


def test_every_command_has_help_with_examples() -> None:
    lacking = {
        name for name, each in commands(program.cli) if "Examples:" not in (each.epilog or "")
    }
    assert lacking == set()


def read(result: Result, kind: type[Document]) -> Document:
    assert result.exit_code == 0, result.output
    [document] = records.decode(result.stdout.encode(), kind)
    return document


@pytest.mark.parametrize(
    "words",
    [
        ("devices",),
        ("operations",),
        ("doctor",),
        ("run", *SMALL, "--repeat", "1"),
        ("profile", *SMALL, "--runs", "1"),
        ("compare", "CpuRef", "CpuAcc", *SMALL),
    ],
    ids=lambda words: str(words[0]),
)
def test_standard_output_has_the_document_and_standard_error_the_text(
    invoke: Invoke, words: tuple[str, ...], tmp_path: Path
) -> None:
    result = invoke(*words, "--json", "-")
    assert json.loads(result.stdout)["schema"] == 2
    assert len(result.stderr.splitlines()) > 1
    assert not (tmp_path / "-").exists()


def test_what_is_printed_after_such_a_command_goes_where_it_did(invoke: Invoke) -> None:
    invoke("devices", "--json", "-")
    assert "host" in invoke("devices").stdout
    assert "there are hidl and aidl" in invoke("deploy", "--device", "vm", "--wires", "x").stderr


def test_a_program_reads_it_through_a_pipe() -> None:
    line = f"{PROGRAM} operations --json - 2>/dev/null | python3 -m json.tool >/dev/null"
    assert subprocess.run(["bash", "-o", "pipefail", "-c", line], check=False).returncode == 0


def test_a_full_standard_output_is_told() -> None:
    done = subprocess.run(
        f"{PROGRAM} operations --json - >/dev/full", shell=True, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "standard output: No space left on device" in done.stderr


def test_a_saved_model_and_its_conversion_are_told(invoke: Invoke, tmp_path: Path) -> None:
    saved = read(invoke("save", *SMALL, "model.pb", "--json", "-"), Saved)
    assert isinstance(saved, Saved)
    size = (tmp_path / "model.pb").stat().st_size
    assert (saved.file, saved.bytes, saved.model.name) == ("model.pb", size, "mobilenet_v2")
    result = invoke("convert", "model.pb", "--json", "-")
    assert json.loads(result.stdout)["format"] == "Halyard"
    assert "part 1" in result.stderr


def test_a_page_and_its_plots_are_told(invoke: Invoke, tmp_path: Path) -> None:
    with Store.open(tmp_path / "r.db") as store:
        store.add(sample.bench(), sample.run(), origin=Origin("run", "vm"))
    page = read(invoke("report", "r.db", "--png", "plots", "--json", "-"), Page)
    assert isinstance(page, Page)
    assert page.bytes == (tmp_path / page.file).stat().st_size
    assert page.plots
    assert sorted(page.plots) == sorted(map(str, Path("plots").iterdir()))


def test_ratios_are_told(invoke: Invoke) -> None:
    words = ("calibrate", "--size", "4", "--runs", "1", "--threads", "1", "--json", "-")
    found = read(invoke(*words), Calibration)
    assert isinstance(found, Calibration)
    assert found.ratios["TENSOR_FLOAT32"].exec_time > 0
    assert (found.device, found.file) == ("host", "")


@pytest.mark.usefixtures("link")
def test_what_was_moved_is_told(invoke: Invoke, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / name).write_bytes(b"12345")
    phone = ("--device", "SERIAL7", "--json", "-")
    pushed = read(invoke("push", folder, "/data/local/tmp/", *phone), Transfer)
    assert isinstance(pushed, Transfer)
    assert (pushed.direction, pushed.files, pushed.bytes) == ("push", 2, 10)
    assert (pushed.device, pushed.remote) == ("SERIAL7", "/data/local/tmp/folder")
    pulled = read(invoke("pull", "/data/local/tmp/folder/a", "here", *phone), Transfer)
    assert isinstance(pulled, Transfer)
    assert (pulled.direction, pulled.files, pulled.bytes, pulled.local) == ("pull", 1, 5, "here")


def test_the_demo_tells_its_runs(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a device that is there in name alone."""
    made = demo.Demo(device="x", ok=False, seconds=1.0, exit_code=1, runs=[])
    monkeypatch.setattr(demo, "check_there", lambda _: None)
    monkeypatch.setattr(demo, "run", lambda *_: made)
    result = invoke("demo", "--device", "PHONE7", "--json", "-")
    assert result.exit_code == 1
    assert records.decode(result.stdout.encode(), demo.Demo) == [made]
