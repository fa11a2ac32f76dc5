# SPDX-License-Identifier: Apache-2.0
"""For tests that compute on OpenCL's device: PoCL, or the one that HALYARD_OPENCL_DEVICE names."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from halyard import native

BACKEND = f"GpuAcc:device={os.environ.get('HALYARD_OPENCL_DEVICE', 'pthread')}"


# What PoCL compiles runs once: it is not made fast, and not compiled again for each size of groups.
# The C++ tests share what is kept and so the settings (tests/engine/gpu_acc/on_device.cc).
_QUICKLY_COMPILED = {
    "POCL_EXTRA_BUILD_FLAGS": "-cl-opt-disable",
    "POCL_WORK_GROUP_SPECIALIZATION": "0",
}


@contextmanager
def visible() -> Iterator[None]:
    """What PoCL compiles, it keeps beside the programs."""
    settings = {"POCL_CACHE_DIR": str(native.folder() / "pocl"), **_QUICKLY_COMPILED}
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("OCL_ICD_VENDORS", raising=False)
        for name, value in settings.items():
            if name not in os.environ:
                patch.setenv(name, value)
        yield
