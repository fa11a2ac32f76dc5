// SPDX-License-Identifier: Apache-2.0
//
// The reference: one function per node kind that computes the node from its definition, for every
// type that shape inference calls legal. Written to be read; everything faster is checked against
// it. CpuRef runs partitions with it, passes compute constants with it, and a tuned kernel takes
// the rare case from it that is not worth a form of its own.

#pragma once

#include "engine/base/status.h"
#include "engine/graph/nodes.h"
#include "engine/plan/node_by_node.h"

namespace halyard::engine::ref {

// Computes the node; KernelCall says what a kernel may rely on. Loops over elements are loops of
// the call, inside one element of the output as well as over all of them, and their failure ends
// the node.
#define HALYARD_REFERENCE_KERNEL(Descriptor) Status run(const Descriptor& node, KernelCall& call);
#include "engine/reference/kernels.inc"
#undef HALYARD_REFERENCE_KERNEL

// The kernel of a node, "ref::Conv2d"; none where the reference lacks the kind.
Kernel findKernel(const Node& node);

}  // namespace halyard::engine::ref
