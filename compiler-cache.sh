#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a compiler through ccache. A precompiled header has up to 200 MB, which ccache would read for
# each file that uses it: a checksum beside it stands for it. The compiler tells what a compilation
# depends on: where the cache has nothing, which is everywhere on a machine that builds for the first
# time, no file is preprocessed only to look it up. Ends as the compiler does.
# Usage: compiler-cache.sh CCACHE COMPILER [ARGUMENT...]
set -eu
CCACHE_DEPEND=1 CCACHE_PCH_EXTSUM=1 CCACHE_SLOPPINESS=pch_defines,time_macros "$@"
output=
for word; do
    case $output in -o) output=$word && break ;; esac
    case $word in -o) output=$word ;; esac
done
case $output in *.gch | *.pch) b2sum <"$output" >"$output.sum" ;; esac
