# SPDX-License-Identifier: Apache-2.0
"""Debian's adb client."""

import os
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.harness.adbd.daemon import Daemon


class Adb:
    """Debian's adb client, with a server of its own."""

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
