# SPDX-License-Identifier: Apache-2.0
"""The errors of an adb connection."""

from halyard.errors import HalyardError


class LinkError(HalyardError):
    """The device answered, and refused; the text is its reason."""


class LinkBroken(LinkError):
    """There is no connection, or it broke."""


class LocalFileError(LinkError):
    """This machine's side of a transfer failed: its disk is full, or the file may not be read."""


class LinkTimeout(LinkError):
    """No end in the time given. `output` is what came until then."""

    def __init__(self, message: str, output: bytes = b"") -> None:
        super().__init__(message)
        self.output = output


class LinkOverflow(LinkError):
    """The device sends more than is taken."""


def in_words(size: int) -> str:
    return f"{size / 2**20:g} MiB"
