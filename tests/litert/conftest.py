# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from halyard.litert.npu_environment import OPTIONS


@pytest.fixture(autouse=True)
def own_options() -> Iterator[None]:
    """What an environment that is not closed has the process use is no other test's."""
    before = os.environ.get(OPTIONS)
    yield
    os.environ.pop(OPTIONS, None)
    if before is not None:
        os.environ[OPTIONS] = before
