/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph for tests in C: sum = RELU(a + b), floats of one list each, whose length is not known
 * before a run, or is `extent`. */

#pragma once

#include <string.h>

#include "halyard/halyard.h"

static inline halyard_tensor_options list_of_floats(int32_t extent, const char* name) {
    halyard_tensor_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.type = "FLOAT32";
    options.shape.rank = 1;
    options.shape.extents[0] = extent;
    options.name = name;
    return options;
}

/* Null where it fails. */
static inline halyard_graph* adding(int32_t extent) {
    halyard_graph* graph = NULL;
    uint32_t ids[3] = {0, 0, 0};
    const char* const names[3] = {"a", "b", "sum"};
    halyard_attribute relu;
    halyard_node node;
    int ok = halyard_graph_create(&graph, NULL) == HALYARD_OK;
    for (int i = 0; ok && i < 3; ++i) {
        const halyard_tensor_options options = list_of_floats(extent, names[i]);
        ok = halyard_graph_add_tensor(graph, &options, &ids[i], NULL) == HALYARD_OK;
    }
    memset(&relu, 0, sizeof relu);
    memset(&node, 0, sizeof node);
    relu.name = "activation";
    relu.kind = HALYARD_WORD;
    relu.word = "RELU";
    node.struct_size = sizeof node;
    node.kind = "Binary";
    node.attributes = &relu;
    node.attribute_count = 1;
    node.inputs = ids;
    node.input_count = 2;
    node.outputs = &ids[2];
    node.output_count = 1;
    node.label = "addition";
    ok = ok && halyard_graph_add_node(graph, &node, NULL) == HALYARD_OK &&
         halyard_graph_set_inputs(graph, ids, 2, NULL) == HALYARD_OK &&
         halyard_graph_set_outputs(graph, &ids[2], 1, NULL) == HALYARD_OK;
    if (!ok) {
        halyard_graph_release(graph);
        graph = NULL;
    }
    return graph;
}

static inline halyard_input input_of(const float* data, int32_t count) {
    halyard_input input;
    memset(&input, 0, sizeof input);
    input.data = data;
    input.size = (size_t)count * sizeof *data;
    input.shape.rank = 1;
    input.shape.extents[0] = count;
    return input;
}

static inline halyard_output output_to(float* data, size_t count) {
    halyard_output output;
    memset(&output, 0, sizeof output);
    output.data = data;
    output.capacity = count * sizeof *data;
    return output;
}
