/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that break the rules: each is refused with an error that names what is wrong, and what was
 * made before works on. */

#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "adding.h"
#include "claims.h"

#define CLAIM_INVALID(call, words) CLAIM_REFUSAL(call, HALYARD_INVALID_ARGUMENT, words)
#define CLAIM_UNSUPPORTED(call, words) CLAIM_REFUSAL(call, HALYARD_UNSUPPORTED, words)

static void refuses_options_of_runtimes(void) {
    halyard_runtime* runtime = NULL;
    halyard_runtime_options options = {.struct_size = sizeof options};
    CLAIM_INVALID(halyard_runtime_create(&options, NULL, &message), "runtime is null");
    options.struct_size = 3;
    CLAIM_INVALID(halyard_runtime_create(&options, &runtime, &message), "struct_size is 3");
    options.struct_size = UINT32_MAX;
    CLAIM_INVALID(halyard_runtime_create(&options, &runtime, &message), "struct_size");
    /* A caller of a later version, which asks for nothing new, and for something. */
    struct {
        halyard_runtime_options known;
        uint64_t later[4];
    } larger = {.known = {.struct_size = sizeof larger}};
    CLAIM_OK(halyard_runtime_create(&larger.known, &runtime, &message));
    halyard_runtime_release(runtime);
    larger.later[1] = 1;
    CLAIM_UNSUPPORTED(halyard_runtime_create(&larger.known, &runtime, &message), "does not know");

    options = (halyard_runtime_options){.struct_size = sizeof options, .backends = "Gpu"};
    CLAIM_INVALID(halyard_runtime_create(&options, &runtime, &message), "\"Gpu\"");
    options.backends = "CpuAcc:speed=9";
    CLAIM_INVALID(halyard_runtime_create(&options, &runtime, &message), "no option speed");
    options.backends = "CpuAcc,";
    CLAIM_INVALID(halyard_runtime_create(&options, &runtime, &message), "behind the last ','");
    options.backends = ",";
    CLAIM_INVALID(halyard_runtime_create(&options, &runtime, &message), "there is no name");
    options.backends = NULL;
    options.backend_directory = "not/absolute";
    CLAIM_INVALID(halyard_runtime_create(&options, &runtime, &message), "absolute");
    options.backend_directory = NULL;
    options.permissions = 1u << 31;
    CLAIM_UNSUPPORTED(halyard_runtime_create(&options, &runtime, &message), "permissions");
    options.permissions = 0;
    options.threads = 5000;
    CLAIM_INVALID(halyard_runtime_create(&options, &runtime, &message), "threads is 5000");
    options.threads = 0;
    options.log_level = -1;
    CLAIM_INVALID(halyard_runtime_create(&options, &runtime, &message), "log_level is -1");
    options.log_level = 0;
    halyard_executor executor = {.threads = 4};
    options.executor = &executor;
    CLAIM_INVALID(halyard_runtime_create(&options, &runtime, &message), "no function");
}

