# SPDX-License-Identifier: Apache-2.0
"""Debian's adb client."""

import os
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Self

from tests.harness.adbd.daemon import Daemon
from tests.waiting import awaited


class Adb:
    """Debian's adb client, with a server of its own, which is a child of this process: asked to end
    (kill-server), it may wait for a device for minutes. It reads its keys, in `home`, at once."""

    def __init__(self, home: Path) -> None:
        program = shutil.which("adb")
        assert program is not None, "adb is in Debian's package adb"
        self.program = program
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.environment = os.environ | {
            "ANDROID_ADB_SERVER_PORT": str(port),
            "HOME": str(home),
            "ADB_VENDOR_KEYS": "",
        }
        self._server = subprocess.Popen(
            [program, "nodaemon", "server"],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        awaited(
            lambda: self._listens(port) or self._server.poll() is not None,
            "adb's server does not listen",
        )
        assert self._server.poll() is None, "adb's server ended"

    @staticmethod
    def _listens(port: int) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.kill()
        self._server.wait()

    def run(
        self, *arguments: str | Path, stdin: bytes = b"", check: bool = True
    ) -> subprocess.CompletedProcess[bytes]:
        result = subprocess.run(
            [self.program, *arguments],
            input=stdin,
            capture_output=True,
            env=self.environment,
            timeout=120,
            check=False,
        )
        if check:
            assert result.returncode == 0, (arguments, result.stdout, result.stderr)
        return result

    def connect(self, daemon: Daemon) -> bytes:
        # Exit status 0 even where it fails.
        return self.run("connect", daemon.serial).stdout


Run = Callable[..., "subprocess.CompletedProcess[bytes]"]
