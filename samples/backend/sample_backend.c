/* SPDX-License-Identifier: Apache-2.0
 *
 * A backend outside the engine: float32 ADD, MUL and RELU, with broadcasting. It shows what a
 * library has to do, and is as simple as that: one thread, nothing fused, no tiles. */

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "halyard/backend.h"
#include "samples/backend/graph_reader.h"

#define ALIGNMENT 64u
#define ELEMENTS_PER_CHECK (1 << 16)

/* ---- What it takes --------------------------------------------------------------------------- */

typedef enum function { FUNCTION_ADD, FUNCTION_MUL, FUNCTION_RELU } function;

/* Why a node is refused; null if it is not, and then `what` says what it computes. */
static const char* refusal(const graph* of, const node* each, function* what, int* clamps) {
    const text activation = field_of(each, "activation");
    const text name = field_of(each, "function");
    *clamps = text_is(activation, "RELU");
    if (text_is(each->kind, "Binary") && (text_is(name, "ADD") || text_is(name, "MUL"))) {
        *what = text_is(name, "ADD") ? FUNCTION_ADD : FUNCTION_MUL;
        if (!*clamps && !text_is(activation, "NONE")) {
            return "fuses no activation but RELU";
        }
        if (each->input_count != 2 || each->inputs[0] == NO_TENSOR ||
            each->inputs[1] == NO_TENSOR) {
            return "takes two inputs";
        }
    } else if (text_is(each->kind, "Activate") && text_is(name, "RELU")) {
        *what = FUNCTION_RELU;
        if (each->input_count != 1 || each->inputs[0] == NO_TENSOR) {
            return "takes one input";
        }
    } else {
        return "runs ADD, MUL and RELU only";
    }
    if (each->output_count != 1) {
        return "gives one output";
    }
    for (uint32_t i = 0; i < each->input_count; ++i) {
        if (!text_is(of->tensors[each->inputs[i]].type, "FLOAT32")) {
            return "takes FLOAT32 only";
        }
    }
    return text_is(of->tensors[each->outputs[0]].type, "FLOAT32") ? NULL : "gives FLOAT32 only";
}

static int32_t supports(void* self, halyard_bytes bytes, halyard_message* message) {
    (void)self;
    graph read;
    int32_t status = read_graph(bytes, &read, message);
    for (uint32_t i = 0; status == HALYARD_OK && i < read.node_count; ++i) {
        function what;
        int clamps;
        const char* reason = refusal(&read, &read.nodes[i], &what, &clamps);
        if (reason != NULL) {
            snprintf(message->text, sizeof(message->text), "%s", reason);
            status = HALYARD_UNSUPPORTED;
        }
    }
    free_graph(&read);
    return status;
}

/* ---- Partitions ------------------------------------------------------------------------------ */

typedef struct operation {
    function what;
    int clamps;
    uint32_t a;
    uint32_t b; /* as `a` where there is one input */
    uint32_t output;
} operation;

/* The partition's own copy of its graph: the bytes go with the call. */
typedef struct partition {
    graph read;        /* whose texts are not looked at any more */
    float** constants; /* per tensor; null for what is none */
    operation* operations;
} partition;

static void release_partition(void* self, void* handle) {
    (void)self;
    partition* of = handle;
    for (uint32_t i = 0; of->constants != NULL && i < of->read.tensor_count; ++i) {
        free(of->constants[i]);
    }
    free(of->constants);
    free(of->operations);
    free_graph(&of->read);
    free(of);
}

static int keep_constants(partition* into, halyard_bytes bytes) {
    into->constants = calloc(into->read.tensor_count + 1u, sizeof(float*));
    into->operations = calloc(into->read.node_count + 1u, sizeof(operation));
    if (into->constants == NULL || into->operations == NULL) {
        return 0;
    }
    for (uint32_t i = 0; i < into->read.tensor_count; ++i) {
        const tensor* each = &into->read.tensors[i];
        if (each->is_constant) {
            into->constants[i] = malloc(each->size > 0 ? each->size : 1);
            if (into->constants[i] == NULL) {
                return 0;
            }
            memcpy(into->constants[i], bytes.data + each->offset, each->size);
        }
    }
    return 1;
}

