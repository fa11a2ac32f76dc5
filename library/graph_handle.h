// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "engine/graph/graph.h"

struct halyard_graph {
    halyard::engine::Graph graph;
};
