// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/backends/ref/cpu_ref.h"
#include "engine/plan/backend.h"

namespace halyard::driver {

// CpuRef, but for what it notes and does when it is asked about a node.
class CountingBackend final : public engine::Backend {
  public:
    struct Notes {
        std::atomic<size_t> questions = 0;
        std::atomic<size_t> partitions = 0;  // compiled
        // Set before the backend is used; may be empty.
        std::function<void()> beforeAnswer;
        std::function<void()> beforeCompiling;
    };
    explicit CountingBackend(std::shared_ptr<Notes> notes) : mNotes(std::move(notes)) {}

    std::string_view name() const override { return "Counting"; }
    Status supports(const engine::Graph& graph, engine::NodeId node) const override {
        ++mNotes->questions;
        if (mNotes->beforeAnswer != nullptr) {
            mNotes->beforeAnswer();
        }
        return mCpuRef->supports(graph, node);
    }
    Result<std::unique_ptr<engine::CompiledPartition>> compile(
            const engine::CompileArguments& arguments) const override {
        ++mNotes->partitions;
        if (mNotes->beforeCompiling != nullptr) {
            mNotes->beforeCompiling();
        }
        return mCpuRef->compile(arguments);
    }

    static std::vector<std::unique_ptr<const engine::Backend>> only(std::shared_ptr<Notes> notes) {
        std::vector<std::unique_ptr<const engine::Backend>> backends;
        backends.push_back(std::make_unique<CountingBackend>(std::move(notes)));
        return backends;
    }

  private:
    const std::shared_ptr<Notes> mNotes;
    const std::unique_ptr<const engine::Backend> mCpuRef = engine::makeCpuRef();
};

}  // namespace halyard::driver
