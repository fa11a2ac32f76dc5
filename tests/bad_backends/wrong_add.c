/* SPDX-License-Identifier: Apache-2.0
 *
 * A backend that computes one kind of node wrong: it takes float32 ADD alone, and gives results
 * that are off by a hundredth. What compares layers has to find it. The rest is the sample's. */

#define halyard_backend_open open_sample
#include "samples/backend/sample_backend.c"
#undef halyard_backend_open

static int32_t supports_add(void* self, halyard_bytes bytes, halyard_message* message) {
    int32_t status = supports(self, bytes, message);
    graph read;
    if (status != HALYARD_OK) {
        return status;
    }
    status = read_graph(bytes, &read, message);
    for (uint32_t i = 0; status == HALYARD_OK && i < read.node_count; ++i) {
        if (!text_is(field_of(&read.nodes[i], "function"), "ADD")) {
            snprintf(message->text, sizeof(message->text), "runs ADD only");
            status = HALYARD_UNSUPPORTED;
        }
    }
    free_graph(&read);
    return status;
}

static int32_t run_wrongly(void* self, const void* handle, void* state, const halyard_run* run,
                           halyard_message* message) {
    const shaped* of = handle;
    const int32_t status = run_partition(self, handle, state, run, message);
    for (uint32_t i = 0; status == HALYARD_OK && i < of->of->read.output_count; ++i) {
        float* output = run->outputs[i].data;
        const int64_t count = elements_of(&of->places[of->of->read.outputs[i]].shape);
        for (int64_t element = 0; element < count; ++element) {
            output[element] *= 1.01f;
        }
    }
    return status;
}

__attribute__((visibility("default"))) const halyard_backend* halyard_backend_open(
        uint32_t abi_version);

const halyard_backend* halyard_backend_open(uint32_t abi_version) {
    static halyard_backend wrong;
    const halyard_backend* sample = open_sample(abi_version);
    if (sample == NULL) {
        return NULL;
    }
    wrong = *sample;
    wrong.name = "Wrong";
    wrong.supports = supports_add;
    wrong.run = run_wrongly;
    return &wrong;
}
