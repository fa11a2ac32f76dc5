#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a command as a phase of what make was asked for: says when it is done how long it took, and
# leaves that for the table that ends `make test` (tests/summary.py). A phase that had nothing to do
# says nothing. With HALYARD_BESIDE set it runs beside others, which is said of it. Ends as the
# command does.
# Usage: tests/phase.sh NAME COMMAND [ARGUMENT...]
set -u
name=$1${HALYARD_BESIDE:+ (beside others)}
shift
began=$EPOCHREALTIME
"$@"
code=$?
seconds=$(((${EPOCHREALTIME/[.,]/} - ${began/[.,]/} + 500000) / 1000000))
if [ "$seconds" -gt 0 ] || [ "$code" != 0 ]; then
    echo "$([ "$code" = 0 ] && echo "Done" || echo "FAILED"): $name, $seconds s"
    mkdir -p build
    printf '%s\t%s\t%s\n' "${HALYARD_MAKE:-0}" "$name" "$seconds" >>build/phases.tsv
fi
exit "$code"
