// SPDX-License-Identifier: Apache-2.0
//
// A compilation: a finished model, the devices that may compute it and how; then the plan.

#pragma once

#include <android/NeuralNetworks.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/file_descriptor.h"
#include "nnapi/answer.h"
#include "nnapi/diagnostics.h"
#include "nnapi/extension_prefixes.h"
#include "nnapi/model.h"
#include "nnapi/plan.h"

namespace halyard::nnapi {

// Immutable but for what it falls back to; thread-safe.
struct Compiled {
    std::shared_ptr<const FinishedModel> model;
    Plan plan;
    // The only device that createForDevices was given; null: there were several, or none.
    const RuntimeDevice* onlyDevice = nullptr;
    // Made with createForDevices.
    bool isExplicit = false;
    PlanningOptions planning;                  // its spans and its cache are of no use any more
    const RuntimeDevice* reference = nullptr;  // that it may fall back to; null: none
    ExtensionPrefixes* prefixes = nullptr;
    std::vector<const RuntimeDevice*> devices;  // that it was made for
    bool isCached = false;

    // The model, or a step's part, on the reference, prepared when it is first asked for. BAD_DATA:
    // there is no falling back.
    Answer fallBack(std::shared_ptr<const driver::Model> part, RunStep& step) const;
    // What callbacks are told, made when one first wants to know, which may be later.
    const Diagnosed& diagnosed() const;

    mutable std::mutex mutex;
    mutable std::optional<Diagnosed> whatIsTold;  // stays as it is once it is there
    mutable std::vector<std::pair<std::shared_ptr<const driver::Model>,
                                  std::shared_ptr<driver::IPreparedModel>>>
            fallbacks;
};

// For one thread at a time until it is finished; then any number may use what it compiled.
class CompilationBuilder {
  public:
    // On all devices, and on the reference where they fail.
    CompilationBuilder(std::shared_ptr<const FinishedModel> model, ExtensionPrefixes& prefixes,
                       std::vector<const RuntimeDevice*> devices, bool isExplicit);

    // Each answers BAD_STATE once finish() was called.
    Answer setPreference(int32_t preference);
    Answer setPriority(int priority);
    // 0: none. From when finish() begins.
    Answer setTimeout(uint64_t nanoseconds);
    Answer setCaching(std::string directory, std::span<const uint8_t, 32> token);
    // Duplicates them.
    Answer setCachingFromDescriptors(std::span<const int> models, std::span<const int> data,
                                     std::span<const uint8_t, 32> token);
    Answer addExtensionAttribute(std::string_view extension, uint16_t code,
                                 std::span<const uint8_t> data);
    Answer finish();

    // Null until finish() has succeeded.
    const std::shared_ptr<const Compiled>& compiled() const { return mCompiled; }
    // BAD_STATE unless it has.
    Answer checkFinished() const;
    // BAD_STATE as above, BAD_DATA for a boundary that has no such operand.
    Answer checkBoundary(bool isInput, uint32_t index) const;
    const RuntimeDevice* onlyDevice() const {
        return mIsExplicit && mDevices.size() == 1 ? mDevices.front() : nullptr;
    }
    bool hasCache() const { return mCache != nullptr; }

  private:
    using Token = std::array<uint8_t, 32>;

    Answer checkOpen() const;
    Answer compileInto(Compiled& compiled) const;

    const std::shared_ptr<const FinishedModel> mModel;
    ExtensionPrefixes& mPrefixes;
    const std::vector<const RuntimeDevice*> mDevices;
    const bool mIsExplicit;
    bool mIsClosed = false;
    driver::ExecutionPreference mPreference = driver::ExecutionPreference::FAST_SINGLE_ANSWER;
    driver::Priority mPriority = driver::Priority::MEDIUM;
    std::chrono::nanoseconds mTimeout = {};
    driver::ExtensionHints mHints;
    std::shared_ptr<class CompilationFiles> mCache;
    std::shared_ptr<const Compiled> mCompiled;
};

// The hint as devices are told it. BAD_DATA: no device has the extension, or it is there already.
Answer addHint(ExtensionPrefixes& prefixes, std::string_view extension, uint16_t code,
               std::span<const uint8_t> data, driver::ExtensionHints& hints);

}  // namespace halyard::nnapi

struct ANeuralNetworksCompilation final : halyard::nnapi::CompilationBuilder {
    using CompilationBuilder::CompilationBuilder;
};
