/* SPDX-License-Identifier: Apache-2.0
 *
 * Status codes, messages and shapes, shared by halyard/halyard.h, for programs that run graphs, and
 * halyard/backend.h, for libraries that are backends. Plain C. */

#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HALYARD_MAX_RANK 16
#define HALYARD_MESSAGE_SIZE 256

/* Status codes that functions return. Backends return those up to HALYARD_FAILED. */
enum {
    HALYARD_OK = 0,
    HALYARD_UNSUPPORTED = 1,        /* valid, but no backend here does it */
    HALYARD_INVALID_ARGUMENT = 2,   /* the caller broke a rule, or values with which a node can't be
                                       run: the same call fails again */
    HALYARD_RESOURCE_EXHAUSTED = 3, /* no memory, no descriptors */
    HALYARD_STOPPED = 4,            /* should_stop() said so, or the run was cancelled */
    HALYARD_FAILED = 5,             /* a defect, or a system call behind it failed */
    HALYARD_OUTPUT_TOO_SMALL = 6,   /* memory of the caller's is shorter than what goes there */
    HALYARD_DEADLINE_EXCEEDED = 7,
    HALYARD_UNAVAILABLE = 8 /* a device is not there, or is lost */
};
typedef int32_t halyard_status;

/* Why something went wrong, for people: text that ends with a zero, cut off where it is longer. */
typedef struct halyard_message {
    char text[HALYARD_MESSAGE_SIZE];
} halyard_message;

/* Extents, outermost first; those from `rank` on mean nothing. */
typedef struct halyard_shape {
    int32_t rank; /* -1: an input that was left out; of a tensor's type: not known */
    int32_t extents[HALYARD_MAX_RANK];
} halyard_shape;

#ifdef __cplusplus
}
#endif
