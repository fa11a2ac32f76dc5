/* SPDX-License-Identifier: Apache-2.0 */
/* Where bionic has the number of the last error. */
#pragma once
#include_next <errno.h>
#include <sys/cdefs.h>
#undef errno
__BEGIN_DECLS
int* __errno(void) __attribute__((__const__));
__END_DECLS
#define errno (*__errno())
