# SPDX-License-Identifier: Apache-2.0
#
# What lies in place of the toolchain file of an NDK in a stand-in for one (stand_in_ndk.py). It takes
# the variables that the build gives an NDK's, and sets those that the build reads.

set(CMAKE_SYSTEM_NAME Android)
# So CMake leaves it all to this file, as it does with an NDK's own.
set(CMAKE_SYSTEM_VERSION 1)
set(ANDROID TRUE)

string(REGEX REPLACE "^android-" "" ANDROID_PLATFORM_LEVEL "${ANDROID_PLATFORM}")
if(NOT ANDROID_PLATFORM_LEVEL MATCHES "^[0-9]+$")
  message(FATAL_ERROR "ANDROID_PLATFORM is android-LEVEL, not \"${ANDROID_PLATFORM}\"")
endif()
if(NOT ANDROID_STL STREQUAL "c++_static")
  message(FATAL_ERROR "ANDROID_STL: this stand-in has c++_static alone, not \"${ANDROID_STL}\"")
endif()
if(ANDROID_ABI STREQUAL "arm64-v8a")
  set(CMAKE_SYSTEM_PROCESSOR aarch64)
elseif(ANDROID_ABI STREQUAL "x86_64")
  set(CMAKE_SYSTEM_PROCESSOR x86_64)
else()
  message(FATAL_ERROR "ANDROID_ABI: this stand-in has arm64-v8a and x86_64, not \"${ANDROID_ABI}\"")
endif()
# Files that CMake makes to try the compiler read this file anew.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ANDROID_PLATFORM ANDROID_STL ANDROID_ABI)

get_filename_component(ndk ${CMAKE_CURRENT_LIST_DIR}/../.. ABSOLUTE)
set(target ${CMAKE_SYSTEM_PROCESSOR}-linux-android)
set(CMAKE_SYSROOT ${ndk}/sysroot)
foreach(language C CXX)
  set(CMAKE_${language}_COMPILER_TARGET ${target}${ANDROID_PLATFORM_LEVEL})
endforeach()
set(CMAKE_C_COMPILER clang-19)
set(CMAKE_CXX_COMPILER clang++-19)
set(CMAKE_AR llvm-ar-19 CACHE FILEPATH "")
set(CMAKE_RANLIB llvm-ranlib-19 CACHE FILEPATH "")
set(CMAKE_STRIP llvm-strip-19 CACHE FILEPATH "")
set(CMAKE_C_FLAGS_INIT "-resource-dir=${ndk}/resources")
set(CMAKE_CXX_FLAGS_INIT "${CMAKE_C_FLAGS_INIT} -stdlib=libc++")
set(CMAKE_C_STANDARD_INCLUDE_DIRECTORIES ${CMAKE_SYSROOT}/usr/include/bionic)
set(CMAKE_CXX_STANDARD_INCLUDE_DIRECTORIES ${CMAKE_SYSROOT}/usr/include/bionic)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-fuse-ld=lld-19 -rtlib=compiler-rt -unwindlib=libunwind \
-static-libstdc++ -Wl,--no-undefined")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "${CMAKE_EXE_LINKER_FLAGS_INIT}")
set(CMAKE_MODULE_LINKER_FLAGS_INIT "${CMAKE_EXE_LINKER_FLAGS_INIT}")
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

set(CMAKE_FIND_ROOT_PATH ${CMAKE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