static void refuses_tensors(halyard_graph* graph) {
    uint32_t id = 77;
    halyard_tensor_options options = list_of_floats(4, "x");
    CLAIM_INVALID(halyard_graph_add_tensor(NULL, &options, &id, &message), "graph is null");
    CLAIM_INVALID(halyard_graph_add_tensor(graph, NULL, &id, &message), "options is null");
    CLAIM_INVALID(halyard_graph_add_tensor(graph, &options, NULL, &message), "tensor is null");
    options.type = NULL;
    CLAIM_INVALID(halyard_graph_add_tensor(graph, &options, &id, &message), "type is null");
    options.type = "FLOAT31";
    CLAIM_UNSUPPORTED(halyard_graph_add_tensor(graph, &options, &id, &message), "\"FLOAT31\"");
    options = list_of_floats(-2, "x");
    CLAIM_INVALID(halyard_graph_add_tensor(graph, &options, &id, &message), "(x)");
    options.shape.rank = 17;
    CLAIM_INVALID(halyard_graph_add_tensor(graph, &options, &id, &message), "rank 17");
    options.shape.rank = -7;
    CLAIM_INVALID(halyard_graph_add_tensor(graph, &options, &id, &message), "rank -7");
    options = list_of_floats(4, "x");
    options.channel_scale_count = 3;
    CLAIM_INVALID(halyard_graph_add_tensor(graph, &options, &id, &message),
                  "channel_scales is null");
    const float scale = 1.0f;
    options.channel_scales = &scale;
    options.channel_scale_count = SIZE_MAX;
    CLAIM_INVALID(halyard_graph_add_tensor(graph, &options, &id, &message), "channel_scales has");

    const float four[4] = {1, 2, 3, 4};
    halyard_constant constant = {.struct_size = sizeof constant, .data = four, .size = 12};
    options = list_of_floats(4, "w");
    CLAIM_INVALID(halyard_graph_add_constant(graph, &options, NULL, &id, &message),
                  "the constant is null");
    CLAIM_INVALID(halyard_graph_add_constant(graph, &options, &constant, &id, &message), "(w)");
    constant.data = NULL;
    CLAIM_INVALID(halyard_graph_add_constant(graph, &options, &constant, &id, &message),
                  "data is null");
    options.shape.extents[0] = -1;
    constant.data = four;
    CLAIM_INVALID(halyard_graph_add_constant(graph, &options, &constant, &id, &message),
                  "has to be known");
    options.shape = (halyard_shape){.rank = 2, .extents = {INT32_MAX, INT32_MAX}};
    constant.size = SIZE_MAX / 2;
    CLAIM(halyard_graph_add_constant(graph, &options, &constant, &id, NULL) != HALYARD_OK);
    CLAIM(id == 77);
}

static void refuses_nodes(halyard_graph* graph) {
    const uint32_t ids[3] = {0, 1, 2};
    halyard_node node = {.struct_size = sizeof node,
                         .kind = "Softmax",
                         .inputs = ids,
                         .input_count = 1,
                         .outputs = ids + 2,
                         .output_count = 1,
                         .label = "last"};
    CLAIM_INVALID(halyard_graph_add_node(graph, NULL, &message), "the node is null");
    CLAIM_INVALID(halyard_graph_add_node(NULL, &node, &message), "graph is null");
    node.kind = NULL;
    CLAIM_INVALID(halyard_graph_add_node(graph, &node, &message), "last: kind is null");
    node.kind = "Softmaks";
    CLAIM_UNSUPPORTED(halyard_graph_add_node(graph, &node, &message), "last: there is no kind");
    node.kind = "Softmax";
    node.attribute_count = 1;
    CLAIM_INVALID(halyard_graph_add_node(graph, &node, &message), "attributes is null");
    halyard_attribute attributes[2] = {{.name = NULL}, {.name = "beta", .kind = HALYARD_REAL}};
    node.attributes = attributes;
    CLAIM_INVALID(halyard_graph_add_node(graph, &node, &message), "name of attribute 0 is null");
    attributes[0].name = "gamma";
    CLAIM_INVALID(halyard_graph_add_node(graph, &node, &message), "there are beta, axis");
    attributes[0] = (halyard_attribute){.name = "axis", .kind = HALYARD_WORD, .word = "last"};
    CLAIM_INVALID(halyard_graph_add_node(graph, &node, &message),
                  "Softmax's axis: it takes an int");
    attributes[0] = (halyard_attribute){
            .name = "axis", .kind = HALYARD_INTEGER, .integer = INT64_C(1) << 40};
    CLAIM_INVALID(halyard_graph_add_node(graph, &node, &message), "of 32 bits");
    attributes[0] = attributes[1];
    node.attribute_count = 2;
    CLAIM_INVALID(halyard_graph_add_node(graph, &node, &message), "beta is there twice");
    node.kind = "Binary";
    node.attribute_count = 1;
    attributes[0] = (halyard_attribute){.name = "function", .kind = HALYARD_WORD, .word = "MOD"};
    CLAIM_INVALID(halyard_graph_add_node(graph, &node, &message), "a word of ADD, MUL");
    node.kind = "If";
    attributes[0] = (halyard_attribute){.name = "then", .kind = HALYARD_GRAPH};
    CLAIM_INVALID(halyard_graph_add_node(graph, &node, &message), "it takes a graph");
    node.kind = "Softmax";
    node.attribute_count = 0;
    const uint32_t wrong[1] = {3};
    node.inputs = wrong;
    CLAIM_INVALID(halyard_graph_add_node(graph, &node, &message), "inputs[0] is tensor 3");
    node.inputs = NULL;
    CLAIM_INVALID(halyard_graph_add_node(graph, &node, &message), "inputs is null");
    node.inputs = ids;
    node.input_count = SIZE_MAX;
    CLAIM_INVALID(halyard_graph_add_node(graph, &node, &message), "inputs has");
    node.input_count = 1;
    node.outputs = wrong;
    CLAIM_INVALID(halyard_graph_add_node(graph, &node, &message), "outputs[0] is tensor 3");
    CLAIM_INVALID(halyard_graph_set_inputs(graph, wrong, 1, &message), "tensors[0] is tensor 3");
    CLAIM_INVALID(halyard_graph_set_outputs(graph, NULL, 1, &message), "tensors is null");
}

