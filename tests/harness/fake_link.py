# SPDX-License-Identifier: Apache-2.0
"""An adb connection that ends on this machine's shell, or fails on demand."""

import re
import shutil
import subprocess
from pathlib import Path

from halyard.devices.device import Progress
from halyard.devices.link_errors import LinkBroken, LinkError, LinkOverflow, LinkTimeout
from halyard.devices.shell_session import Sink


class FakeLink:
    """An AdbLink. Device paths lie below `root`: /data/... in a command is taken to be there."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "data/local/tmp").mkdir(parents=True, exist_ok=True)
        self.connections = 0
        self.is_open = False
        self.commands: list[str] = []
        self.pushed: list[str] = []
        self.next_failure: LinkError | None = None
        self.cut_output_at: int | None = None
        # The commands that run instead of a part of a command.
        self.answers: dict[str, str] = {}

    def path(self, remote: str) -> Path:
        return self.root / remote.lstrip("/")

    def connect(self, timeout: float) -> None:
        self._fail_if_told()
        self.connections += 1
        self.is_open = True

    def close(self) -> None:
        self.is_open = False

    def execute(self, command: str, timeout: float, limit: int) -> bytes:
        self._check_open()
        self.commands.append(command)
        self._fail_if_told()
        here = re.sub(r"(?<![\w.])/(data|vendor)/", rf"{self.root}/\1/", command)
        for asked, instead in self.answers.items():
            here = here.replace(asked, instead)
        done = subprocess.run(
            ["/bin/sh", "-c", here],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=30,
        )
        if len(done.stdout) > limit:
            raise LinkOverflow("its output is too large")
        return done.stdout[: self.cut_output_at]

    def push(self, local: Path, remote: str, timeout: float, progress: Progress | None) -> None:
        self._check_open()
        self._fail_if_told()
        shutil.copy(local, self.path(remote))
        self.pushed.append(remote)
        if progress:
            progress(local.stat().st_size, local.stat().st_size)

    def pull(
        self, remote: str, local: Path, timeout: float, progress: Progress | None, limit: int
    ) -> None:
        self._check_open()
        if self.next_failure is not None:
            local.write_bytes(b"half")
        self._fail_if_told()
        if not self.path(remote).is_file():
            raise LinkError(f"{remote}: No such file or directory")
        shutil.copy(self.path(remote), local)

    def converse(self, source: int, sink: Sink, timeout: float) -> int:
        self._check_open()
        done = subprocess.run(["/bin/sh"], stdin=source, capture_output=True, timeout=30)
        sink(done.stdout, b"")
        sink(b"", done.stderr)
        return done.returncode

    def _check_open(self) -> None:
        if not self.is_open:
            raise LinkBroken("used without a connection")

    def _fail_if_told(self) -> None:
        if self.next_failure is not None:
            failure, self.next_failure = self.next_failure, None
            raise failure


__all__ = ["FakeLink", "LinkBroken", "LinkError", "LinkTimeout"]