static int32_t compile(void* self, halyard_bytes bytes, void** handle, halyard_message* message) {
    partition* made = calloc(1, sizeof(partition));
    if (made == NULL) {
        return HALYARD_RESOURCE_EXHAUSTED;
    }
    int32_t status = read_graph(bytes, &made->read, message);
    if (status == HALYARD_OK && !keep_constants(made, bytes)) {
        status = HALYARD_RESOURCE_EXHAUSTED;
    }
    for (uint32_t i = 0; status == HALYARD_OK && i < made->read.node_count; ++i) {
        const node* each = &made->read.nodes[i];
        operation* into = &made->operations[i];
        const char* reason = refusal(&made->read, each, &into->what, &into->clamps);
        if (reason != NULL) {
            snprintf(message->text, sizeof(message->text), "%s", reason);
            status = HALYARD_UNSUPPORTED;
            break;
        }
        into->a = each->inputs[0];
        into->b = each->inputs[each->input_count - 1];
        into->output = each->outputs[0];
    }
    if (status != HALYARD_OK) {
        release_partition(self, made);
        return status;
    }
    *handle = made;
    return HALYARD_OK;
}

/* ---- Shapes ---------------------------------------------------------------------------------- */

#define IN_WORKSPACE 0
#define IN_INPUT 1
#define IN_OUTPUT 2
#define IN_CONSTANT 3

typedef struct place {
    halyard_shape shape;
    int where;
    size_t at; /* a byte of the workspace, or the number of the input or output */
} place;

typedef struct shaped {
    const partition* of;
    place* places; /* per tensor */
} shaped;

static void release_shaped(void* self, void* handle) {
    (void)self;
    shaped* of = handle;
    free(of->places);
    free(of);
}

static int64_t elements_of(const halyard_shape* shape) {
    int64_t count = 1;
    for (int32_t axis = 0; axis < shape->rank; ++axis) {
        count *= shape->extents[axis];
    }
    return count;
}

/* The extent of an axis, counted from the last of `rank`, where the shape has fewer. */
static int32_t extent_of(const halyard_shape* shape, int32_t rank, int32_t axis) {
    const int32_t own = axis - (rank - shape->rank);
    return own < 0 ? 1 : shape->extents[own];
}

/* Numpy's broadcast; 0 if there is none. */
static int broadcast(const halyard_shape* a, const halyard_shape* b, halyard_shape* to) {
    to->rank = a->rank > b->rank ? a->rank : b->rank;
    for (int32_t axis = 0; axis < to->rank; ++axis) {
        const int32_t x = extent_of(a, to->rank, axis);
        const int32_t y = extent_of(b, to->rank, axis);
        if (x != y && x != 1 && y != 1) {
            return 0;
        }
        to->extents[axis] = x == 1 ? y : x;
    }
    return 1;
}

static int32_t find_places(shaped* made, const halyard_shape* inputs, size_t input_count,
                           halyard_shape* outputs, size_t output_count, size_t* workspace_size) {
    const graph* read = &made->of->read;
    if (input_count != read->input_count || output_count != read->output_count) {
        return HALYARD_FAILED;
    }
    for (uint32_t i = 0; i < read->tensor_count; ++i) {
        const tensor* each = &read->tensors[i];
        place* into = &made->places[i];
        if (each->is_constant) {
            into->where = IN_CONSTANT;
            into->shape.rank = each->rank;
            memcpy(into->shape.extents, each->extents, sizeof(each->extents));
        }
    }
    for (uint32_t i = 0; i < input_count; ++i) {
        if (inputs[i].rank < 0) {
            return HALYARD_INVALID_ARGUMENT;
        }
        const place input = {inputs[i], IN_INPUT, i};
        made->places[read->inputs[i]] = input;
    }
    for (uint32_t i = 0; i < output_count; ++i) {
        made->places[read->outputs[i]].where = IN_OUTPUT;
        made->places[read->outputs[i]].at = i;
    }
    size_t used = 0;
    for (uint32_t i = 0; i < read->node_count; ++i) {
        const operation* each = &made->of->operations[i];
        place* into = &made->places[each->output];
        if (!broadcast(&made->places[each->a].shape, &made->places[each->b].shape, &into->shape)) {
            return HALYARD_INVALID_ARGUMENT;
        }
        if (into->where == IN_WORKSPACE) {
            into->at = used;
            used += ((size_t)elements_of(&into->shape) * sizeof(float) + ALIGNMENT - 1) /
                    ALIGNMENT * ALIGNMENT;
        }
    }
    for (uint32_t i = 0; i < output_count; ++i) {
        outputs[i] = made->places[read->outputs[i]].shape;
    }
    *workspace_size = used;
    return HALYARD_OK;
}

