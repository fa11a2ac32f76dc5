// SPDX-License-Identifier: Apache-2.0
//
// PartitionReaders: who reads the tensors of a partition, for backends that compute nodes together.

#pragma once

#include <cstddef>
#include <optional>
#include <unordered_map>

#include "engine/graph/graph.h"
#include "engine/plan/backend.h"

namespace halyard::engine {

// Immutable.
class PartitionReaders {
  public:
    PartitionReaders(const Graph& graph, const Partition& partition) {
        for (size_t i = 0; i < partition.nodes.size(); ++i) {
            for (const TensorId input : graph.node(partition.nodes[i]).inputs) {
                if (input != kNoTensor) {
                    Reader& reader = mReaders[input];
                    ++reader.count;
                    reader.node = i;
                }
            }
        }
        // Readers outside the partition count as two.
        for (const TensorId output : partition.outputs) {
            mReaders[output].count += 2;
        }
    }

    // The one node that reads the tensor, once, by its position in the partition.
    std::optional<size_t> onlyReader(TensorId tensor) const {
        const auto found = mReaders.find(tensor);
        return found == mReaders.end() || found->second.count != 1
                       ? std::nullopt
                       : std::optional(found->second.node);
    }

  private:
    struct Reader {
        size_t count = 0;
        size_t node = 0;
    };
    std::unordered_map<TensorId, Reader> mReaders;
};

}  // namespace halyard::engine
