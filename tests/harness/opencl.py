# SPDX-License-Identifier: Apache-2.0
"""For tests that compute on OpenCL's device: PoCL, or the one that HALYARD_OPENCL_DEVICE names."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from halyard import native

BACKEND = f"GpuAcc:device={os.environ.get('HALYARD_OPENCL_DEVICE', 'pthread')}"


@contextmanager
def visible() -> Iterator[None]:
    """What PoCL compiles, it keeps beside the programs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("OCL_ICD_VENDORS", raising=False)
        if "POCL_CACHE_DIR" not in os.environ:
            patch.setenv("POCL_CACHE_DIR", str(native.folder() / "pocl"))
        yield
