/* SPDX-License-Identifier: Apache-2.0 */
/* What bionic has and musl lacks. */
#pragma once
#include_next <pthread.h>
#include <sys/cdefs.h>
__BEGIN_DECLS
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* until);
__END_DECLS