static void refuses_programs(halyard_runtime* runtime, halyard_graph* graph) {
    halyard_program* program = NULL;
    halyard_compile_options options = {.struct_size = sizeof options, .precision = 9};
    CLAIM_INVALID(halyard_compile(NULL, graph, NULL, &program, &message), "runtime is null");
    CLAIM_INVALID(halyard_compile(runtime, NULL, NULL, &program, &message), "graph is null");
    CLAIM_INVALID(halyard_compile(runtime, graph, NULL, NULL, &message), "program is null");
    CLAIM_INVALID(halyard_compile(runtime, graph, &options, &program, &message), "precision is 9");
    /* A graph that breaks a rule of the verifier's: its output is computed by none. */
    halyard_graph* open = NULL;
    uint32_t id = 0;
    const halyard_tensor_options x = list_of_floats(4, "x");
    CLAIM_OK(halyard_graph_create(&open, &message));
    CLAIM_OK(halyard_graph_add_tensor(open, &x, &id, &message));
    CLAIM_OK(halyard_graph_set_outputs(open, &id, 1, &message));
    CLAIM(halyard_compile(runtime, open, NULL, &program, NULL) == HALYARD_INVALID_ARGUMENT);
    halyard_graph_release(open);

    CLAIM_INVALID(halyard_program_load(runtime, NULL, 9, NULL, &program, &message), "data is null");
    CLAIM_INVALID(halyard_program_load(runtime, "nonsense", 8, NULL, &program, &message), "");
    CLAIM_INVALID(halyard_program_load_fd(runtime, -1, NULL, &program, &message), "descriptor -1");
    CLAIM(program == NULL);
}

