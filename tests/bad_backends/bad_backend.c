/* SPDX-License-Identifier: Apache-2.0
 *
 * Libraries that do one thing wrong each, as a macro says: what the engine has to see through. Else
 * they take every node, and compute nothing. */

#include <stdint.h>
#include <string.h>

#include "halyard/backend.h"

static int a_thing;

static void fill(halyard_message* message, const char* text) {
    strncpy(message->text, text, sizeof(message->text) - 1);
}

static int32_t supports(void* self, halyard_bytes graph, halyard_message* message) {
    (void)self;
    (void)graph;
    (void)message;
#if defined(ANSWERS_RUBBISH)
    return 4711;
#elif defined(TALKS_WITHOUT_END)
    memset(message->text, 'x', sizeof(message->text));
    message->text[0] = '\n';
    return HALYARD_UNSUPPORTED;
#else
    return HALYARD_OK;
#endif
}

static int32_t compile(void* self, halyard_bytes graph, void** partition,
                       halyard_message* message) {
    (void)self;
    (void)graph;
    (void)partition;
    (void)message;
#if !defined(COMPILES_NOTHING)
    *partition = &a_thing;
#endif
    return HALYARD_OK;
}

static void release(void* self, void* thing) {
    (void)self;
    (void)thing;
}

static int32_t specialize(void* self, const void* partition, const halyard_shape* inputs,
                          size_t input_count, halyard_shape* outputs, size_t output_count,
                          size_t* workspace_size, void** shaped, halyard_message* message) {
    (void)self;
    (void)partition;
    (void)input_count;
    (void)message;
    for (size_t i = 0; i < output_count; ++i) {
        outputs[i] = inputs[0];
#if defined(GIVES_WRONG_SHAPES)
        outputs[i].rank = 1000;
#elif defined(GIVES_WRONG_EXTENTS)
        outputs[i].extents[0] += 1;
#endif
    }
#if defined(WANTS_ALL_MEMORY)
    *workspace_size = SIZE_MAX;
#else
    *workspace_size = 0;
#endif
    *shaped = &a_thing;
    return HALYARD_OK;
}

/* Memory that the engine lends has to count. */
static int32_t take(const halyard_resources* resources, size_t bytes, size_t on_device) {
    if (resources->should_stop(resources->context)) {
        return HALYARD_STOPPED;
    }
    const int32_t status = resources->reserve(resources->context, bytes);
    return status != HALYARD_OK ? status
                                : resources->reserve_on_device(resources->context, on_device);
}

static int32_t finish(void* self, void* partition, const halyard_resources* resources,
                      halyard_message* message) {
    (void)self;
    (void)partition;
#if defined(FAILS_TO_FINISH)
    (void)take, (void)resources;
    fill(message, "has burnt its programs");
    return HALYARD_FAILED;
#else
    (void)message;
    return take(resources, 1000, 100);
#endif
}

static int32_t make_state(void* self, const void* partition, const halyard_resources* resources,
                          void** state, halyard_message* message) {
    (void)self;
    (void)partition;
    (void)message;
#if defined(MAKES_NO_STATE)
    (void)state;
#else
    *state = &a_thing;
#endif
    return take(resources, 10, 1);
}

static int32_t run(void* self, const void* shaped, void* state, const halyard_run* arguments,
                   halyard_message* message) {
    (void)self;
    (void)shaped;
    (void)arguments;
    if (state != &a_thing) {
        fill(message, "was given another state than it made");
        return HALYARD_FAILED;
    }
#if defined(STOPS_UNASKED)
    (void)message;
    return HALYARD_STOPPED;
#elif defined(FAILS_TO_RUN)
    fill(message, "is out of order");
    return HALYARD_FAILED;
#else
    fill(message, "");
    return HALYARD_OK;
#endif
}

static const halyard_backend kBackend = {
#if defined(IS_OF_A_WRONG_VERSION)
        .abi_version = HALYARD_BACKEND_ABI_VERSION + 6,
#else
        .abi_version = HALYARD_BACKEND_ABI_VERSION,
#endif
#if defined(HAS_A_WRONG_SIZE)
        .struct_size = 8,
#else
        .struct_size = sizeof(halyard_backend),
#endif
#if defined(IS_CALLED_LIKE_A_PATH)
        .name = "../CpuRef",
#elif defined(IS_CALLED_CPUREF)
        .name = "CpuRef",
#elif defined(HAS_NO_NAME)
        .name = NULL,
#else
        .name = "Bad",
#endif
        .self = NULL,
        .supports = supports,
        .compile = compile,
        .release_partition = release,
        .finish = finish,
        .make_state = make_state,
#if !defined(KEEPS_ITS_STATES)
        .release_state = release,
#endif
#if !defined(LACKS_A_FUNCTION)
        .specialize = specialize,
#endif
        .release_shaped = release,
        .run = run,
};

#if defined(HAS_NO_ENTRY)
#define ENTRY another_name
#else
#define ENTRY halyard_backend_open
#endif

__attribute__((visibility("default"))) const halyard_backend* ENTRY(uint32_t abi_version);

const halyard_backend* ENTRY(uint32_t abi_version) {
    (void)abi_version;
    (void)specialize;
    (void)fill;
#if defined(CANT_WORK_HERE)
    (void)kBackend;
    return NULL;
#else
    return &kBackend;
#endif
}
