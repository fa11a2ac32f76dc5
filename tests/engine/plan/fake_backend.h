// SPDX-License-Identifier: Apache-2.0
//
// A backend for tests of the planner: a few node kinds, in arithmetic that can be followed in one's
// head, and hooks that watch or fail.

#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/plan/backend.h"

namespace halyard::engine {

// On FLOAT32 tensors: Activate gives x + 1, Binary a + b or a * b of equal shapes (b may also be a
// single element), Reshape a copy, of a shape that may be computed at execution. Internal tensors
// lie in the workspace, and on the heap where only the run knows their size.
class FakeBackend : public Backend {
  public:
    FakeBackend(std::string name, std::set<NodeKind> kinds)
        : mName(std::move(name)), mKinds(std::move(kinds)) {}

    std::string_view name() const override { return mName; }
    Status supports(const Graph& graph, NodeId node) const override;
    Result<std::unique_ptr<CompiledPartition>> compile(
            const CompileArguments& arguments) const override;

    // Bytes that it packs for each node, though there is nothing in them.
    static constexpr size_t kBytesPerNode = 64;

    // Called by each compilation; a failure is its result.
    std::function<Status(const CompileArguments&)> onCompile;
    // Called when a partition finishes; a failure is its result.
    std::function<Status(const PartitionResources&)> onFinish;
    // Gives the state that an execution keeps.
    std::function<Result<std::unique_ptr<PartitionState>>(const PartitionResources&)> onMakeState;

    // Called at the start of each run, on the thread that runs; a failure ends it.
    std::function<Status(const RunArguments&)> onRun;
    // Called by each specialisation; a failure is its result.
    std::function<Status(std::span<const TensorType* const>)> onSpecialize;

    // May change what a specialised partition says of its outputs.
    std::function<void(std::vector<TensorType>&)> onOutputTypes;
    // Runs succeed without doing anything.
    bool computesNothing = false;

    mutable std::atomic<int> specialized = 0;
    mutable std::atomic<int> statesMade = 0;

  private:
    std::string mName;
    std::set<NodeKind> mKinds;
};

inline const std::set<NodeKind> kAllFakeKinds = {NodeKind::Activate, NodeKind::Binary,
                                                 NodeKind::Reshape};

}  // namespace halyard::engine
