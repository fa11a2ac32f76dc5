/* SPDX-License-Identifier: Apache-2.0 */
/* Of bionic's allocator: what musl's lacks. */
#pragma once
#include_next <malloc.h>
#include <sys/cdefs.h>
#define M_DECAY_TIME (-100)
#define M_PURGE (-101)
struct mallinfo {
    size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
__BEGIN_DECLS
struct mallinfo mallinfo(void);
int mallopt(int option, int value);
__END_DECLS
