// SPDX-License-Identifier: Apache-2.0
//
// Partitioning: which of a context's operators are taken. What the importer maps and a backend that
// was asked for runs is; partitions are compiled before any operator is claimed, so that one that
// does not compile is the host's.

#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "importers/tflite/importer.h"
#include "litert/delegate/context_reader.h"
#include "litert/delegate/partition.h"
#include "litert/program/runtime.h"

namespace halyard::litert {

struct CompiledPartition {
    PartitionRequest request;
    PartitionProgram program;
};

struct Partitioning {
    std::vector<std::string> reasons;  // why an operator is left to the host; empty: it is taken
    std::vector<CompiledPartition> partitions;
    std::vector<std::string> notes;  // for people
};

// Only inside Delegate.Prepare. `minNodes`: partitions of fewer operators are left. A host that
// does not say how it cuts its graph has no such limit, and compiled partitions are for nothing
// there.
Partitioning choosePartitions(TfLiteContext* context, const ContextModel& model,
                              const tflite::Importer& importer, const Runtime& runtime,
                              const std::shared_ptr<ThreadPool>& threads, size_t minNodes);

// The host's array of numbers, which the caller frees.
struct FreeArray {
    void operator()(TfLiteIntArray* array) const;
};
using OwnedArray = std::unique_ptr<TfLiteIntArray, FreeArray>;
// Null where there is no memory for it.
OwnedArray arrayOf(const std::vector<int32_t>& numbers);

// A partition of the host's, with operators by their places in the plan.
Result<PartitionRequest> requestOf(const TfLiteDelegateParams& params, const ContextModel& model);

}  // namespace halyard::litert
