# SPDX-License-Identifier: Apache-2.0
"""Where the program `halyard` begins. It can be ended from here on, whatever is still loaded: that
takes a while, and an exception in the middle of it would be a page of text."""

import os
import signal
import sys
from types import FrameType

# Signals that end a command; its exit code is 128 and the signal, as shells have it.
_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main() -> None:
    _open_standard_streams()
    _leave_at_once()
    from halyard.cli import program

    try:
        program.main()
    finally:
        # Python has threads and files of its own to end.
        _leave_at_once()


def _leave_at_once() -> None:
    def leave(number: int, _: FrameType | None) -> None:
        os._exit(128 + number)

    for ending in _ENDINGS:
        # Signals that nohup, and a shell for its background jobs, had ignored stay so.
        if signal.getsignal(ending) is not signal.SIG_IGN:
            signal.signal(ending, leave)


def _open_standard_streams() -> None:
    """Those that are closed lead nowhere: else the next files that are opened would take their
    places, and what is printed would go there."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


if __name__ == "__main__":
    main()