static void refuses_questions(const halyard_program* program) {
    halyard_tensor_info info = {.struct_size = sizeof info};
    halyard_placement placement = {.struct_size = 1};
    const char* text = NULL;
    size_t index = 0;
    CLAIM_INVALID(halyard_program_input(program, 2, &info, &message), "no input 2; there are 2");
    CLAIM_INVALID(halyard_program_output(program, SIZE_MAX, &info, &message), "no output");
    CLAIM_INVALID(halyard_program_input(program, 0, NULL, &message), "info is null");
    CLAIM_INVALID(halyard_program_input(NULL, 0, &info, &message), "program is null");
    halyard_memory_requirements memory = {.struct_size = 1};
    CLAIM_INVALID(halyard_program_input_memory(program, 2, &memory, &message), "no input 2");
    CLAIM_INVALID(halyard_program_output_memory(program, 0, &memory, &message), "struct_size is 1");
    CLAIM_INVALID(halyard_program_output_memory(program, 0, NULL, &message),
                  "requirements is null");
    CLAIM_INVALID(halyard_program_find_input(program, "c", &index, &message), "no input \"c\"");
    CLAIM_INVALID(halyard_program_find_output(program, NULL, &index, &message), "name is null");
    CLAIM_INVALID(halyard_program_placement(program, 99, &placement, &message), "no node 99");
    CLAIM_INVALID(halyard_program_placement(program, 0, &placement, &message), "struct_size is 1");
    /* A caller that was compiled with the header's first version. */
    placement.struct_size = (uint32_t)offsetof(halyard_placement, lost_forms);
    placement.lost_forms = "as it was";
    CLAIM_OK(halyard_program_placement(program, 0, &placement, &message));
    CLAIM(strcmp(placement.lost_forms, "as it was") == 0);
    CLAIM_INVALID(halyard_program_refusal(program, 0, 9, &text, &text, &message), "no refusal 9");
    CLAIM_REFUSAL(halyard_program_save_fd(program, -1, &message), HALYARD_FAILED, "descriptor -1");
    CLAIM_REFUSAL(halyard_program_save(program, NULL, 0, &index, &message),
                  HALYARD_OUTPUT_TOO_SMALL, "room for 0");
    CLAIM(index > 0);
    CLAIM_INVALID(halyard_program_save(program, NULL, index, &index, &message), "data is null");
    CLAIM(halyard_program_input_count(NULL) == 0 && halyard_program_node_count(NULL) == 0);
}

static void refuses_runs(halyard_execution* execution) {
    const float values[4] = {1, 2, 3, 4};
    float sum[4];
    halyard_input inputs[2] = {input_of(values, 4), input_of(values, 4)};
    halyard_output output = output_to(sum, 4);
    halyard_run_options options = {.struct_size = 0};
    CLAIM_INVALID(halyard_execution_run(NULL, inputs, 2, &output, 1, NULL, &message),
                  "execution is null");
    CLAIM_INVALID(halyard_execution_run(execution, NULL, 2, &output, 1, NULL, &message),
                  "inputs is null");
    CLAIM_INVALID(halyard_execution_run(execution, inputs, 2, NULL, 1, NULL, &message),
                  "outputs is null");
    CLAIM_INVALID(halyard_execution_run(execution, inputs, 1, &output, 1, NULL, &message),
                  "1 inputs are given to a program with 2");
    CLAIM_INVALID(halyard_execution_run(execution, inputs, 2, NULL, 0, NULL, &message),
                  "0 outputs");
    CLAIM_INVALID(halyard_execution_run(execution, inputs, 2, &output, 1, &options, &message),
                  "struct_size is 0");
    inputs[1].data = NULL;
    CLAIM_INVALID(halyard_execution_run(execution, inputs, 2, &output, 1, NULL, &message),
                  "input 1: data is null");
    inputs[1] = input_of(values, 4);
    inputs[1].size = 12;
    CLAIM_INVALID(halyard_execution_run(execution, inputs, 2, &output, 1, NULL, &message),
                  "input 1");
    inputs[1] = input_of(values, 4);
    inputs[1].shape.rank = 40;
    CLAIM_INVALID(halyard_execution_run(execution, inputs, 2, &output, 1, NULL, &message),
                  "input 1: the shape has rank 40");
    inputs[1].shape.rank = -1;
    CLAIM(halyard_execution_run(execution, inputs, 2, &output, 1, NULL, NULL) ==
          HALYARD_INVALID_ARGUMENT);
    inputs[1] = input_of(values, 3);
    CLAIM(halyard_execution_run(execution, inputs, 2, &output, 1, NULL, NULL) ==
          HALYARD_INVALID_ARGUMENT);
    inputs[1] = input_of(values, 4);
    output.data = NULL;
    CLAIM_INVALID(halyard_execution_run(execution, inputs, 2, &output, 1, NULL, &message),
                  "output 0: data is null");
    output = output_to(sum, 3);
    CLAIM_REFUSAL(halyard_execution_run(execution, inputs, 2, &output, 1, NULL, &message),
                  HALYARD_OUTPUT_TOO_SMALL, "output 0 takes 16 bytes, [4], and has room for 12");
    CLAIM(output.size == 16 && output.shape.rank == 1 && output.shape.extents[0] == 4);

    output = output_to(sum, 4);
    CLAIM_OK(halyard_execution_run(execution, inputs, 2, &output, 1, NULL, &message));
    CLAIM(sum[0] == 2 && sum[3] == 8);
    halyard_node_profile profile = {.struct_size = sizeof profile};
    CLAIM_INVALID(halyard_execution_profile(execution, 0, &profile, &message), "no line 0");
}

