// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/launches/building.h"

#include <pthread.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include "engine/backends/gpu/launches/step_leader.h"
#include "engine/base/log.h"

namespace halyard::engine::gpu {
namespace {

// Launches of one kernel.
struct Wanted {
    const KernelFamily* family = nullptr;
    std::string_view defines;
    size_t blocks = 0;
    std::vector<Launch*> launches;
};

std::vector<Wanted> wantedBy(const PartitionLayout& layout, std::span<Launch> launches) {
    std::map<std::tuple<const KernelFamily*, std::string_view, size_t>, size_t> places;
    std::vector<Wanted> wanted;
    for (Launch& launch : launches) {
        if (launch.program != nullptr) {
            continue;
        }
        const size_t blocks = blocksOf(layout, launch);
        const auto [place, isNew] =
                places.try_emplace({launch.family, launch.defines, blocks}, wanted.size());
        if (isNew) {
            wanted.push_back({.family = launch.family,
                              .defines = launch.defines,
                              .blocks = blocks,
                              .launches = {}});
        }
        wanted[place->second].launches.push_back(&launch);
    }
    return wanted;
}

// The builders' shared state.
class Builders {
  public:
    Builders(const PartitionLayout& layout, std::span<Wanted> wanted, Programs& programs,
             const Blobs& blobs, const Checkpoint& checkpoint)
        : mLayout(layout),
          mWanted(wanted),
          mPrograms(programs),
          mBlobs(blobs),
          mCheckpoint(checkpoint) {}

    // Until nothing is left, or something has failed.
    void build() {
        while (Wanted* const wanted = next()) {
            finish(*wanted, mPrograms.get(*wanted->family, std::string(wanted->defines),
                                          wanted->blocks, mBlobs));
        }
    }
    const Status& status() const { return mStatus; }
    // Where those of the thread that asked go.
    const LogTarget* lines() const { return mLines; }

  private:
    Wanted* next() {
        const std::lock_guard lock(mMutex);
        if (mStatus.ok() && mNext < mWanted.size()) {
            mStatus = mCheckpoint.check("while kernels were made ready");
        }
        return mStatus.ok() && mNext < mWanted.size() ? &mWanted[mNext++] : nullptr;
    }
    void finish(Wanted& wanted, Result<std::shared_ptr<const Program>> built) {
        const std::lock_guard lock(mMutex);
        if (!built.ok() && mStatus.ok()) {
            const std::vector<LocalNode>& nodes =
                    mLayout.steps[wanted.launches.front()->step].nodes;
            mStatus = built.status().withContext(nodes[leaderOf(nodes)].node->label);
        }
        for (Launch* const launch : wanted.launches) {
            launch->program = built.ok() ? *built : nullptr;
        }
    }

    const PartitionLayout& mLayout;
    const std::span<Wanted> mWanted;
    Programs& mPrograms;
    const Blobs& mBlobs;
    const Checkpoint& mCheckpoint;
    const LogTarget* const mLines = LogScope::current();
    std::mutex mMutex;
    size_t mNext = 0;
    Status mStatus;
};

void* buildOnAThread(void* builders) {
    auto& own = *static_cast<Builders*>(builders);
    const LogScope scope(own.lines());
    own.build();
    return nullptr;
}

}  // namespace

size_t blocksOf(const PartitionLayout& layout, const Launch& launch) {
    using Role = LocalTensor::Role;
    std::set<std::tuple<Operand::Place, Role, size_t>> blocks;
    for (const auto& argument : launch.arguments) {
        const auto* const operand = std::get_if<Operand>(&argument);
        if (operand == nullptr) {
            continue;
        }
        std::tuple<Operand::Place, Role, size_t> block = {operand->place, Role::INTERNAL, 0};
        if (operand->place == Operand::Place::TENSOR) {
            const LocalTensor& tensor = layout.tensors[operand->local];
            const bool crosses = tensor.role == Role::INPUT || tensor.role == Role::OUTPUT;
            block = {Operand::Place::TENSOR,
                     tensor.role == Role::INSIDE ? Role::INTERNAL : tensor.role,
                     crosses ? tensor.position : 0};
        }
        if (operand->place == Operand::Place::FINDING ||
            block == std::tuple(Operand::Place::TENSOR, Role::INTERNAL, size_t{0})) {
            // All lie in one workspace.
            std::get<0>(block) = Operand::Place::SCRATCH;
        }
        blocks.insert(block);
    }
    return blocks.size();
}

Status buildPrograms(const PartitionLayout& layout, std::span<Launch> launches, Programs& programs,
                     const Blobs& blobs, const Checkpoint& checkpoint) {
    std::vector<Wanted> wanted = wantedBy(layout, launches);
    Builders builders(layout, wanted, programs, blobs, checkpoint);
    // Beside this thread, as many as find a compiler. Not std::thread: that one has no way to fail
    // but an exception.
    std::vector<pthread_t> threads;
    for (size_t more = std::min(programs.compilers(), wanted.size()); more > 1; --more) {
        pthread_t thread = {};
        if (pthread_create(&thread, nullptr, buildOnAThread, &builders) != 0) {
            break;
        }
        threads.push_back(thread);
    }
    builders.build();
    for (const pthread_t thread : threads) {
        pthread_join(thread, nullptr);
    }
    return builders.status();
}

}  // namespace halyard::engine::gpu
