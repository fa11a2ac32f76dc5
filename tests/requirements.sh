#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs a list of Python packages into an environment. It may take minutes, so it names each
# package as its turn comes; all that pip says goes to the log.
# Usage: tests/requirements.sh VENV LIST LOG [INDEX]
# INDEX: looked at, too, where pip's own indexes lack something of the list. What that one lacks as
# well, for this Python or processor, or for want of a network, is left out: a line says so.
set -euo pipefail
pip=$1/bin/pip
list=$2
log=$3
index=${4:-}

install() {
    "$pip" install --disable-pip-version-check --progress-bar off -r "$list" "$@" 2>&1 |
        tee -a "$log" | sed -unE 's/^((Collecting|Building|Installing) .{0,80}).*/  \1/p'
}

: >"$log"
if [ -z "$index" ]; then
    install || { tail -20 "$log"; exit 1; }
elif ! install && ! install --retries 1 --timeout 30 --extra-index-url "$index"; then
    echo "  Left out, with the tests that need it: $(paste -sd ' ' "$list") (log: $log)"
fi
