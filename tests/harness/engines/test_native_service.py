# SPDX-License-Identifier: Apache-2.0
"""The native service's command line, as far as it needs no binder."""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from halyard.programs import native
from halyard.vm import sanitizers
from tests.harness.own_backends import own_backends

_HIDL = "android.hardware.neuralnetworks@1.3::IDevice halyard-default"
_AIDL = "aidl android.hardware.neuralnetworks.IDevice/halyard-default"


def run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [native.program("service"), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_help_tells_every_long_option() -> None:
    ended = run("--help")
    assert ended.returncode == 0
    for word in (
        "--compute",
        "--cache-key-dir",
        "--service-name",
        "--number-of-threads",
        "--max-memory",
        "--max-partitions",
        "--min-nodes-per-partition",
        "--require-backend",
        "--backend-hint",
        "--backend-dir",
        "--capabilities",
        "--seccomp",
        "--unsupported-operations",
        "--request-inputs-and-outputs-dump-dir",
        "--list-operations",
        "--verbose-logging",
        "--version",
    ):
        assert word in ended.stdout


@pytest.mark.parametrize("mib", ["0", "512"])
def test_a_memory_limit_is_a_number_of_mib(mib: str) -> None:
    ended = run("--max-memory", mib, "--version")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("halyard ")


@pytest.mark.parametrize("mib", ["", "much", "-1", "512M", "99999999999999999999"])
def test_a_memory_limit_that_is_none_is_refused(mib: str) -> None:
    ended = run("--max-memory", mib, "--version")
    assert ended.returncode == 1
    assert "--max-memory" in ended.stderr


@pytest.mark.parametrize(
    ("name", "wire", "interfaces"),
    [
        (native.SERVICE, "hidl", [_HIDL]),
        # Where the manifest has it, and its fragment of that has both.
        (native.AIDL_SERVICE, None, [_AIDL, _HIDL]),
    ],
)
def test_init_starts_it_with_options_that_it_has(
    name: str, wire: str | None, interfaces: Sequence[str]
) -> None:
    lines = (native.device_configs() / f"{name}.rc").read_text().splitlines()
    [line] = [line for line in lines if line.startswith("service ")]
    _, _, program, *words = line.split()
    assert program == f"/vendor/bin/hw/{name}"
    assert (words[words.index("--wires") + 1] if "--wires" in words else None) == wire
    fragment = (native.device_configs() / f"{name}.xml").read_text()
    for interface in interfaces:
        assert f"    interface {interface}" in lines
        assert f'format="{"aidl" if interface is _AIDL else "hidl"}"' in fragment
    assert words[words.index("--seccomp") + 1] == "enforce"
    # A backend whose calls the filter does not know would end it.
    assert "GpuAcc" not in words[words.index("-c") + 1]
    # The folder of its key is made before it starts, for it alone, and its policy may write there.
    folder = words[words.index("--cache-key-dir") + 1]
    user = next(line.split()[1] for line in lines if line.startswith("    user "))
    assert lines[lines.index("on post-fs-data") + 1] == f"    mkdir {folder} 0700 {user} {user}"
    contexts = (native.device_configs() / "sepolicy" / "file_contexts").read_text()
    [label] = re.findall(rf"^{folder}\(/\.\*\)\? u:object_r:(\w+):s0$", contexts, re.MULTILINE)
    policy = (native.device_configs() / "sepolicy" / "halyard.te").read_text()
    assert f"type {label}, file_type, data_file_type;" in policy
    assert f"allow hal_neuralnetworks_halyard {label}:file create_file_perms;" in policy
    ended = run(*words, "--version")
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("mode", ["off", "enforce"])
def test_a_service_makes_the_key_of_compilation_caches_once(mode: str, tmp_path: Path) -> None:
    if mode == "enforce" and sanitizers.sanitized([native.program("service")]):
        pytest.skip("sanitizers make system calls of their own, which the filter does not know")
    folder = tmp_path / "own"
    folder.mkdir(mode=0o700)
    words = ["--seccomp", mode, "--cache-key-dir", str(folder)]
    ended = run(*words)
    assert "/dev/hwbinder" in ended.stderr, "it got as far as serving"
    assert "key" not in ended.stderr
    [key] = folder.iterdir()
    assert key.stat().st_mode & 0o7777 == 0o600
    made = key.read_bytes()
    assert len(made) == 32
    run(*words)
    assert key.read_bytes() == made


def test_a_service_starts_without_a_key_that_others_could_have_made(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o777)
    ended = run("--cache-key-dir", str(folder))
    assert "no program for the GPU is kept in clients' compilation caches" in ended.stderr
    assert f"{folder}: everybody may write to it" in ended.stderr
    assert "/dev/hwbinder" in ended.stderr
    assert not list(folder.iterdir())


def test_the_gpu_is_granted_where_its_policy_is_asked_for() -> None:
    def rules(folder: str) -> str:
        policy = native.device_configs() / folder
        lines = [line for path in policy.glob("*.te") for line in path.read_text().splitlines()]
        return "\n".join(line for line in lines if not line.startswith("#"))

    assert "hal_server_domain" in rules("sepolicy")
    assert "gpu_device" not in rules("sepolicy")
    assert "gpu_device" in rules("sepolicy_gpu")


@pytest.mark.parametrize("mode", ["off", "log", "enforce"])
def test_a_filter_of_system_calls_has_three_modes(mode: str) -> None:
    ended = run("--seccomp", mode, "--version")
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("mode", ["", "on", "Enforce"])
def test_another_mode_is_refused(mode: str) -> None:
    ended = run("--seccomp", mode, "--version")
    assert ended.returncode == 1
    assert "--seccomp" in ended.stderr


def test_a_filtered_service_ends_in_order_where_there_is_no_binder() -> None:
    if sanitizers.sanitized([native.program("service")]):
        pytest.skip("sanitizers make system calls of their own, which the filter does not know")
    ended = run("--seccomp", "enforce", "--compute", "CpuRef")
    assert ended.returncode == 1, ended.stderr
    assert "/dev/hwbinder" in ended.stderr


def test_a_filtered_service_says_why_it_has_no_gpu() -> None:
    ended = run("--seccomp", "enforce", "--compute", "CpuAcc,GpuAcc:device=1")
    assert ended.returncode == 1
    assert "--compute GpuAcc and --seccomp enforce exclude each other" in ended.stderr
    if sanitizers.sanitized([native.program("service")]):
        pytest.skip("sanitizers make system calls of their own, which the filter does not know")
    ended = run("--seccomp", "enforce")
    assert ended.returncode == 1
    assert "/dev/hwbinder" in ended.stderr
    assert "with CpuAcc, CpuRef" in ended.stderr
    assert "GpuAcc" not in ended.stderr


@pytest.mark.parametrize("mode", ["off", "enforce"])
def test_a_filtered_service_has_backends_from_libraries(mode: str, tmp_path: Path) -> None:
    folder = own_backends("sample", tmp_path)
    if mode == "enforce" and sanitizers.sanitized([native.program("service")]):
        pytest.skip("sanitizers make system calls of their own, which the filter does not know")
    hints = tmp_path / "hints"
    hints.write_text("ADD CpuRef\n")
    words = ["-c", "Sample", "--backend-dir", str(folder), "--backend-hint", str(hints)]
    ended = run("--seccomp", mode, *words)
    assert ended.returncode == 1, ended.stderr
    assert "with Sample, CpuRef" in ended.stderr
    assert "/dev/hwbinder" in ended.stderr


def test_a_service_without_its_backends_or_hints_does_not_start(tmp_path: Path) -> None:
    hints = tmp_path / "hints"
    hints.write_text("\nADD\n")
    for words, reason in (
        (["--backend-dir", "backends"], "the path of a folder of backends has to be absolute"),
        (["-c", "Other"], 'there is no backend "Other"'),
        (["--require-backend", "Other"], 'no backend "Other" is in use'),
        (["--backend-hint", str(hints)], f"{hints}: line 2: a line is an operation's name"),
        (["--capabilities", str(hints)], f"{hints}: line 2: a line is a name, an execution time"),
    ):
        ended = run(*words)
        assert ended.returncode == 1
        assert reason in ended.stderr
