/* SPDX-License-Identifier: Apache-2.0 */

#include "tests/fake_opencl/from_outside.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static char hang[PATH_MAX];
static char hanging[PATH_MAX];
static int counts = -1;

__attribute__((constructor)) static void look_beside_the_library(void) {
    Dl_info library;
    char path[PATH_MAX];
    if (dladdr(hang, &library) == 0) {
        return;
    }
    snprintf(path, sizeof path, "%s.counts", library.dli_fname);
    snprintf(hang, sizeof hang, "%s.hang", library.dli_fname);
    snprintf(hanging, sizeof hanging, "%s.hanging", library.dli_fname);
    counts = open(path, O_WRONLY | O_CLOEXEC);
}

bool fake_opencl_is_steered(void) {
    return counts >= 0;
}

void fake_opencl_hang_if_told(void) {
    /* Of several that try, one can rename it. */
    if (counts < 0 || rename(hang, hanging) != 0) {
        return;
    }
    while (access(hanging, F_OK) == 0) {
        const struct timespec moment = {.tv_sec = 0, .tv_nsec = 10 * 1000 * 1000};
        nanosleep(&moment, NULL);
    }
}

void fake_opencl_tell_counts(int alive, int pending, int misused, int launched) {
    if (counts < 0) {
        return;
    }
    /* Always as long as before, so that nothing is left of what was there. */
    char text[64];
    const int length =
            snprintf(text, sizeof text, "%11d %11d %11d %11d\n", alive, pending, misused, launched);
    if (pwrite(counts, text, (size_t)length, 0) != length) {
        perror("fake_opencl: its counts");
    }
}
