# SPDX-License-Identifier: Apache-2.0
"""Prints what pyproject.toml asks for, one requirement a line: to build, to run and to test; with a
dependency group's name what that group has.

With the former installed, the package itself builds without an isolated environment and without
another look at the index. An extra that only some machines can use is left out.
"""

import sys
import tomllib
from pathlib import Path

# For GPUs PyTorch comes with all of CUDA, five gigabytes; a dependency group has it for processors.
_LEFT_OUT = frozenset({"torch"})


def main() -> None:
    project = tomllib.loads(Path(sys.argv[1]).read_text())
    wanted: list[str] = []
    for group in sys.argv[2:]:
        wanted += project["dependency-groups"][group]
    if not sys.argv[2:]:
        wanted += project["build-system"]["requires"]
        wanted += project["project"]["dependencies"]
        for name, extra in project["project"]["optional-dependencies"].items():
            if name not in _LEFT_OUT:
                wanted += extra
    print("\n".join(wanted))


if __name__ == "__main__":
    main()
