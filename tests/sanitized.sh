#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds with a sanitizer preset and runs the C++ units and the Python host tests on that build.
# Usage: tests/sanitized.sh asan+ubsan|tsan
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
build=build/$preset
mkdir -p build/results-"$preset"
cmake --preset "$preset" >/dev/null
cmake --build "$build" --target all halyard_tests
export OPENBLAS_NUM_THREADS=1
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1
ctest --test-dir "$build" --output-on-failure --no-tests=error -j2 \
    --output-junit "$PWD/build/results-$preset/native.xml" | tail -n 12
HALYARD_NATIVE_DIR=$PWD/$build .venv/bin/python -m pytest tests/harness \
    --junit-xml "build/results-$preset/python.xml"
.venv/bin/python tests/summary.py "build/results-$preset"
