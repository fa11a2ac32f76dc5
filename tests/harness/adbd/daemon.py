# SPDX-License-Identifier: Apache-2.0
"""An adbd that a test has for itself."""

import subprocess
from collections.abc import Callable
from pathlib import Path

from halyard.programs import native
from tests.waiting import awaited


def wait_until(condition: Callable[[], bool], what: str) -> None:
    awaited(condition, f"waited in vain until {what}", seconds=20)


class Daemon:
    """An adbd of our own on a free port, with a temporary root."""

    def __init__(self, root: Path, *options: str) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        program = native.program("adbd")
        self.process = subprocess.Popen(
            [program, "--port", "0", "--root", root, "--shell", "/bin/sh", *options],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith("listening on 127.0.0.1:"), line
        self.port = int(line.rsplit(":", 1)[1])

    @property
    def serial(self) -> str:
        return f"127.0.0.1:{self.port}"

    def stop(self) -> int:
        """Ends the daemon; its exit status, or the signal it had died of as a negative number."""
        self.process.terminate()
        self.process.communicate(timeout=20)
        return self.process.returncode

    def open_files(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def children(self) -> list[int]:
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in path.read_text().split()]
