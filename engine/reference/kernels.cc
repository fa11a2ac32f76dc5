// SPDX-License-Identifier: Apache-2.0

#include "engine/reference/kernels.h"

#include <variant>

namespace halyard::engine::ref {

Kernel findKernel(const Node& node) {
    switch (node.kind()) {
#define HALYARD_REFERENCE_KERNEL(Descriptor)                                              \
    case NodeKind::Descriptor:                                                            \
        return {.name = "ref::" #Descriptor, .run = [](const Node& n, KernelCall& call) { \
                    return ref::run(*std::get_if<Descriptor>(&n.descriptor), call);       \
                }};
#include "engine/reference/kernels.inc"
#undef HALYARD_REFERENCE_KERNEL
        default:
            return {};
    }
}

}  // namespace halyard::engine::ref
