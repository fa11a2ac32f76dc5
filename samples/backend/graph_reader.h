/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the graphs that a backend is handed (docs/backends.md has the format). Nothing is read past
 * the end of the bytes; what does not fit makes the whole unreadable. */

#pragma once

#include <stdint.h>

#include "halyard/backend.h"

#define NO_TENSOR UINT32_MAX

/* A part of the bytes; not ended by a zero. */
typedef struct text {
    const char* data;
    uint32_t size;
} text;

typedef struct tensor {
    text type;    /* "FLOAT32" */
    int32_t rank; /* -1: unknown */
    int32_t extents[HALYARD_MAX_RANK];
    int32_t is_constant;
    uint64_t offset; /* of a constant's elements, from the first of the graph's bytes */
    uint64_t size;
} tensor;

#define MAX_FIELDS 4
#define MAX_NODE_TENSORS 4

/* Nodes with more are read, but not all that they have is kept. */
typedef struct node {
    text kind; /* "Binary" */
    struct {
        text name;  /* "function" */
        text value; /* "ADD"; of enumerators only */
    } fields[MAX_FIELDS];
    uint32_t field_count;
    uint32_t inputs[MAX_NODE_TENSORS];
    uint32_t input_count;
    uint32_t outputs[MAX_NODE_TENSORS];
    uint32_t output_count;
} node;

typedef struct graph {
    tensor* tensors;
    uint32_t tensor_count;
    node* nodes;
    uint32_t node_count;
    uint32_t* inputs;
    uint32_t input_count;
    uint32_t* outputs;
    uint32_t output_count;
} graph;

int text_is(text value, const char* word);
/* The value of a field of enumerators; empty if there is none of that name. */
text field_of(const node* of, const char* name);

/* HALYARD_OK, or why not. Texts point into the bytes. What has been read is freed by free_graph(),
 * also after a failure. */
int32_t read_graph(halyard_bytes bytes, graph* into, halyard_message* message);
void free_graph(graph* of);
