/* SPDX-License-Identifier: Apache-2.0 */
/* What protobuf and the support library need of liblog. */
#pragma once
#include <sys/cdefs.h>
enum {
    ANDROID_LOG_VERBOSE = 2,
    ANDROID_LOG_DEBUG,
    ANDROID_LOG_INFO,
    ANDROID_LOG_WARN,
    ANDROID_LOG_ERROR,
    ANDROID_LOG_FATAL
};
__BEGIN_DECLS
int __android_log_write(int priority, const char* tag, const char* text);
__END_DECLS
