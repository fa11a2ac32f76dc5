/* SPDX-License-Identifier: Apache-2.0 */

#include "samples/backend/graph_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_BOOL, TAG_INT32, TAG_FLOAT, TAG_DOUBLE, TAG_ENUMERATOR, TAG_FIELDS, TAG_GRAPH };

static const char kMagic[] = "HALYGRPH";
#define VERSION 2u
#define ALIGNMENT 64u

typedef struct reader {
    const uint8_t* next;
    uint64_t left;
    int failed;
} reader;

static void take(reader* from, void* to, uint64_t size) {
    if (from->failed || from->left < size) {
        from->failed = 1;
        memset(to, 0, size);
        return;
    }
    memcpy(to, from->next, size);
    from->next += size;
    from->left -= size;
}

static uint8_t take_byte(reader* from) {
    uint8_t value;
    take(from, &value, sizeof(value));
    return value;
}

static uint32_t take_u32(reader* from) {
    uint32_t value;
    take(from, &value, sizeof(value));
    return value;
}

static uint64_t take_u64(reader* from) {
    uint64_t value;
    take(from, &value, sizeof(value));
    return value;
}

/* Everything that is counted takes a byte at least. */
static uint32_t take_count(reader* from) {
    const uint32_t count = take_u32(from);
    if (count > from->left) {
        from->failed = 1;
        return 0;
    }
    return count;
}

static text take_text(reader* from) {
    text value = {NULL, 0};
    const uint32_t size = take_count(from);
    if (!from->failed) {
        value.data = (const char*)from->next;
        value.size = size;
        from->next += size;
        from->left -= size;
    }
    return value;
}

static void skip(reader* from, uint64_t size) {
    if (from->failed || from->left < size) {
        from->failed = 1;
        return;
    }
    from->next += size;
    from->left -= size;
}

static void* take_array(reader* from, size_t size, uint32_t* count) {
    *count = take_count(from);
    void* array = calloc(*count > 0 ? *count : 1, size);
    if (array == NULL) {
        from->failed = 1;
        *count = 0;
    }
    return array;
}

static void take_tensor(reader* from, uint64_t block, uint64_t block_size, tensor* into) {
    into->type = take_text(from);
    into->rank = (int8_t)take_byte(from);
    if (into->rank > HALYARD_MAX_RANK) {
        from->failed = 1;
        return;
    }
    for (int32_t axis = 0; axis < into->rank; ++axis) {
        into->extents[axis] = (int32_t)take_u32(from);
    }
    /* Quantisation: scale, zero point, channel dimension, channel scales. */
    skip(from, 12);
    skip(from, (uint64_t)take_count(from) * sizeof(float));
    into->is_constant = take_byte(from);
    if (into->is_constant) {
        const uint64_t offset = take_u64(from);
        into->size = take_u64(from);
        if (offset > block_size || into->size > block_size - offset) {
            from->failed = 1;
        }
        into->offset = block + offset;
    }
}

/* The value itself is only kept of enumerators. Graphs inside nodes are never handed to backends.
 */
static text take_value(reader* from, int depth) {
    text value = {NULL, 0};
    switch (take_byte(from)) {
        case TAG_BOOL:
            skip(from, 1);
            break;
        case TAG_INT32:
        case TAG_FLOAT:
            skip(from, 4);
            break;
        case TAG_DOUBLE:
            skip(from, 8);
            break;
        case TAG_ENUMERATOR:
            value = take_text(from);
            break;
        case TAG_FIELDS: {
            const uint32_t count = take_count(from);
            for (uint32_t i = 0; i < count && !from->failed; ++i) {
                take_text(from);
                if (depth > 8) {
                    from->failed = 1;
                } else {
                    take_value(from, depth + 1);
                }
            }
            break;
        }
        default:
            from->failed = 1;
    }
    return value;
}

static void take_ids(reader* from, uint32_t most, uint32_t* ids, uint32_t* count) {
    *count = take_count(from);
    for (uint32_t i = 0; i < *count && !from->failed; ++i) {
        const uint32_t id = take_u32(from);
        if (i < most) {
            ids[i] = id;
        }
    }
}

