# SPDX-License-Identifier: Apache-2.0
"""A program on this machine that is run to its end, or until it has written too much."""

import os
import selectors
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

_CHUNK = 2**16


class OutputTooLarge(Exception):
    """It wrote more than it may; it is killed."""


def run_bounded(
    words: Sequence[str], folder: Path, environment: Mapping[str, str], timeout: float, limit: int
) -> subprocess.CompletedProcess[bytes]:
    """subprocess.run with captured output and no input. subprocess.TimeoutExpired has what was
    written until then. `limit`: in bytes, of both streams together."""
    with subprocess.Popen(
        words,
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        stdout, stderr = bytearray(), bytearray()
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(process.stdout, selectors.EVENT_READ, stdout)
                selector.register(process.stderr, selectors.EVENT_READ, stderr)
                end = time.monotonic() + timeout
                while selector.get_map():
                    left = end - time.monotonic()
                    ready = selector.select(left) if left > 0 else []
                    if not ready:
                        raise subprocess.TimeoutExpired(
                            words, timeout, bytes(stdout), bytes(stderr)
                        )
                    for key, _ in ready:
                        part = os.read(key.fd, _CHUNK)
                        if not part:
                            selector.unregister(key.fileobj)
                        key.data.extend(part)
                    if len(stdout) + len(stderr) > limit:
                        raise OutputTooLarge(f"its output is larger than {limit / 2**20:g} MiB")
            process.wait(max(end - time.monotonic(), 0.1))
        except BaseException:
            process.kill()
            raise
        return subprocess.CompletedProcess(words, process.returncode, bytes(stdout), bytes(stderr))