static int32_t specialize(void* self, const void* handle, const halyard_shape* inputs,
                          size_t input_count, halyard_shape* outputs, size_t output_count,
                          size_t* workspace_size, void** result, halyard_message* message) {
    (void)message;
    shaped* made = calloc(1, sizeof(shaped));
    if (made == NULL) {
        return HALYARD_RESOURCE_EXHAUSTED;
    }
    made->of = handle;
    made->places = calloc(made->of->read.tensor_count + 1u, sizeof(place));
    const int32_t status = made->places == NULL ? HALYARD_RESOURCE_EXHAUSTED
                                                : find_places(made, inputs, input_count, outputs,
                                                              output_count, workspace_size);
    if (status != HALYARD_OK) {
        release_shaped(self, made);
        return status;
    }
    *result = made;
    return HALYARD_OK;
}

/* ---- Running --------------------------------------------------------------------------------- */

static float* address_of(const shaped* of, uint32_t id, const halyard_run* run) {
    const place* at = &of->places[id];
    switch (at->where) {
        case IN_INPUT:
            return run->inputs[at->at].data;
        case IN_OUTPUT:
            return run->outputs[at->at].data;
        case IN_CONSTANT:
            return of->of->constants[id];
        default:
            return (float*)((char*)run->workspace + at->at);
    }
}

/* By how many elements one goes on along each axis of the result; 0 along those that repeat. */
static void steps_of(const halyard_shape* from, const halyard_shape* to, int64_t* steps) {
    int64_t step = 1;
    for (int32_t axis = to->rank; axis-- > 0;) {
        const int32_t extent = extent_of(from, to->rank, axis);
        steps[axis] = extent == 1 ? 0 : step;
        step *= extent;
    }
}

static float compute(const operation* of, float a, float b) {
    float result = of->what == FUNCTION_ADD ? a + b : of->what == FUNCTION_MUL ? a * b : a;
    if ((of->clamps || of->what == FUNCTION_RELU) && !(result > 0.0f) && !isnan(result)) {
        result = 0.0f;
    }
    return result;
}

static int32_t run_operation(const shaped* of, const operation* each, const halyard_run* run) {
    const halyard_shape* shape = &of->places[each->output].shape;
    int64_t steps_a[HALYARD_MAX_RANK];
    int64_t steps_b[HALYARD_MAX_RANK];
    steps_of(&of->places[each->a].shape, shape, steps_a);
    steps_of(&of->places[each->b].shape, shape, steps_b);
    const float* a = address_of(of, each->a, run);
    const float* b = address_of(of, each->b, run);
    float* output = address_of(of, each->output, run);
    const int64_t count = elements_of(shape);
    int32_t index[HALYARD_MAX_RANK] = {0};
    for (int64_t i = 0; i < count; ++i) {
        if (i % ELEMENTS_PER_CHECK == 0 && run->should_stop(run->context)) {
            return HALYARD_STOPPED;
        }
        output[i] = compute(each, *a, *b);
        for (int32_t axis = shape->rank; axis-- > 0;) {
            a += steps_a[axis];
            b += steps_b[axis];
            if (++index[axis] < shape->extents[axis]) {
                break;
            }
            a -= steps_a[axis] * index[axis];
            b -= steps_b[axis] * index[axis];
            index[axis] = 0;
        }
    }
    return HALYARD_OK;
}

static int32_t run_partition(void* self, const void* handle, void* state, const halyard_run* run,
                             halyard_message* message) {
    (void)self;
    (void)state;
    (void)message;
    const shaped* of = handle;
    int32_t status = HALYARD_OK;
    for (uint32_t i = 0; status == HALYARD_OK && i < of->of->read.node_count; ++i) {
        status = run_operation(of, &of->of->operations[i], run);
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------- */

static const halyard_backend kBackend = {
        .abi_version = HALYARD_BACKEND_ABI_VERSION,
        .struct_size = sizeof(halyard_backend),
        .name = "Sample",
        .self = NULL,
        .supports = supports,
        .compile = compile,
        .release_partition = release_partition,
        .specialize = specialize,
        .release_shaped = release_shaped,
        .run = run_partition,
};

__attribute__((visibility("default"))) const halyard_backend* halyard_backend_open(
        uint32_t abi_version);

const halyard_backend* halyard_backend_open(uint32_t abi_version) {
    return abi_version == HALYARD_BACKEND_ABI_VERSION ? &kBackend : NULL;
}
