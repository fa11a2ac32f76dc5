# SPDX-License-Identifier: Apache-2.0
"""Commands and options as completion tells them to a shell."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.shell_completion import BashComplete

from halyard.cli import program
from halyard.cli.options import completions
from halyard.cli.options import json as cli_json
from halyard.devices.inside_litert import DOORS
from halyard.devices.link_errors import LinkBroken
from halyard.errors import ProgramMissing
from halyard.programs import backends

PROGRAM = Path(__file__).parents[3] / ".venv/bin/halyard"


def bash(line: str, folder: Path | None = None) -> list[str]:
    """Bash's offers behind a line, in a shell that has read the script; `<files>` stands for those
    it finds itself."""
    script = f"""
        PATH={PROGRAM.parent}:$PATH
        eval "$(halyard completion bash)"
        compopt() {{ [[ $2 == default ]] && found='<files>'; }}
        COMP_LINE='{line}'
        COMP_POINT=${{#COMP_LINE}}
        COMP_WORDBREAKS=' "=:'
        _halyard_completion halyard
        printf '%s\\n' "${{COMPREPLY[@]}}" "$found"
    """
    command = ["bash", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.slow
def test_bash_completes_commands_options_and_choices() -> None:
    assert bash("halyard ca") == ["calibrate"]
    assert "--backends" in bash("halyard run --ba")
    assert bash("halyard run --type quant8_") == ["quant8_signed"]


@pytest.mark.slow
def test_bash_is_offered_virtual_devices_by_what_is_left_of_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes `vm:one` for three words."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for name in ("one", "other"):
        folder = tmp_path / f"halyard/vm+{name}"
        folder.mkdir(parents=True)
        (folder / "vm.json").touch()
    assert bash("halyard run --device vm:") == ["one", "other"]
    assert bash("halyard run --device=vm:on") == ["one"]
    assert bash("halyard vm --name ot") == ["other"]


@pytest.mark.slow
def test_bash_is_offered_the_last_of_a_list(tmp_path: Path) -> None:
    (tmp_path / "mine.tflite").touch()
    assert bash("halyard run --backends CpuAcc:features=avx2,Cpu")[-1] == "avx2,CpuRef"
    assert bash("halyard bench --models mobilenet_v1,mi", tmp_path) == ["mobilenet_v1,mine.tflite"]


@pytest.fixture
def offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """The values of a line's last word; a file stands for all of them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(completions, "usb_serials", lambda: ["PHONE7"])
    (tmp_path / "resnet.onnx").touch()
    (tmp_path / "resnet.txt").touch()

    def offer(*words: str) -> list[str]:
        complete = BashComplete(program.cli, {}, "halyard", "_HALYARD_COMPLETE")
        found = complete.get_completions(list(words[:-1]), words[-1])
        return ["<files>" if each.type == "file" else each.value for each in found]

    return offer


def test_models_are_those_of_the_zoo_and_files(offered: Callable[..., list[str]]) -> None:
    for words in (("run",), ("run", "--model"), ("profile",), ("compare", "CpuRef", "CpuAcc")):
        found = offered(*words, "resnet")
        assert found == ["resnet_50", "resnet.onnx"], words
        assert offered(*words, "./re") == ["<files>"], words
    assert offered("bench", "--models", "resnet_50,res") == ["resnet_50,resnet.onnx"]


def test_inputs_are_files_behind_their_names_too(offered: Callable[..., list[str]]) -> None:
    for command in ("run", "bench", "profile"):
        assert offered(command, "--input", "res") == ["<files>"]
        assert offered(command, "--input", "x=resnet") == ["x=resnet.onnx", "x=resnet.txt"]
    assert offered("run", "--input", "x=nowhere/") == []
    for command in ("run", "bench", "compare", "profile", "convert"):
        assert {"--shape", "--dim"} <= {*offered(command, "--")}, command


def test_devices_are_what_can_be_named(offered: Callable[..., list[str]]) -> None:
    names = ["host", "host-arm64", "ndk", "ndk-sl", "vm", "vm-arm64", "PHONE7"]
    for command in ("profile", "vts", "doctor", "calibrate", "report"):
        assert offered(command, "--device", "") == names, command
    for command in ("run", "bench"):
        assert offered(command, "--device", "") == [*names, *DOORS], command
    assert offered("bench", "pair", "--device", "lit") == [*DOORS]
    for command in ("push", "shell", "deploy", "demo"):
        assert offered(command, "--device", "") == names[4:], command
    assert offered("conformance", "--device", "vm,ho") == ["vm,host", "vm,host-arm64"]
    assert offered("run", "--device", "my") == ["<files>"]


def test_sides_are_backends_libraries_and_devices(offered: Callable[..., list[str]]) -> None:
    everything = offered("compare", "CpuRef", "")
    assert {"CpuRef", "CpuAcc", "litert", "onnxruntime", "torch=", "vm", "PHONE7"} <= {*everything}
    assert offered("compare", "lite") == ["litert", "litert-reference", *DOORS]
    assert offered("compare", "torch=f") == ["<files>"]


def test_a_line_that_is_completed_opens_nothing(
    offered: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[object] = []
    monkeypatch.setattr(cli_json, "check_writable", opened.append)
    monkeypatch.setattr(cli_json, "standard_output_kept", lambda: opened.append("-"))
    for name in ("-", "file"):
        assert "--device" in offered("run", "--json", name, "--dev")
    assert opened == []


def test_what_is_not_there_is_no_error(
    offered: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> list[str]:
        raise LinkBroken("there is no libusb")

    monkeypatch.setattr(completions, "usb_serials", broken)
    monkeypatch.setattr(
        backends, "built_in", lambda: (_ for _ in ()).throw(ProgramMissing("no runner"))
    )
    assert offered("run", "--device", "vm") == ["vm", "vm-arm64"]
    assert offered("run", "--backends", "C") == []


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_a_script_each(shell: str) -> None:
    done = subprocess.run([PROGRAM, "completion", shell], capture_output=True, text=True)
    assert "_HALYARD_COMPLETE" in done.stdout


def test_another_shell_is_refused() -> None:
    done = subprocess.run([PROGRAM, "completion", "tcsh"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "bash" in done.stderr
