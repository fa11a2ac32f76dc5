/* SPDX-License-Identifier: Apache-2.0
 *
 *   cycles GUEST COUNT
 *
 * Loads a library that runs a graph, and unloads it, so many times. Threads, descriptors, mappings
 * and what the heap has in use are then what they were after the first few; libhalyard.so is mapped
 * no longer. What malloc keeps for each thread counts as in use: GLIBC_TUNABLES has to turn that
 * off. */

#include <dirent.h>
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "claims.h"

#define WARM_UP 5

typedef struct counts {
    int threads;
    int descriptors;
    int mappings;
    int of_library;
    size_t heap;
} counts;

static int entries_of(const char* path) {
    int count = 0;
    DIR* const folder = opendir(path);
    while (folder != NULL && readdir(folder) != NULL) {
        ++count;
    }
    closedir(folder);
    return count;
}

static counts count_all(void) {
    counts found = {.threads = entries_of("/proc/self/task"),
                    .descriptors = entries_of("/proc/self/fd"),
                    .heap = mallinfo2().uordblks};
    char line[4096];
    FILE* const maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        ++found.mappings;
        found.of_library += strstr(line, "libhalyard") != NULL;
    }
    fclose(maps);
    return found;
}

static void cycle(const char* path) {
    void* const guest = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (guest == NULL) {
        claim(0, "the guest loads", dlerror(), __LINE__);
        exit(1);
    }
    int (*run)(void);
    *(void**)&run = dlsym(guest, "guest_run");
    CLAIM(run() == 0);
    CLAIM(dlclose(guest) == 0);
}

int main(int argc, char** argv) {
    if (argc != 3) {
        return 2;
    }
    const int count = atoi(argv[2]);
    for (int i = 0; i < WARM_UP; ++i) {
        cycle(argv[1]);
    }
    const counts before = count_all();
    for (int i = 0; i < count; ++i) {
        cycle(argv[1]);
    }
    const counts after = count_all();
    CLAIM(before.of_library == 0);
    CLAIM(before.threads == after.threads);
    CLAIM(before.descriptors == after.descriptors);
    /* Valgrind's own are among them, which come and go with what it translates. */
    const char* const preloaded = getenv("LD_PRELOAD");
    const int under_valgrind = preloaded != NULL && strstr(preloaded, "vgpreload") != NULL;
    CLAIM(under_valgrind || before.mappings == after.mappings);
    CLAIM(after.heap == before.heap);
    printf("threads %d, descriptors %d, mappings %d, heap %zu then %zu\n", after.threads,
           after.descriptors, after.mappings, before.heap, after.heap);
    return claims_failed;
}
