/* SPDX-License-Identifier: Apache-2.0
 *
 * A quantized convolution in plain C: an 8-bit image of one row, two 1x1 filters with a scale each.
 *
 *   convolve A B C
 *
 * prints the two channels of each of the three pixels, which are 0 to 255. Ends with 1 where
 * something fails, and says what. */

#include <stdio.h>
#include <stdlib.h>

#include "halyard/halyard.h"

#define PIXELS 3
#define CHANNELS 2

static halyard_message message;

/* Ends the program where something failed. */
static void require(halyard_status status) {
    if (status != HALYARD_OK) {
        fprintf(stderr, "convolve: %s: %s\n", halyard_status_name(status), message.text);
        exit(1);
    }
}

static void print_line(void* context, int32_t level, const char* line) {
    (void)level;
    fprintf((FILE*)context, "%s\n", line);
}

static halyard_graph* make_graph(void) {
    static const float filter_scales[CHANNELS] = {0.5f, 0.25f};
    static const int8_t filter[CHANNELS] = {2, -4};
    static const int32_t bias[CHANNELS] = {0, 40};

    halyard_graph* graph = NULL;
    require(halyard_graph_create(&graph, &message));
    halyard_tensor_options image = {
            .struct_size = sizeof image,
            .type = "QUANT8_ASYMM",
            .shape = {.rank = 4, .extents = {1, 1, PIXELS, 1}},
            .scale = 1.0f,
            .name = "image",
    };
    halyard_tensor_options filters = {
            .struct_size = sizeof filters,
            .type = "QUANT8_SYMM_PER_CHANNEL",
            .shape = {.rank = 4, .extents = {CHANNELS, 1, 1, 1}},
            .channel_scales = filter_scales,
            .channel_scale_count = CHANNELS,
            .channel_dim = 0,
    };
    halyard_tensor_options biases = {
            .struct_size = sizeof biases,
            .type = "INT32",
            .shape = {.rank = 1, .extents = {CHANNELS}},
    };
    halyard_tensor_options result = image;
    result.shape.extents[3] = CHANNELS;
    result.name = "result";
    halyard_constant filter_bytes = {
            .struct_size = sizeof filter_bytes, .data = filter, .size = sizeof filter};
    halyard_constant bias_bytes = {
            .struct_size = sizeof bias_bytes, .data = bias, .size = sizeof bias};

    uint32_t inputs[3];
    uint32_t output;
    require(halyard_graph_add_tensor(graph, &image, &inputs[0], &message));
    require(halyard_graph_add_constant(graph, &filters, &filter_bytes, &inputs[1], &message));
    require(halyard_graph_add_constant(graph, &biases, &bias_bytes, &inputs[2], &message));
    require(halyard_graph_add_tensor(graph, &result, &output, &message));
    halyard_attribute relu = {.name = "activation", .kind = HALYARD_WORD, .word = "RELU"};
    halyard_node node = {
            .struct_size = sizeof node,
            .kind = "Conv2d",
            .attributes = &relu,
            .attribute_count = 1,
            .inputs = inputs,
            .input_count = 3,
            .outputs = &output,
            .output_count = 1,
            .label = "convolution",
    };
    require(halyard_graph_add_node(graph, &node, &message));
    require(halyard_graph_set_inputs(graph, inputs, 1, &message));
    require(halyard_graph_set_outputs(graph, &output, 1, &message));
    return graph;
}

int main(int argc, char** argv) {
    if (argc != 1 + PIXELS) {
        fprintf(stderr, "usage: convolve A B C\n");
        return 2;
    }
    uint8_t pixels[PIXELS];
    for (int i = 0; i < PIXELS; ++i) {
        pixels[i] = (uint8_t)atoi(argv[1 + i]);
    }

    halyard_runtime_options options = {
            .struct_size = sizeof options,
            .backends = "CpuAcc",
            .log = print_line,
            .log_context = stderr,
            .log_level = HALYARD_LOG_WARNING,
    };
    halyard_runtime* runtime = NULL;
    halyard_program* program = NULL;
    halyard_execution* execution = NULL;
    require(halyard_runtime_create(&options, &runtime, &message));
    halyard_graph* graph = make_graph();
    require(halyard_compile(runtime, graph, NULL, &program, &message));
    require(halyard_execution_create(program, &execution, &message));
    /* Each handle keeps what it was made of. */
    halyard_graph_release(graph);
    halyard_program_release(program);
    halyard_runtime_release(runtime);

    uint8_t results[PIXELS * CHANNELS];
    halyard_input input = {
            .data = pixels,
            .size = sizeof pixels,
            .shape = {.rank = 4, .extents = {1, 1, PIXELS, 1}},
    };
    halyard_output output = {.data = results, .capacity = sizeof results};
    require(halyard_execution_run(execution, &input, 1, &output, 1, NULL, &message));
    for (size_t i = 0; i < output.size; ++i) {
        printf(i + 1 < output.size ? "%d " : "%d\n", results[i]);
    }
    halyard_execution_release(execution);
    return 0;
}
