#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs a list of Python packages into an environment. It may take minutes, so it names each
# package as its turn comes; all that pip says goes to the log.
# Usage: tests/requirements.sh VENV LIST LOG
set -euo pipefail
"$1/bin/pip" install --disable-pip-version-check --progress-bar off -r "$2" 2>&1 | tee "$3" |
    sed -unE 's/^((Collecting|Building|Installing) .{0,80}).*/  \1/p' || { tail -20 "$3"; exit 1; }
