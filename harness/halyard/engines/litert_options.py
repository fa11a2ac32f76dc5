# SPDX-License-Identifier: Apache-2.0
"""The options of Halyard in LiteRT, as a process is told them."""

from __future__ import annotations

from typing import Self

import msgspec


class LiteRtOptions(msgspec.Struct, frozen=True):
    """`report`: a file that Halyard writes what it took into, as JSON. Empty ones are left out."""

    backends: tuple[str, ...] = ()
    fast_math: bool = False
    cache_folder: str = ""
    report: str = ""

    def encode(self) -> str:
        return msgspec.json.encode(self).decode()

    @classmethod
    def decode(cls, text: str) -> Self:
        return msgspec.json.decode(text, type=cls) if text else cls()


PLAIN = LiteRtOptions()
