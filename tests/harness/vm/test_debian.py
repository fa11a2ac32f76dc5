# SPDX-License-Identifier: Apache-2.0
"""Packages of Debian's, from commands that only seem to be apt's and dpkg's."""

from collections.abc import Callable
from pathlib import Path

import pytest

from halyard.errors import ProgramMissing, VmError
from halyard.vm import debian
from halyard.vm.debian import Packages

Fake = Callable[..., Path]


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    """Makes apt and dpkg of a machine of that architecture; gives the file that tells what they
    were asked for."""

    def make(
        architecture: str, *, download: str = 'for p in "$@"; do touch "$p.deb"; done'
    ) -> Path:
        commands = tmp_path / "bin"
        commands.mkdir()
        calls = tmp_path / "calls"
        for name, body in {
            "apt-cache": "true",
            "apt-get": '[ "$1" = indextargets ] && printf "Debian\\thttp://m/\\t%s\\n" '
            "old-updates old && exit\n"
            'case " $* " in *" source "*) mkdir one-1.0; touch one.dsc one-1.0/file; exit;; esac\n'
            'while [ "$1" != download ]; do [ $# = 0 ] && exit; shift; done; shift\n' + download,
            "dpkg": f"echo {architecture}",
            "dpkg-deb": 'mkdir -p "$3/usr" && cp "$2" "$3/usr/"',
        }.items():
            script = commands / name
            script.write_text(f'#!/bin/sh\necho "{name} $*" >>{calls}\n{body}\n')
            script.chmod(0o755)
        monkeypatch.setenv("PATH", f"{commands}:/usr/bin:/bin")
        return calls

    return make


def test_another_architectures_packages_come_from_lists_of_ones_own(
    fake: Fake, tmp_path: Path
) -> None:
    calls = fake("amd64")
    Packages("arm64", tmp_path / "cache").unpack(["one"], tmp_path / "root")
    lines = [line for line in calls.read_text().splitlines() if line.startswith("apt-get")]
    assert [line.split()[-1] for line in lines] == ["update", "one"]
    for line in lines:
        assert "APT::Architecture=arm64" in line
        assert f"Dir::State::Lists={tmp_path}/cache/apt/arm64/lists" in line
        # The packages installed here are of another architecture, and no part of it.
        assert "Dir::State::Status=/dev/null" in line
    assert (tmp_path / "root/usr/one.deb").is_file()


def test_this_machines_packages_come_from_the_systems_lists(fake: Fake, tmp_path: Path) -> None:
    calls = fake("arm64")
    Packages("arm64", tmp_path / "cache").unpack(["one"], tmp_path / "root")
    lines = [line for line in calls.read_text().splitlines() if line.startswith("apt-get")]
    assert lines == ["apt-get download one"]
    assert not (tmp_path / "cache").exists()


def test_backports_are_those_of_the_systems_release_and_mirror(fake: Fake, tmp_path: Path) -> None:
    calls = fake("arm64")
    Packages("arm64", tmp_path / "cache", backports=True).unpack(["one"], tmp_path / "root")
    lists = tmp_path / "cache/apt/arm64-backports"
    assert (lists / "backports.list").read_text() == "deb http://m/ old-backports main\n"
    lines = [line for line in calls.read_text().splitlines() if line.endswith((" update", " one"))]
    assert len(lines) == 2
    for line in lines:
        assert f"Dir::Etc::SourceList={lists}/backports.list" in line
        assert "Dir::Etc::SourceParts=/dev/null" in line


def test_a_source_packages_tree_takes_the_place_of_an_older_one(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = fake("amd64")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "source"
    (folder / "old").mkdir(parents=True)
    assert debian.main(["source", str(folder), "one"]) == 0
    assert [path.name for path in folder.iterdir()] == ["file"]
    listed = tmp_path / "cache/halyard/apt/source/sources.list"
    assert listed.read_text() == "deb-src http://m/ old main\n"
    [line] = [line for line in calls.read_text().splitlines() if line.endswith(" source one")]
    assert f"Dir::Etc::SourceList={listed}" in line


def test_what_apt_says_is_in_the_error(fake: Fake, tmp_path: Path) -> None:
    fake("amd64", download="echo 'no such package' >&2; exit 100")
    packages = Packages("arm64", tmp_path)
    with pytest.raises(VmError, match=r"\(100\): no such package"):
        packages.unpack(["none"], tmp_path)


def test_a_machine_without_apt_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ProgramMissing, match="there is no apt-get"):
        Packages("arm64", tmp_path)


def test_the_command_unpacks_packages_into_a_folder(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake("amd64")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert debian.main(["arm64", str(tmp_path / "root"), "one", "two"]) == 0
    assert {file.name for file in (tmp_path / "root/usr").iterdir()} == {"one.deb", "two.deb"}
    assert debian.main(["arm64"]) == 2
    assert "ARCHITECTURE FOLDER PACKAGE" in capsys.readouterr().err
