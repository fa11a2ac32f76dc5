# SPDX-License-Identifier: Apache-2.0
"""The type of the fixture that invokes a command: words to its result."""

from collections.abc import Callable

from click.testing import Result

Invoke = Callable[..., Result]
