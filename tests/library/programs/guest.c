/* SPDX-License-Identifier: Apache-2.0 */

#include <stdlib.h>
#include <string.h>

#include "adding.h"

#define COUNT 100000

/* One run with a pool of two threads; 0 where all went well. */
__attribute__((visibility("default"))) int guest_run(void) {
    halyard_runtime_options options = {.struct_size = sizeof options, .threads = 2};
    halyard_runtime* runtime = NULL;
    halyard_program* program = NULL;
    halyard_execution* execution = NULL;
    halyard_graph* graph = adding(-1);
    float* const values = (float*)malloc(3 * COUNT * sizeof(float));
    for (int i = 0; i < 2 * COUNT; ++i) {
        values[i] = (float)(i % 100) - 50.0f;
    }
    const halyard_input inputs[2] = {input_of(values, COUNT), input_of(values + COUNT, COUNT)};
    halyard_output output = output_to(values + 2 * COUNT, COUNT);
    int wrong = halyard_runtime_create(&options, &runtime, NULL) != HALYARD_OK ||
                halyard_compile(runtime, graph, NULL, &program, NULL) != HALYARD_OK ||
                halyard_execution_create(program, &execution, NULL) != HALYARD_OK ||
                halyard_execution_run(execution, inputs, 2, &output, 1, NULL, NULL) != HALYARD_OK;
    for (int i = 0; !wrong && i < COUNT; ++i) {
        const float sum = values[i] + values[COUNT + i];
        wrong = values[2 * COUNT + i] != (sum > 0.0f ? sum : 0.0f);
    }
    halyard_runtime_release(runtime);
    halyard_graph_release(graph);
    halyard_program_release(program);
    halyard_execution_release(execution);
    free(values);
    return wrong;
}
