// SPDX-License-Identifier: Apache-2.0

#include "engine/graph/nodes.h"

namespace halyard::engine {

std::string_view toString(NodeKind kind) {
    switch (kind) {
#define HALYARD_NODE_KIND(Descriptor) \
    case NodeKind::Descriptor:        \
        return #Descriptor;
#include "engine/graph/node_kinds.inc"
#undef HALYARD_NODE_KIND
    }
    return "no kind";
}

}  // namespace halyard::engine
