/* SPDX-License-Identifier: Apache-2.0
 *
 * A shared library is a backend if it exports halyard_backend_open(). Plain C; nothing else of the
 * engine is needed to write one (docs/backends.md, samples/backend).
 *
 * The library is asked about graphs of one node each, compiles partitions of the nodes it said it
 * supports, finishes them, makes each ready for one set of input shapes, makes a state for each
 * execution, and runs it. A graph comes as the bytes that docs/backends.md describes, with the
 * constants in them; they last for the call only. Tensors are dense and row-major.
 *
 * All functions may be called from several threads at once, also with the same objects. None may
 * end the process or let an exception out. Numbers and shapes that the library gives are checked;
 * its code is not: it runs in the engine's process with all of its rights. */

#pragma once

#include <stddef.h>
#include <stdint.h>

#include "halyard/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Changes whenever anything here does. Functions that return int32_t return a halyard_status, up to
 * HALYARD_FAILED; a message is empty on entry. */
#define HALYARD_BACKEND_ABI_VERSION 3u

typedef struct halyard_bytes {
    const uint8_t* data; /* at a multiple of 64 */
    size_t size;
} halyard_bytes;

typedef struct halyard_tensor {
    void* data;  /* of an input: read only. Aligned to the element; null if it was left out */
    size_t size; /* in bytes */
    halyard_shape shape;
    int64_t strides[HALYARD_MAX_RANK]; /* in bytes */
} halyard_tensor;

/* Services of the engine that the library may call while finish() or make_state() lasts. */
typedef struct halyard_resources {
    /* Not 0: return HALYARD_STOPPED. To be called every few milliseconds. */
    int32_t (*should_stop)(void* context);
    /* Before the library allocates what it keeps: counts so many bytes for the client whose model
     * it is, until the partition or the state is released. HALYARD_RESOURCE_EXHAUSTED: there are no
     * more, and that is what to return. */
    int32_t (*reserve)(void* context, size_t bytes);
    /* The same for memory that is not the processor's. */
    int32_t (*reserve_on_device)(void* context, size_t bytes);
    void* context;
} halyard_resources;

/* Memory for one run. Inputs and outputs are in the order of the graph's. */
typedef struct halyard_run {
    const halyard_tensor* inputs;
    size_t input_count;
    const halyard_tensor* outputs;
    size_t output_count;
    void* workspace; /* as many bytes as were asked for, at a multiple of 64; undefined on entry */
    size_t workspace_size;
    /* Not 0: return HALYARD_STOPPED. To be called every few milliseconds. */
    int32_t (*should_stop)(void* context);
    void* context;
} halyard_run;

typedef struct halyard_backend {
    uint32_t abi_version; /* HALYARD_BACKEND_ABI_VERSION */
    uint32_t struct_size; /* sizeof(halyard_backend) */
    /* The backend's name for users: up to 32 letters, digits, '-' and '_', a letter first. */
    const char* name;
    void* self; /* given to the functions below */

    /* HALYARD_OK if it runs the one node of this graph, whatever it is surrounded by;
     * HALYARD_UNSUPPORTED with a reason that fits after "<name> ": "takes no INT32". Shapes may be
     * unknown yet, and come with specialize(). Never asked about nodes whose output shapes depend
     * on what a run computes, or about control flow. */
    int32_t (*supports)(void* self, halyard_bytes graph, halyard_message* message);

    /* Makes `*partition` of a graph whose every node it supports. */
    int32_t (*compile)(void* self, halyard_bytes graph, void** partition, halyard_message* message);
    void (*release_partition)(void* self, void* partition);

    /* May be null. Once for each partition, before all that follows: what takes long or much
     * memory, and may fail, a program that is built for a device for one. */
    int32_t (*finish)(void* self, void* partition, const halyard_resources* resources,
                      halyard_message* message);

    /* Makes `*shaped` of a partition, which outlives it, for inputs of these shapes. Writes the
     * shapes of all outputs, and how many bytes of workspace a run needs. */
    int32_t (*specialize)(void* self, const void* partition, const halyard_shape* inputs,
                          size_t input_count, halyard_shape* outputs, size_t output_count,
                          size_t* workspace_size, void** shaped, halyard_message* message);
    void (*release_shaped)(void* self, void* shaped);

    /* Both or neither may be null. Makes `*state` of one execution of the partition, which outlives
     * it: a queue, buffers. Runs with one state come one after the other. */
    int32_t (*make_state)(void* self, const void* partition, const halyard_resources* resources,
                          void** state, halyard_message* message);
    void (*release_state)(void* self, void* state);

    /* Returns when the outputs are there. `state`: as make_state() made it, or null. */
    int32_t (*run)(void* self, const void* shaped, void* state, const halyard_run* run,
                   halyard_message* message);
} halyard_backend;

/* The one symbol that a library exports. Gets the engine's version of this header; what it returns
 * stays as it is while the library is loaded. Null: it can't work here. */
#define HALYARD_BACKEND_ENTRY "halyard_backend_open"
typedef const halyard_backend* (*halyard_backend_open_function)(uint32_t abi_version);

#ifdef __cplusplus
}
#endif
