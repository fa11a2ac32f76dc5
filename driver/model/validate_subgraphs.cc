// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <vector>

#include "driver/model/validate.h"

namespace halyard::driver {
namespace {

std::vector<size_t> referencesOf(const Subgraph& subgraph) {
    std::vector<size_t> found;
    for (const Operand& operand : subgraph.operands) {
        if (operand.lifetime == OperandLifeTime::SUBGRAPH) {
            found.push_back(operand.location.offset);
        }
    }
    return found;
}

}  // namespace

// Kahn's algorithm from the leaves: a subgraph is settled once all it refers to is settled. What
// never settles lies on a cycle or above one. No recursion: the client chooses the depth.
Status validateReferences(const Model& model) {
    const size_t count = model.referenced.size();
    std::vector<std::vector<size_t>> referrers(count);
    std::vector<size_t> unsettled(count);
    std::vector<size_t> settled;
    for (size_t i = 0; i < count; ++i) {
        const std::vector<size_t> references = referencesOf(model.referenced[i]);
        unsettled[i] = references.size();
        for (const size_t reference : references) {
            referrers[reference].push_back(i);
        }
        if (references.empty()) {
            settled.push_back(i);
        }
    }
    for (size_t next = 0; next < settled.size(); ++next) {
        for (const size_t referrer : referrers[settled[next]]) {
            if (--unsettled[referrer] == 0) {
                settled.push_back(referrer);
            }
        }
    }
    for (size_t i = 0; i < count; ++i) {
        if (unsettled[i] != 0) {
            return invalidArgument("subgraph " + std::to_string(i) +
                                   " refers to a cycle of subgraphs");
        }
    }
    return {};
}

}  // namespace halyard::driver
