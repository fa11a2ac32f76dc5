# SPDX-License-Identifier: Apache-2.0
"""A daemon for each module of tests, and its clients."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from adb_shell.adb_device import AdbDeviceTcp

from tests.harness.adbd.daemon import Daemon
from tests.harness.adbd.debian_client import Adb, Run


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    running = Daemon(tmp_path_factory.mktemp("root"))
    yield running
    assert running.stop() == 0, "the daemon died, or did not end in order"


@pytest.fixture(scope="module")
def adb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Adb]:
    with Adb(tmp_path_factory.mktemp("home")) as client:
        yield client


@pytest.fixture(scope="module")
def device(adb: Adb, daemon: Daemon) -> Run:
    assert b"connected to" in adb.connect(daemon)

    def run(
        *arguments: str | Path, stdin: bytes = b"", check: bool = True
    ) -> subprocess.CompletedProcess[bytes]:
        return adb.run("-s", daemon.serial, *arguments, stdin=stdin, check=check)

    return run


@pytest.fixture
def adb_shell(daemon: Daemon) -> Iterator[AdbDeviceTcp]:
    client = AdbDeviceTcp("127.0.0.1", daemon.port, default_transport_timeout_s=20)
    client.connect(auth_timeout_s=5)
    yield client
    client.close()