static int released = 0;

static void release(void* owner) {
    released += owner == &released ? 1 : 100;
}

/* An allocator's next action, and the memory that it has for it. */
struct allocator {
    enum {
        REFUSES,
        MISALIGNS,
        GIVES_AN_INPUT,
        RUNS_AGAIN,
        CANCELS,
        RUNS_ANOTHER,
        GIVES,
        LETS_GO
    } does;
    halyard_execution* execution;
    halyard_execution* other;
    float* input;
    halyard_memory* memory;
    int asked;
};

static float given[8];

static void* allocate(void* context, size_t index, const halyard_shape* shape, size_t size,
                      size_t alignment) {
    struct allocator* const allocator = context;
    const float values[4] = {1, 2, 3, 4};
    float sum[4];
    halyard_input inputs[2] = {input_of(values, 4), input_of(values, 4)};
    halyard_output output = output_to(sum, 4);
    ++allocator->asked;
    CLAIM(index == 0 && shape->rank == 1 && shape->extents[0] == 4);
    CLAIM(size == 16 && alignment == 4);
    switch (allocator->does) {
        case REFUSES:
            return NULL;
        case MISALIGNS:
            return (char*)given + 1;
        case GIVES_AN_INPUT:
            return allocator->input + 1;
        case RUNS_AGAIN:
            CLAIM_INVALID(halyard_execution_run(allocator->execution, inputs, 2, &output, 1, NULL,
                                                &message),
                          "running already");
            return given;
        case CANCELS:
            halyard_execution_cancel(allocator->execution);
            return given;
        case RUNS_ANOTHER:
            CLAIM_OK(
                    halyard_execution_run(allocator->other, inputs, 2, &output, 1, NULL, &message));
            CLAIM(sum[3] == 8);
            return given;
        case GIVES:
            return given;
        case LETS_GO:
            halyard_memory_release(allocator->memory);
            CLAIM(released == 0);
            return given;
    }
    return NULL;
}

