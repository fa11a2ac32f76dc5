#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a build's C++ tests with ctest, a line for each program's share of them. After a failure: what
# the programs that failed printed, and last the names of the tests.
# Usage: tests/programs.sh BUILD_DIR [CTEST_OPTION...]
set -euo pipefail
build=$1
shift
rm -rf "$build/results"
mkdir -p "$build/results"
log=$build/results/programs.log
# Tests of GpuAcc look for OpenCL's devices themselves; others would for every device that they make.
export OCL_ICD_VENDORS=/nonexistent
failed=0
ctest --test-dir "$build" --output-on-failure --no-tests=error -j"$(nproc)" \
    --output-junit results/programs.xml "$@" 2>&1 | tee "$log" |
    grep --line-buffered -E '^ *[0-9]+/[0-9]+ Test ' || failed=1
if [ "$failed" = 1 ]; then
    # A loop may fail thousands of times.
    grep -vE '^ *([0-9]+/[0-9]+ Test|Start) ' "$log" | cut -c1-500 | head -n 300 || true
    echo "Failed (the whole output: $log):"
    grep -hE '^\[  FAILED  \] [^ ]+\.|^\s+[0-9]+ - ' "$log" | sort -u || true
fi
exit "$failed"