static void take_node(reader* from, node* into) {
    into->kind = take_text(from);
    if (take_byte(from) != TAG_FIELDS) {
        from->failed = 1;
        return;
    }
    const uint32_t fields = take_count(from);
    for (uint32_t i = 0; i < fields && !from->failed; ++i) {
        const text name = take_text(from);
        const text value = take_value(from, 0);
        if (into->field_count < MAX_FIELDS) {
            into->fields[into->field_count].name = name;
            into->fields[into->field_count].value = value;
            ++into->field_count;
        }
    }
    take_ids(from, MAX_NODE_TENSORS, into->inputs, &into->input_count);
    take_ids(from, MAX_NODE_TENSORS, into->outputs, &into->output_count);
    take_text(from);                                           /* what the node is called */
    skip(from, (uint64_t)take_count(from) * sizeof(uint32_t)); /* operations that it stems from */
}

static int is_id(const graph* of, uint32_t id, int may_be_none) {
    return id < of->tensor_count || (may_be_none && id == NO_TENSOR);
}

static int ids_are_valid(const graph* of) {
    for (uint32_t i = 0; i < of->node_count; ++i) {
        const node* each = &of->nodes[i];
        for (uint32_t j = 0; j < each->input_count && j < MAX_NODE_TENSORS; ++j) {
            if (!is_id(of, each->inputs[j], 1)) {
                return 0;
            }
        }
        for (uint32_t j = 0; j < each->output_count && j < MAX_NODE_TENSORS; ++j) {
            if (!is_id(of, each->outputs[j], 0)) {
                return 0;
            }
        }
    }
    for (uint32_t i = 0; i < of->input_count; ++i) {
        if (!is_id(of, of->inputs[i], 0)) {
            return 0;
        }
    }
    for (uint32_t i = 0; i < of->output_count; ++i) {
        if (!is_id(of, of->outputs[i], 0)) {
            return 0;
        }
    }
    return 1;
}

static uint32_t* take_id_array(reader* from, uint32_t* count) {
    uint32_t* ids = take_array(from, sizeof(uint32_t), count);
    for (uint32_t i = 0; i < *count; ++i) {
        ids[i] = take_u32(from);
    }
    return ids;
}

int text_is(text value, const char* word) {
    return value.size == strlen(word) && memcmp(value.data, word, value.size) == 0;
}

text field_of(const node* of, const char* name) {
    const text none = {"", 0};
    for (uint32_t i = 0; i < of->field_count; ++i) {
        if (text_is(of->fields[i].name, name)) {
            return of->fields[i].value.data != NULL ? of->fields[i].value : none;
        }
    }
    return none;
}

int32_t read_graph(halyard_bytes bytes, graph* into, halyard_message* message) {
    memset(into, 0, sizeof(*into));
    reader from = {bytes.data, bytes.size, 0};
    char magic[sizeof(kMagic) - 1];
    take(&from, magic, sizeof(magic));
    const uint32_t version = take_u32(&from);
    const uint64_t description = take_u64(&from);
    const uint64_t block_size = take_u64(&from);
    if (from.failed || memcmp(magic, kMagic, sizeof(magic)) != 0 || version != VERSION) {
        snprintf(message->text, sizeof(message->text), "takes graphs of version %u only", VERSION);
        return HALYARD_UNSUPPORTED;
    }
    const uint64_t header = bytes.size - from.left;
    if (description > from.left) {
        from.failed = 1;
    } else {
        from.left = description;
    }
    const uint64_t block = (header + description + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (block > bytes.size || block_size > bytes.size - block) {
        from.failed = 1;
    }
    take_byte(&from); /* whether floats may be computed as float16 */
    into->tensors = take_array(&from, sizeof(tensor), &into->tensor_count);
    for (uint32_t i = 0; i < into->tensor_count && !from.failed; ++i) {
        take_tensor(&from, block, block_size, &into->tensors[i]);
    }
    into->nodes = take_array(&from, sizeof(node), &into->node_count);
    for (uint32_t i = 0; i < into->node_count && !from.failed; ++i) {
        take_node(&from, &into->nodes[i]);
    }
    into->inputs = take_id_array(&from, &into->input_count);
    into->outputs = take_id_array(&from, &into->output_count);
    if (from.failed || !ids_are_valid(into)) {
        snprintf(message->text, sizeof(message->text), "can't read the graph");
        return HALYARD_FAILED;
    }
    return HALYARD_OK;
}

void free_graph(graph* of) {
    free(of->tensors);
    free(of->nodes);
    free(of->inputs);
    free(of->outputs);
    memset(of, 0, sizeof(*of));
}
