# SPDX-License-Identifier: Apache-2.0
"""Programs built with GCC's sanitizers on a virtual device: what they need, what they are told.

Every program of the device writes what it finds into a file of its own, so that a finding does not
depend on who reads a program's output or looks at its exit code.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

# MiB. Shadow is an eighth of what a program has touched, freed memory is kept for a while, and the
# programs, with all that they know of their sources, lie in the root, which is memory as well.
MEMORY = 3072
_QUARANTINE = 32  # MiB of freed memory that a program keeps, to tell when it is used

# Both a program that holds its sanitizer and one that loads it have the function's name.
_MARKS = (b"__asan_init\0", b"__tsan_init\0")

# Any user's programs may write here.
_FINDING = "/data/local/tmp/finding"
# handle_sigbus: the service has a handler of its own, for clients' pools that are cut short.
_EVERY = f"log_path={_FINDING}:handle_sigbus=0"

ENVIRONMENT: Mapping[str, str] = {
    "ASAN_OPTIONS": f"{_EVERY}:detect_leaks=1:abort_on_error=0:quarantine_size_mb={_QUARANTINE}",
    "UBSAN_OPTIONS": f"{_EVERY}:print_stacktrace=1",
    "TSAN_OPTIONS": f"{_EVERY}:halt_on_error=1",
}

# A shell command that gives what was found since it ran last.
TAKE_FINDINGS = f"for f in {_FINDING}.*; do [ -f $f ] && cat $f && rm -f $f; done; true"


def sanitized(programs: Iterable[Path]) -> bool:
    """Whether one of the programs was built with a sanitizer."""
    return any(mark in content for content in map(Path.read_bytes, programs) for mark in _MARKS)
