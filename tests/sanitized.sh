#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds with a sanitizer preset and runs the C++ units and the Python host tests on that build; with
# asan+ubsan also those tests on the virtual device that put the service under load.
# Usage: tests/sanitized.sh asan+ubsan|tsan
set -euo pipefail
cd "$(dirname "$0")/.."

# GCC 12's thread sanitizer can't start where the kernel scatters mappings over more than 28 bits of
# addresses (vm.mmap_rnd_bits), so nothing is scattered where that can be had.
if [ -z "${HALYARD_FIXED_ADDRESSES:-}" ] && setarch -R true 2>/dev/null; then
    HALYARD_FIXED_ADDRESSES=1 exec setarch -R tests/sanitized.sh "$@"
fi

preset=$1
build=build/$preset
results=$PWD/build/results-$preset
mkdir -p "$results"
rm -f "$results"/*
cmake --preset "$preset" >/dev/null
cmake --build "$build" --target all halyard_tests

export OPENBLAS_NUM_THREADS=1
# A test dies of a bus error on purpose, which is no finding.
every=log_path=$results/finding:handle_sigbus=0
# Freed memory that is kept counts as taken where a test looks at what a program takes.
export ASAN_OPTIONS=$every:detect_leaks=1:abort_on_error=0:quarantine_size_mb=8
export UBSAN_OPTIONS=$every:print_stacktrace=1
export TSAN_OPTIONS=$every:halt_on_error=1
failed=0
tests/programs.sh "$build" || failed=1
export HALYARD_NATIVE_DIR=$PWD/$build
.venv/bin/python -m pytest tests/harness --junit-xml "$results/python.xml" || failed=1
if [ "$preset" = asan+ubsan ]; then
    # All programs of the device are sanitized ones. Left out are tests of adb and of the device
    # itself, which say nothing of the service, and most golden cases, which all ran on the host;
    # of those that are skipped, tests/device/conftest.py gives the reasons.
    .venv/bin/python -m pytest tests/device/test_binder.py tests/device/test_service.py \
        tests/device/test_hal_versions.py tests/device/test_robustness.py \
        tests/device/test_golden_cases.py::test_any_other_way \
        tests/device/test_attacks*.py tests/device/test_dying_clients.py \
        --junit-xml "$results/device.xml" || failed=1
fi
.venv/bin/python tests/summary.py "$results" "$build/results" || failed=1
# A test may not look at how a program that it started ended.
for finding in "$results"/finding.*; do
    if [ -e "$finding" ]; then
        cat "$finding"
        failed=1
    fi
done
exit "$failed"
