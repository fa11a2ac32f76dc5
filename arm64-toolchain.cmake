# SPDX-License-Identifier: Apache-2.0
#
# Cross builds for arm64 devices: Debian's compiler, and Debian's arm64 libraries as `make arm64`
# unpacks them. Programs are static, so that a device needs no library of theirs.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_STRIP aarch64-linux-gnu-strip)

set(CMAKE_FIND_ROOT_PATH ${CMAKE_CURRENT_LIST_DIR}/build/sysroot-arm64)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)

# At addresses of the kernel's choosing, as Android wants programs to be.
set(CMAKE_EXE_LINKER_FLAGS_INIT -static-pie)

# The emulator that runs the tests here. QEMU_CPU says on which processor; left out: one with every
# extension.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static)
