/* SPDX-License-Identifier: Apache-2.0 */
/* What bionic's calls. It may be included again, with NDEBUG or without. */
#include_next <assert.h>
#include <sys/cdefs.h>
__BEGIN_DECLS
void __assert2(const char* file, int line, const char* function, const char* condition)
        __attribute__((__noreturn__));
__END_DECLS
#ifndef NDEBUG
#undef assert
#define assert(condition) \
    ((condition) ? (void)0 : __assert2(__FILE__, __LINE__, __func__, #condition))
#endif
