#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes a virtual environment with a Python that is known to do, and with nothing in it but the pip
# that this Python brings. One that is there already stays if that Python made it, here.
# Usage: tests/environment.sh [--check] FOLDER PYTHON
# --check: makes nothing; the exit code tells whether it could stay.
set -euo pipefail
cd "$(dirname "$0")/.."
check=
if [ "$1" = --check ]; then
    check=1
    shift
fi
folder=$1
python=$2

# An environment's Python is a link to the one that made it. The programs in it name their
# interpreter by its whole path, so a folder that was moved or copied has none that run.
current() {
    [ -x "$folder/bin/python" ] &&
        [ "$(realpath "$folder/bin/python")" = "$(realpath "$python" 2>/dev/null)" ] &&
        grep -qF "$(realpath "$folder")/bin/python" "$folder/bin/pip" 2>/dev/null
}

refuse() {
    echo "The virtual environment is made with $python, which $1." \
        "Another one is named so: make SYSTEM_PYTHON=/opt/python/bin/python3" >&2
    exit 1
}

if [ -n "$check" ]; then
    current
    exit
fi
[ -x "$python" ] || refuse "is not there (Debian's package: python3)"
oldest=$(sed -n 's/^requires-python = ">=\([0-9.]*\)"$/\1/p' pyproject.toml)
version=$("$python" -c 'import platform; print(platform.python_version())')
printf '%s\n' "$oldest" "$version" | sort -C -V ||
    refuse "is Python $version; Halyard needs $oldest or newer, as Debian 12 has it"
"$python" -c 'import ensurepip, venv' 2>/dev/null ||
    refuse "can't make one (Debian's package: python3-venv)"
if current; then
    echo "Updating $folder (Python $version)"
elif [ -e "$folder" ]; then
    echo "Setting up $folder anew with $python (Python $version): another Python made it, or it was moved"
    rm -rf "$folder"
    "$python" -m venv "$folder"
else
    echo "Setting up $folder with $python (Python $version)"
    "$python" -m venv "$folder"
fi
