# SPDX-License-Identifier: Apache-2.0
"""LiteRT's interpreter with Halyard as its external delegate, in this process."""

from __future__ import annotations

from typing import Any

from halyard.engines.engine import EngineMissing, EngineRefused
from halyard.engines.litert import LiteRt
from halyard.engines.litert_options import PLAIN, LiteRtOptions
from halyard.errors import ConfigError, ProgramMissing
from halyard.litert import delegate, delegate_library


class LiteRtDelegate(LiteRt):
    """What the delegate does not take is XNNPACK's, as without it."""

    title = "Halyard as LiteRT's delegate"

    def __init__(self, threads: int = 1, options: LiteRtOptions = PLAIN) -> None:
        super().__init__(threads)
        self._options = options
        try:
            delegate_library()
        except ProgramMissing as error:
            raise EngineMissing(str(error)) from error

    def _delegates(self) -> list[Any]:
        options = self._options
        more: dict[str, Any] = {"backends": options.backends} if options.backends else {}
        try:
            return [
                delegate(
                    threads=self._threads,
                    fast_math=options.fast_math,
                    cache_dir=options.cache_folder or None,
                    report=options.report or None,
                    runtime=self._module,
                    **more,
                )
            ]
        except ConfigError as error:
            raise EngineRefused(str(error)) from error

    def otherwise(self) -> LiteRt | None:
        """Its kernels are Halyard's own choice."""
        return None
