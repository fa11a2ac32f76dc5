# SPDX-License-Identifier: Apache-2.0
"""For tests that compute on OpenCL's device: PoCL, or the one that HALYARD_OPENCL_DEVICE names."""

import fcntl
import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from halyard.programs import native

BACKEND = f"GpuAcc:device={os.environ.get('HALYARD_OPENCL_DEVICE', 'pthread')}"

# Kernels that PoCL compiles run once: it is not made fast, and not compiled again for each size of
# groups. The C++ tests have the same caches and so the settings
# (tests/engine/gpu_acc/on_device.cc).
_QUICKLY_COMPILED = {
    "POCL_EXTRA_BUILD_FLAGS": "-cl-opt-disable",
    "POCL_WORK_GROUP_SPECIALIZATION": "0",
}


@contextmanager
def _held_kernel_cache() -> Iterator[Path]:
    """A kernel cache that no other process has now. PoCL 3.1 dies of one that two processes fill
    with the same kernels: of a binary that is not written to its end, or of a folder that the other
    has moved away."""
    for i in itertools.count():
        path = native.folder() / "pocl" / str(i)
        path.mkdir(parents=True, exist_ok=True)
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        else:
            yield path
            return
        finally:
            os.close(folder)


@contextmanager
def visible() -> Iterator[None]:
    """PoCL keeps its compiled kernels beside the programs."""
    with _held_kernel_cache() as cache, pytest.MonkeyPatch.context() as patch:
        patch.delenv("OCL_ICD_VENDORS", raising=False)
        for name, value in {"POCL_CACHE_DIR": str(cache), **_QUICKLY_COMPILED}.items():
            if name not in os.environ:
                patch.setenv(name, value)
        yield
