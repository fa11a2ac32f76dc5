# SPDX-License-Identifier: Apache-2.0
"""Names the object files of a build whose sources lie in some folders, for ninja to build these and
link nothing. Sources that the build makes are among them.

Usage: objects.py BUILD FOLDER...
"""

import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

_ROOT = Path(__file__).parents[1]


def objects(build: Path, folders: Sequence[str]) -> list[str]:
    """As ninja calls them, in the order of the build."""
    commands = json.loads((build / "compile_commands.json").read_text())
    roots = [_ROOT / folder for folder in folders] + [(build / "generated").absolute()]
    return [
        _output(shlex.split(command["command"]))
        for command in commands
        if any(Path(command["file"]).is_relative_to(root) for root in roots)
    ]


def _output(words: Sequence[str]) -> str:
    return words[words.index("-o") + 1]


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    print("\n".join(objects(Path(sys.argv[1]), sys.argv[2:])))