static void refuses_what_allocators_give(halyard_execution* execution, halyard_execution* other) {
    float values[8] = {1, 2, 3, 4};
    struct allocator allocator = {.execution = execution, .other = other, .input = values};
    halyard_input inputs[2] = {input_of(values, 4), input_of(values, 4)};
    halyard_output output = output_to(NULL, 0);
    halyard_run_options options = {.struct_size = sizeof options,
                                   .allocate_output = allocate,
                                   .allocate_context = &allocator};
    CLAIM_REFUSAL(halyard_execution_run(execution, inputs, 2, &output, 1, &options, &message),
                  HALYARD_RESOURCE_EXHAUSTED, "allocate_output gives no memory for [4], 16 bytes");
    CLAIM(output.data == NULL && output.shape.rank == -1 && allocator.asked == 1);
    allocator.does = MISALIGNS;
    CLAIM_INVALID(halyard_execution_run(execution, inputs, 2, &output, 1, &options, &message),
                  "output 0: the memory given for it starts at no multiple of 4");
    output = output_to(NULL, 0);
    allocator.does = GIVES_AN_INPUT;
    CLAIM_INVALID(halyard_execution_run(execution, inputs, 2, &output, 1, &options, &message),
                  "overlaps graph input 0");
    /* It has what was given, which it may have to free. */
    CLAIM(output.data == values + 1 && output.capacity == 16);
    CLAIM(values[1] == 2);
    output = output_to(NULL, 0);
    allocator.does = CANCELS;
    CLAIM(halyard_execution_run(execution, inputs, 2, &output, 1, &options, NULL) ==
          HALYARD_STOPPED);
    allocator.does = RUNS_AGAIN;
    for (; allocator.does <= GIVES; allocator.does += allocator.does == RUNS_AGAIN ? 2 : 1) {
        output = output_to(NULL, 0);
        memset(given, 0, sizeof given);
        allocator.asked = 0;
        CLAIM_OK(halyard_execution_run(execution, inputs, 2, &output, 1, &options, &message));
        CLAIM(allocator.asked == 1 && output.data == given && output.capacity == 16);
        CLAIM(given[0] == 2 && given[3] == 8 && output.size == 16);
    }
    /* A run keeps what it is bound to. */
    CLAIM_OK(halyard_memory_borrow(values, 32, release, &released, &allocator.memory, &message));
    const halyard_binding lent[2] = {{.memory = allocator.memory}, {.memory = NULL}};
    options.input_bindings = lent;
    allocator.does = LETS_GO;
    output = output_to(NULL, 0);
    CLAIM_OK(halyard_execution_run(execution, inputs, 2, &output, 1, &options, &message));
    CLAIM(given[3] == 8 && released == 1);
    released = 0;
    options.input_bindings = NULL;
    output.unwanted = 1;
    allocator.asked = 0;
    CLAIM_OK(halyard_execution_run(execution, inputs, 2, &output, 1, &options, &message));
    CLAIM(allocator.asked == 0);
    /* A caller that was compiled with the header's first version. */
    options.struct_size = (uint32_t)offsetof(halyard_run_options, allocate_output);
    output = output_to(NULL, 0);
    CLAIM_REFUSAL(halyard_execution_run(execution, inputs, 2, &output, 1, &options, &message),
                  HALYARD_OUTPUT_TOO_SMALL, "has room for 0");
    options.struct_size -= 1;
    CLAIM_INVALID(halyard_execution_run(execution, inputs, 2, &output, 1, &options, &message),
                  "struct_size");
}

