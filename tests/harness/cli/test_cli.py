# SPDX-License-Identifier: Apache-2.0
"""The command line: what it refuses, what it lists, and its exit codes."""

import functools
import re
from pathlib import Path
from typing import Any

import click
import pytest
from rich.console import Console

from halyard import benchmark_model, records, zoo
from halyard.cli import program
from halyard.cli import run as cli_run
from halyard.devices import config_of, open_config
from halyard.errors import ConfigError, ProgramMissing
from halyard.programs import native
from halyard.records.listing import Devices, Operations, VirtualDeviceState
from halyard.terminal import console
from halyard.timing import machine
from halyard.transport import hal_version
from halyard.vm import kernel
from tests.harness.invoking import Invoke


@pytest.mark.parametrize(
    "words",
    [
        ["run", "--type", "float64"],
        ["run", "--model", "unknown"],
        ["run", "--repeat", "0"],
        ["run", "--size", "32", "--width", "0.1", "--hal", "1.4"],
        ["run", "--size", "32", "--width", "0.1", "--type", "quant8_signed", "--hal", "1.2"],
        ["run", "--size", "1"],
        ["run", "--width", "-1"],
        ["run", "--size", "32", "--width", "0.1", "--device", "no:device:x"],
        ["run", "--size", "32", "--width", "0.1", "--backends", "CpuRef,"],
        ["run", "--seed", "-1"],
        ["run", "--size", "100000"],
        ["run", "--width", "nan"],
        ["run", "--backends", "CpuRef,NoSuch"],
        ["run", "--device", "nosuch"],
        ["run", "--device", "vm", "-n", "bad name!"],
        ["run", "--device", "vm", "--instance", "a/b"],
        ["run", "--device", "vm", "-u", "NO_SUCH"],
        ["run", "--device", "vm", "--hal", "aidl5"],
        ["run", "--model", "lstm_speech", "--type", "quant8"],
        ["save", "--size", "3", "/tmp/model"],
        ["save", "--model", "lstm_speech", "--type", "quant8", "/tmp/model"],
        ["demo", "--device", "nosuch"],
        ["bench", "--cpus", "1023"],
        ["bench", "--width", "nan"],
        ["bench", "--size", "1"],
        ["bench", "--backends", "NoSuch"],
        ["demo", "--size", "1"],
        ["demo", "--device", "host"],
        ["push", "/no/such/file", "/data/x"],
        ["vm", "start", "--memory", "1"],
        ["no-such-command"],
    ],
    ids=" ".join,
)
def test_a_wrong_command_line_exits_with_2_before_any_work(
    invoke: Invoke, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(*_: Any, **named: Any) -> Any:
        if named.get("width", 0.1) > 0.1:
            pytest.fail("a model is built")
        return zoo.build(*_, **named)

    monkeypatch.setattr(benchmark_model, "build", work)
    monkeypatch.setattr(machine, "measure_peak", lambda _: pytest.fail("the peak is measured"))
    result = invoke(*words)
    assert result.exit_code == 2, result.output
    assert "Error: " in result.output
    assert "✗" not in result.output or words[-1] == "nosuch"
    [_, error] = result.output.split("Error: ")
    assert len(error.splitlines()) == 1


def test_the_hal_version_is_checked_with_a_small_model(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []

    def build(*words: Any, **named: Any) -> Any:
        sizes.append(named["size"])
        return zoo.build(*words, **named)

    benchmark_model._built.cache_clear()
    monkeypatch.setattr(benchmark_model, "build", build)
    result = invoke("run", "--type", "quant8_signed", "--hal", "1.0")
    assert (result.exit_code, sizes) == (2, [zoo.MIN_SIZE])
    assert "--hal 1.0: the model needs HAL 1.3 or newer" in result.output


@pytest.mark.parametrize("name", zoo.NAMES)
def test_a_small_model_needs_what_a_larger_one_does(name: str) -> None:
    for data_type in zoo.data_types(name):
        small = benchmark_model.BenchmarkModel.of_zoo(name, data_type, 16, 0.25)
        assert hal_version.lowest_version(small.runnable.model) == hal_version.lowest_version(
            small.smallest().runnable.model
        )


def test_the_readme_names_each_command() -> None:
    readme = (Path(__file__).parents[3] / "README.md").read_text()
    rows = re.findall(r"^\| (`.*?) \|", readme.partition("## Commands")[2], re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert named == set(program.cli.commands)


def test_the_docs_list_the_commands_and_options_that_there_are() -> None:
    page = (Path(__file__).parents[3] / "docs" / "commands.md").read_text()
    [listed] = re.findall(r"# Commands\n\n(.*?)\n\n`make programs`", page, re.DOTALL)
    commands = re.findall(
        r"^    halyard (\S+)((?:.*\n(?: {16}.*\n)*))", listed + "\n", re.MULTILINE
    )
    named = {name for names, _ in commands for name in names.split("|")}
    assert named == set(program.cli.commands)
    for names, words in commands:
        options = set(re.findall(r"(?<!\w)(--?[a-z]+(?:-[a-z]+)*)", words))
        command = program.cli.commands[names.partition("|")[0]]
        below = command.commands.values() if isinstance(command, click.Group) else ()
        params = [*command.params, *(param for each in below for param in each.params)]
        assert options <= {text for each in params for text in each.opts}, names
    for group, command in program.cli.commands.items():
        if isinstance(command, click.Group):
            said = " ".join(words for names, words in commands if names == group)
            assert set(command.commands) <= set(re.findall(r"\w+", said)), group


@pytest.mark.parametrize(
    "words",
    [
        (),
        *((name,) for name in program.cli.commands),
        *(
            (group, name)
            for group, command in program.cli.commands.items()
            if isinstance(command, click.Group)
            for name in command.commands
        ),
    ],
    ids=" ".join,
)
def test_help_cuts_nothing_off(invoke: Invoke, words: tuple[str, ...]) -> None:
    result = invoke(*words, "--help")
    assert result.exit_code == 0
    assert not any("..." in line for line in result.output.splitlines()[1:])
    assert max(map(len, result.output.splitlines())) <= 80


def test_a_virtual_device_that_does_not_run_is_told(invoke: Invoke) -> None:
    for words in (["vm", "status"], ["vm", "shell", "true"]):
        result = invoke(*words)
        assert result.exit_code == 1
        assert "does not run" in result.output
    assert invoke("vm", "stop").exit_code == 0


def test_devices_lists_host_vm_and_configurations(invoke: Invoke, tmp_path: Path) -> None:
    result = invoke("devices", "--json", str(tmp_path / "devices.json"))
    assert result.exit_code == 0
    for word in ("host", "vm", "virtual.yaml"):
        assert word in result.output
    [listed] = records.decode((tmp_path / "devices.json").read_bytes(), Devices)
    assert {"host", "vm", "vm-arm64"} <= {device.name for device in listed.devices}
    assert any(path.endswith("virtual.yaml") for path in listed.configurations)


def test_operations_and_the_state_of_a_virtual_device_are_written_as_json(
    invoke: Invoke, tmp_path: Path
) -> None:
    path = tmp_path / "listed.json"
    assert invoke("operations", "--json", str(path)).exit_code == 0
    [listed] = records.decode(path.read_bytes(), Operations)
    [add] = [each for each in listed.operations if each.name == "ADD"]
    assert (add.code, add.since, add.types["FLOAT16"]) == (0, "1.0", "1.2")
    assert invoke("vm", "--name", "nosuch", "status", "--json", str(path)).exit_code == 1
    [state] = records.decode(path.read_bytes(), VirtualDeviceState)
    assert (state.running, state.name, state.pid) == (False, "nosuch", None)
    assert invoke("devices", "--json", str(tmp_path / "no/folder")).exit_code == 2


def test_devices_says_which_have_no_programs(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for suffix in ("", "_AARCH64"):
        folder = tmp_path / f"programs{suffix}"
        folder.mkdir()
        (folder / native.RUNNER).touch()
        monkeypatch.setenv(f"HALYARD_NATIVE_DIR{suffix}", str(folder))
    assert "no programs" not in invoke("devices").output
    (folder / native.RUNNER).unlink()
    lines = invoke("devices").output.splitlines()
    lacking = [line.split()[0] for line in lines if "no programs for it: `make arm64`" in line]
    assert lacking == ["host-arm64", "vm-arm64"]


@pytest.mark.parametrize("device", ["host-arm64", "vm-arm64"])
def test_a_package_without_a_device_s_programs_says_so_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device: str
) -> None:
    def find(*_: object) -> None:
        raise AssertionError("a kernel is looked for")

    monkeypatch.setattr(kernel, "find", find)
    monkeypatch.setenv("PATH", "/nowhere")  # QEMU is not there either
    monkeypatch.delenv("HALYARD_NATIVE_DIR_AARCH64", raising=False)
    monkeypatch.setattr(native, "_INSTALLED", tmp_path)
    monkeypatch.setattr(native, "_CHECKOUT", tmp_path / "nowhere")
    lacks = pytest.raises(ProgramMissing, match=r"no programs for aarch64: .*make arm64")
    with lacks, open_config(config_of(device)) as opened:
        opened.put_program(native.RUNNER)


@pytest.mark.parametrize("columns", [None, 80])
def test_a_long_path_is_told_in_one_line(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int | None
) -> None:
    folder = tmp_path / ("long" * 40) / ("[er] :x:" * 20)
    folder.mkdir(parents=True)
    path = folder / "phone.yaml"
    path.touch()
    monkeypatch.setattr(native, "device_configs", lambda: folder)
    if columns is not None:
        narrow(monkeypatch, columns)
    assert str(path) in invoke("devices").output.splitlines()


def narrow(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    """A terminal of that many columns."""
    made = functools.partial(Console, width=columns)
    monkeypatch.setattr(console, "Console", lambda *_, width, **more: made(**more))


@pytest.mark.parametrize("command", ["devices", "operations"])
def test_tables_fit_80_columns(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str
) -> None:
    monkeypatch.setattr(native, "device_configs", lambda: tmp_path)
    lines = invoke(command).output.splitlines()
    narrow(monkeypatch, 80)
    folded = invoke(command).output.splitlines()
    assert max(map(len, folded)) <= 80
    # Nothing is cut off.
    assert sorted(" ".join(folded).split()) == sorted(" ".join(lines).split())


@pytest.mark.parametrize(
    ("text", "required", "chosen"),
    [
        (None, 13, [0]),
        ("all", 10, [10, 11, 12, 13]),
        ("all", 12, [12, 13]),
        ("1.1", 10, [11]),
        ("1.0..1.3", 10, [10, 11, 12, 13]),
        ("1.0..1.3", 13, [13]),
        ("aidl-2", 10, [102]),
        ("1.3..AIDL-1", 10, [13, 101]),
        ("aidl3", 101, [103]),
        ("aidl1..aidl4", 102, [102, 103, 104]),
        ("aidl", 102, [0]),
    ],
)
def test_hal_versions_are_chosen(text: str | None, required: int, chosen: list[int]) -> None:
    assert cli_run.parse_hal(text).carrying(required) == chosen


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        (None, ["hidl:x"]),
        ("1.2..1.3", ["hidl:x", "hidl:x"]),
        ("1.3..aidl1", ["hidl:x", "aidl:x"]),
        ("aidl", ["aidl:x"]),
        ("aidl4", ["aidl:x"]),
    ],
)
def test_each_version_of_a_service_is_reached_on_its_wire(
    text: str | None, targets: list[str]
) -> None:
    choice = cli_run.parse_hal(text)
    reached = [choice.targets("x")(version).name for version in choice.carrying(12)]
    assert reached == targets


@pytest.mark.parametrize(("text", "required"), [("1.2", 13), ("1.0..1.1", 12), ("aidl1", 102)])
def test_hal_versions_that_can_not_carry_the_model_are_refused(text: str, required: int) -> None:
    with pytest.raises(ConfigError, match=f"--hal {text}: the model needs HAL"):
        cli_run.parse_hal(text).carrying(required)


@pytest.mark.parametrize("text", ["1.3..1.0", "2.0", "1.4", "", "1.0..", "1.0...1.2"])
def test_hal_versions_that_are_none_are_refused_before_anything_is_built(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(benchmark_model, "build", lambda *_, **__: pytest.fail("a model is built"))
    result = invoke("run", "--hal", text)
    assert (result.exit_code, "--hal" in result.output) == (2, True)
