# SPDX-License-Identifier: Apache-2.0
"""Files that commands write for their users: whole, or not at all."""

import contextlib
import os
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from halyard.errors import ConfigError, HalyardError

# This very object, while standard_output_kept() lasts. A path that is no more than equal to it is a
# file of that name.
STANDARD_OUTPUT = Path("-")

_kept: list[TextIO] = []


@contextlib.contextmanager
def standard_output_kept() -> Iterator[None]:
    """Standard output is for what is written to STANDARD_OUTPUT: until the end of this, what is
    printed goes to standard error."""
    _kept.append(sys.stdout)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        _kept.pop()


def check_writable(path: Path) -> None:
    """ConfigError where a file can't be written, before work is done whose result goes there."""
    if path is STANDARD_OUTPUT:
        return
    there = path.exists()
    if not path.parent.is_dir():
        raise ConfigError(f"{path}: {path.parent} is not a folder")
    try:
        if there and not (path.is_file() or path.is_dir()):
            # To open a pipe would wait for its reader.
            writable = os.access(path, os.W_OK)
            reason = "Permission denied"
        else:
            # To open it tells what permissions alone do not: read-only file systems, above all.
            with path.open("ab"):
                writable, reason = True, ""
            if not there:
                path.unlink()
    except OSError as error:
        writable, reason = False, error.strerror or str(error)
    if not writable:
        raise ConfigError(f"{path}: {reason}")


def write(path: Path, content: bytes) -> None:
    """The former file stays until all of the content is on the disk; a device or a pipe is written
    as it comes. HalyardError where that fails."""
    try:
        if path is STANDARD_OUTPUT:
            _kept[-1].flush()
            _kept[-1].buffer.write(content)
            _kept[-1].flush()
        elif path.exists() and not path.is_file():
            path.write_bytes(content)
        else:
            _replace(path.resolve(), content)
    except OSError as error:
        name = "standard output" if path is STANDARD_OUTPUT else path
        raise HalyardError(f"{name}: {error.strerror or error}") from error


def _replace(path: Path, content: bytes) -> None:
    part = path.with_name(f".halyard-{secrets.token_hex(4)}.part")
    try:
        # A file of its own has the mode that the user's settings give it.
        with part.open("xb") as file:
            file.write(content)
        if path.exists():
            part.chmod(path.stat().st_mode & 0o7777)
        part.replace(path)
    except PermissionError:
        # A file that may be written, in a folder that takes no new ones.
        path.write_bytes(content)
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
