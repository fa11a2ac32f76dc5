# SPDX-License-Identifier: Apache-2.0
"""What a bare root gets of this machine's settings. `make test-fresh` makes one; this does not."""

import subprocess
from pathlib import Path

import pytest

from tests import fresh


def test_files_that_settings_name_go_along(tmp_path: Path) -> None:
    for name in ("certificate.pem", "wheels/a.whl", "index/simple/a.html", "index/files/a.whl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    settings = [
        f"{tmp_path}/certificate.pem",
        f"{tmp_path}/wheels {tmp_path}/absent",
        f"https://index.example/simple file://{tmp_path}/index/simple",
        "180",
    ]
    # An index names files beside it.
    assert fresh.named_paths(settings) == {
        tmp_path / "certificate.pem",
        tmp_path / "wheels",
        tmp_path / "index",
    }


def test_what_pip_reads_from_files_becomes_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = "global.cert='/etc/ca.pem'\nglobal.extra-index-url='\\nfile:///a\\nfile:///b'\n"
    for name in fresh.network_settings():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(
        subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 0, listed, "")
    )
    monkeypatch.setenv("PIP_CERT", "/of/the/environment.pem")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    assert fresh.network_settings() == {
        "PIP_CERT": "/of/the/environment.pem",
        "PIP_EXTRA_INDEX_URL": "file:///a file:///b",
        "HTTPS_PROXY": "http://proxy.example:3128",
    }


def test_the_mirror_is_apt_s_or_debian_s_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for listed, mirror in (
        ("http://mirror.example/debian/\n", "http://mirror.example/debian/"),
        ("mirror+file:/etc/mirrors\n", fresh.MIRROR),
        ("", fresh.MIRROR),
    ):
        monkeypatch.setattr(fresh, "output", lambda *_, said=listed: said)
        assert fresh.apt_mirror() == mirror
