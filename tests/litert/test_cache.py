# SPDX-License-Identifier: Apache-2.0
"""The folder of kept programs."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert.interpreter")

from tests.harness import tflite_models
from tests.harness.tflite_file import GraphFile
from tests.litert.interpreting import apart, inputs_of, interpreter, new_delegate, run


def _content(weight: float = 1.0) -> bytes:
    graph = GraphFile()
    source = graph.input((2, 8))
    weights = np.arange(32, dtype=np.float32).reshape(4, 8)
    weights[3, 7] = weight
    last = graph.tensor((2, 4))
    graph.add(
        "FULLY_CONNECTED",
        [source, graph.constant(weights), -1],
        [last],
        "FullyConnectedOptions",
    )
    return graph.content(last)


def _check(content: bytes, folder: Path, **options: object) -> None:
    ours = interpreter(content, new_delegate(cache_dir=folder, log="verbose", **options))
    inputs = inputs_of(ours, 1)
    assert apart(run(ours, inputs), run(interpreter(content), inputs)) == ""


def _said(capfd: pytest.CaptureFixture[str]) -> str:
    return capfd.readouterr().err


def test_programs_are_kept_and_used(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "programs"
    _check(_content(), folder)
    assert "a kept program" not in _said(capfd)
    [file] = folder.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    written = file.stat().st_mtime_ns
    _check(_content(), folder)
    assert "a kept program is used" in _said(capfd)
    assert file.stat().st_mtime_ns == written


def test_what_a_program_depends_on_is_in_its_name(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    _check(_content(), tmp_path)
    _check(_content(2.0), tmp_path)
    _check(_content(), tmp_path, fast_math=True)
    _check(_content(), tmp_path, backends="CpuRef")
    assert "a kept program is used" not in _said(capfd)
    assert len(list(tmp_path.iterdir())) == 4
    # No matter how many threads.
    _check(_content(), tmp_path, threads=2)
    assert "a kept program is used" in _said(capfd)


@pytest.mark.parametrize("damage", ["empty", "cut", "changed", "another's"])
def test_damaged_files_are_built_anew(
    damage: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    _check(_content(), tmp_path)
    [file] = tmp_path.iterdir()
    whole = file.read_bytes()
    spoiled = {
        "empty": b"",
        "cut": whole[:-100],
        "changed": whole[:5000] + bytes([whole[5000] ^ 1]) + whole[5001:],
        "another's": b"this is no program" * 1000,
    }[damage]
    file.write_bytes(spoiled)
    _said(capfd)
    _check(_content(), tmp_path)
    said = _said(capfd)
    assert f"a kept program is built anew: {file}: " in said
    assert file.read_bytes() == whole
    _check(_content(), tmp_path)
    assert "a kept program is used" in _said(capfd)


def test_files_of_others_are_not_used(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    _check(_content(), tmp_path)
    [file] = tmp_path.iterdir()
    file.chmod(0o666)
    _said(capfd)
    _check(_content(), tmp_path)
    assert "its owner alone may write" in _said(capfd)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_link_in_the_folder_is_not_followed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder, elsewhere = tmp_path / "programs", tmp_path / "elsewhere"
    _check(_content(), folder)
    [file] = folder.iterdir()
    file.rename(elsewhere)
    file.symlink_to(elsewhere)
    _said(capfd)
    _check(_content(), folder)
    assert "a kept program is built anew" in _said(capfd)
    assert not file.is_symlink()


def test_a_folder_that_cannot_be_written_to_only_keeps_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    delegate = new_delegate(cache_dir=tmp_path / "programs")
    (tmp_path / "programs").rmdir()
    ours = interpreter(_content(), delegate)
    assert "a program is not kept" in _said(capfd)
    assert run(ours, inputs_of(ours, 1))[0].shape == (2, 4)


def test_the_oldest_go_where_there_are_too_many(tmp_path: Path) -> None:
    for number in range(300):
        old = tmp_path / f"{number:032x}.program"
        old.write_bytes(b"old")
        os.utime(old, (number + 1, number + 1))
    other = tmp_path / "notes.txt"
    other.write_text("not a program")
    _check(_content(), tmp_path)
    kept = sorted(file.name for file in tmp_path.glob("*.program"))
    assert len(kept) == 256
    # The new one, and of the old ones the newest.
    assert f"{299:032x}.program" in kept
    assert f"{44:032x}.program" not in kept
    assert other.exists()


def test_models_in_parts_are_kept_in_parts(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    graph, outputs = tflite_models.conv_net()
    last = graph.tensor((1, 10))
    final = graph.tensor((1, 10))
    graph.add("ATAN2", [outputs[0], outputs[1]], [last])
    graph.add("TANH", [last], [final])
    content = graph.content(final)
    _check(content, tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
    _said(capfd)
    _check(content, tmp_path)
    assert _said(capfd).count("a kept program is used") == 2
