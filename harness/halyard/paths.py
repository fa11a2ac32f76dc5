# SPDX-License-Identifier: Apache-2.0
"""The per-user folders, as the XDG base directory specification names them, and temporary ones."""

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
import time
from pathlib import Path

import platformdirs

from halyard.errors import HalyardError

_NAME = "halyard"


def _made(folder: Path, variable: str) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HalyardError(
            f"{folder} can't be made: {error.strerror}; {variable} may name another place"
        ) from error
    return folder


def cache() -> Path:
    """Files that can be made again: kernels."""
    return _made(platformdirs.user_cache_path(_NAME), "XDG_CACHE_HOME")


def state() -> Path:
    """Files that must outlive a command: the running virtual device, the adb key."""
    return _made(platformdirs.user_state_path(_NAME), "XDG_STATE_HOME")


def config() -> Path:
    """The user's own files. The folder need not be there."""
    return platformdirs.user_config_path(_NAME)


# ---- for as long as a command runs --------------------------------------------------------------

_PREFIX = "halyard-held-"
# Seconds after which a folder that no process holds is removed: its maker has locked it long since.
_SETTLED = 60.0


class Temporary:
    """A temporary folder, which its maker holds a lock on. Files that killed runs have left are
    removed when the next one is made."""

    def __init__(self, kind: str) -> None:
        remove_abandoned()
        self.path = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{kind}-"))
        self._lock: int | None = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def close(self) -> None:
        if self._lock is not None:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


def remove_abandoned() -> None:
    """The user's own temporary folders whose makers are dead: the kernel has dropped their locks,
    which holds across containers that share the folder."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            status = path.stat(follow_symlinks=False)
            is_own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
            if is_own and time.time() - status.st_mtime > _SETTLED:
                _remove_if_free(path)


def _remove_if_free(path: Path) -> None:
    lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(lock)
