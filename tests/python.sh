#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# All Python tests, on the host and on virtual devices. These wait for a third of their time, so
# what is for arm64 is compiled beside them, with what they leave of the processors, and tested last:
# static programs, and those against a stand-in for an NDK, which clang compiles. With clang for this
# machine only the kernels are, as these name its instructions; the rest is left to `make clang`. Ends
# as pytest does, or 1 where one of these was not compiled.
#
# With HALYARD_TEST_SECONDS set no more is compiled once make has run for so long: on a slow machine
# whose cache is empty that would take longer than the tests. What is left out then is said.
# Usage: tests/python.sh MAKE PYTHON [PYTEST-OPTION...]
set -u
make=$1
python=$2
shift 2
mkdir -p build/results
log=build/beside.log

# A group of processes of its own, so that all of them end with this one.
set -m
HALYARD_BESIDE=1 nice -n 19 "$make" --no-print-directory arm64 stand-in clang \
    COMPILED=engine/backends/cpu >"$log" 2>&1 &
compiling=$!
set +m
trap 'kill -- -"$compiling" 2>/dev/null' EXIT
trap 'exit 130' INT TERM

tests/phase.sh "Python tests" \
    "$python" -m pytest tests --ignore tests/arm64 "$@" --junit-xml build/results/python.xml
code=$?

patience=infinity
if [ -n "${HALYARD_TEST_SECONDS:-}" ]; then
    patience=$((${HALYARD_MAKE%.*} + HALYARD_TEST_SECONDS - $(date +%s)))
    patience=$((patience > 0 ? patience : 1))
fi
late=build/beside.late
rm -f "$late"
tests/phase.sh "waiting for what is compiled beside them" \
    bash -c 'timeout "$0" tail --pid="$1" -f /dev/null || touch "$2"' \
    "$patience" "$compiling" "$late"
if [ -e "$late" ]; then
    kill -- -"$compiling"
    echo "No more is compiled after $HALYARD_TEST_SECONDS s (log: $log)"
    if [ ! -d build/arm64/device ]; then
        echo "LEFT OUT: the tests of arm64: make arm64 && pytest tests/arm64"
        exit "$code"
    fi
    echo "LEFT OUT: what clang compiles: make stand-in clang"
    # Tests look at all of its programs, or at none.
    [ -d build/stand-in/device ] || rm -rf build/stand-in
elif ! wait "$compiling"; then
    tail -60 "$log"
    echo "What is compiled beside the tests failed (log: $log)"
    exit 1
fi
tests/phase.sh "Python tests of arm64" \
    "$python" -m pytest tests/arm64 "$@" --junit-xml build/results/arm64.xml
emulated=$?

# 5: no test was asked for, which is right for one of the two.
if [ "$code" = 5 ] || { [ "$code" = 0 ] && [ "$emulated" != 5 ]; }; then
    code=$emulated
fi
exit "$code"