static void refuses_memory(const halyard_runtime* runtime, halyard_execution* execution) {
    halyard_memory* memory = NULL;
    float values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    float copy[2] = {0, 0};
    CLAIM_INVALID(halyard_memory_borrow(values, 32, release, &released, NULL, &message),
                  "memory is null");
    CLAIM_INVALID(halyard_memory_borrow(NULL, 32, release, &released, &memory, &message),
                  "data is null");
    CLAIM_INVALID(halyard_memory_create(NULL, "CpuAcc", 32, &memory, &message), "runtime is null");
    CLAIM_INVALID(halyard_memory_create(runtime, NULL, 32, &memory, &message), "backend is null");
    CLAIM_INVALID(halyard_memory_create(runtime, "Gpu", 32, &memory, &message), "\"Gpu\"");
    CLAIM_UNSUPPORTED(halyard_memory_create(runtime, "CpuAcc", 32, &memory, &message),
                      "CpuAcc computes in the host's memory");
    CLAIM(memory == NULL && released == 0);
    CLAIM_OK(halyard_memory_borrow(values, 32, release, &released, &memory, &message));
    CLAIM(halyard_memory_size(memory) == 32);
    CLAIM_INVALID(halyard_memory_read(memory, 28, copy, 8, &message), "not 8 from 28 on");
    CLAIM_INVALID(halyard_memory_read(memory, SIZE_MAX, copy, 8, &message), "has 32 bytes");
    CLAIM_INVALID(halyard_memory_write(memory, 0, NULL, 8, &message), "data is null");
    CLAIM_INVALID(halyard_memory_write(NULL, 0, copy, 8, &message), "memory is null");
    CLAIM_OK(halyard_memory_read(memory, 24, copy, 8, &message));
    CLAIM(copy[0] == 7 && copy[1] == 8);
    CLAIM_OK(halyard_memory_write(memory, 0, copy, 8, &message));
    CLAIM(values[0] == 7 && values[1] == 8);

    halyard_graph* graph = NULL;
    uint32_t id = 77;
    const halyard_tensor_options options = list_of_floats(2, "w");
    halyard_constant constant = {
            .struct_size = sizeof constant, .data = copy, .size = 8, .memory = memory};
    CLAIM_OK(halyard_graph_create(&graph, &message));
    CLAIM_INVALID(halyard_graph_add_constant(graph, &options, &constant, &id, &message),
                  "does not lie in its memory");
    constant.data = values + 7;
    CLAIM_INVALID(halyard_graph_add_constant(graph, &options, &constant, &id, &message),
                  "does not lie in its memory");
    constant.data = values;
    constant.release = release;
    CLAIM_INVALID(halyard_graph_add_constant(graph, &options, &constant, &id, &message),
                  "both a memory and a function");
    constant.release = NULL;
    CLAIM_OK(halyard_graph_add_constant(graph, &options, &constant, &id, &message));

    halyard_input inputs[2] = {input_of(NULL, 4), input_of(values, 4)};
    halyard_output output = output_to(given, 4);
    halyard_binding bindings[2] = {{.memory = memory, .offset = 20}, {.memory = NULL}};
    halyard_run_options run = {.struct_size = sizeof run, .input_bindings = bindings};
    CLAIM_INVALID(halyard_execution_run(execution, inputs, 2, &output, 1, &run, &message),
                  "input 0: the memory has 32 bytes, and not 16 from 20 on");
    bindings[0].offset = 16;
    CLAIM_OK(halyard_execution_run(execution, inputs, 2, &output, 1, &run, &message));
    CLAIM(given[0] == 12 && given[1] == 14);
    halyard_binding room = {.memory = memory, .offset = 17};
    run.output_bindings = &room;
    CLAIM_INVALID(halyard_execution_run(execution, inputs, 2, &output, 1, &run, &message),
                  "output 0: the memory has 32 bytes");

    halyard_memory_release(memory);
    CLAIM(released == 0);
    halyard_graph_release(graph);
    CLAIM(released == 1);
    halyard_memory_requirements told = {.struct_size = 1};
    CLAIM_INVALID(halyard_program_input_memory(NULL, 0, &told, &message), "program is null");
}

static void takes_null_for_nothing(void) {
    halyard_runtime_release(NULL);
    halyard_graph_release(NULL);
    halyard_program_release(NULL);
    halyard_execution_release(NULL);
    halyard_memory_release(NULL);
    CLAIM(halyard_memory_size(NULL) == 0);
    halyard_execution_cancel(NULL);
    CLAIM(halyard_runtime_backend(NULL, 0) == NULL);
    CLAIM(strcmp(halyard_status_name(99), "unknown") == 0);
    CLAIM(halyard_node_kind(100000) == NULL && halyard_known_backend(100000) == NULL);
}

int main(void) {
    halyard_runtime* runtime = NULL;
    halyard_program* program = NULL;
    halyard_execution* execution = NULL;
    halyard_execution* other = NULL;
    halyard_graph* const graph = adding(-1);
    takes_null_for_nothing();
    refuses_options_of_runtimes();
    CLAIM_OK(halyard_runtime_create(NULL, &runtime, &message));
    refuses_tensors(graph);
    refuses_nodes(graph);
    refuses_programs(runtime, graph);
    CLAIM_OK(halyard_compile(runtime, graph, NULL, &program, &message));
    CLAIM_OK(halyard_execution_create(program, &execution, &message));
    refuses_questions(program);
    refuses_runs(execution);
    CLAIM_OK(halyard_execution_create(program, &other, &message));
    refuses_what_allocators_give(execution, other);
    refuses_memory(runtime, execution);
    halyard_execution_release(other);
    halyard_runtime_release(runtime);
    halyard_graph_release(graph);
    halyard_program_release(program);
    halyard_execution_release(execution);
    return claims_failed;
}
