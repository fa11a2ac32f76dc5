// SPDX-License-Identifier: Apache-2.0
//
// Models that are cut between devices, one of which refuses operations or fails at some call: the
// results of the reference, or a clean error.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "nnapi/compilation.h"
#include "nnapi/memory.h"
#include "nnapi/runtime.h"
#include "tests/nnapi/c_objects.h"
#include "tests/nnapi/compute_modes.h"
#include "tests/nnapi/failing_device.h"

namespace halyard::nnapi_test {
namespace {

using nnapi::RuntimeDevice;

const std::vector<uint32_t> kExtents = {3, 5};
constexpr size_t kElements = 15;

// A model of operations whose results each backend has bit for bit.
struct RandomModel {
    Model model;
    size_t operations = 0;
};

RandomModel randomModel(std::mt19937& random) {
    constexpr std::array kOperations = {ANEURALNETWORKS_ADD, ANEURALNETWORKS_MUL,
                                        ANEURALNETWORKS_SUB, ANEURALNETWORKS_MAXIMUM,
                                        ANEURALNETWORKS_MINIMUM};
    ModelText text;
    std::vector<uint32_t> tensors = {text.floats(kExtents), text.floats(kExtents)};
    const uint32_t a = tensors[0];
    const uint32_t b = tensors[1];
    tensors.push_back(text.constant(kExtents, std::vector<float>(kElements, 0.5F)));
    const size_t count = 3 + random() % 12;
    for (size_t i = 0; i < count; ++i) {
        const int32_t code = kOperations[random() % kOperations.size()];
        const uint32_t left = tensors[random() % tensors.size()];
        const uint32_t right = tensors[random() % tensors.size()];
        if (code == ANEURALNETWORKS_MAXIMUM || code == ANEURALNETWORKS_MINIMUM) {
            const uint32_t result = text.floats(kExtents);
            text.operation(code, {left, right}, {result});
            tensors.push_back(result);
        } else {
            tensors.push_back(text.binary(code, left, right, kExtents));
        }
    }
    text.identify({a, b}, {tensors[tensors.size() - 2], tensors.back()});
    return {.model = text.finish(), .operations = count};
}

struct Inputs {
    std::vector<float> a = std::vector<float>(kElements);
    std::vector<float> b = std::vector<float>(kElements);

    Inputs() {
        for (size_t i = 0; i < kElements; ++i) {
            a[i] = static_cast<float>(i) * 0.25F - 1;
            b[i] = 1.5F - static_cast<float>(i) * 0.125F;
        }
    }
};

struct Outputs {
    int code = ANEURALNETWORKS_NO_ERROR;
    std::vector<float> first = std::vector<float>(kElements);
    std::vector<float> second = std::vector<float>(kElements);
};

Outputs computed(const Compilation& compilation, ComputeMode mode) {
    const Inputs inputs;
    Outputs outputs;
    ANeuralNetworksExecution* made = nullptr;
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_create(compilation.get(), &made));
    const Execution execution(made);
    HALYARD_EXPECT_NO_ERROR(setInput(execution, 0, inputs.a));
    HALYARD_EXPECT_NO_ERROR(setInput(execution, 1, inputs.b));
    HALYARD_EXPECT_NO_ERROR(setOutput(execution, 0, outputs.first));
    HALYARD_EXPECT_NO_ERROR(setOutput(execution, 1, outputs.second));
    outputs.code = computeIn(mode, compilation, execution);
    return outputs;
}

class NnapiPartitioning : public testing::Test {
  protected:
    NnapiPartitioning() : mRandom(kSeed) { RecordProperty("seed", std::to_string(kSeed)); }

    // On a device with these faults and, unless it is explicit, on the reference.
    Compilation newCompilation(const Model& model, bool isExplicit) {
        mDevice = runtimeDevice("failing", RuntimeDevice::Place::IN_PROCESS,
                                makeFailingDevice(mBackend, mFaults));
        std::vector<const RuntimeDevice*> devices = {mDevice.get()};
        if (!isExplicit) {
            devices.push_back(mReference.get());
        }
        return Compilation(new ANeuralNetworksCompilation(model->finished(),
                                                          nnapi::Runtime::instance().prefixes(),
                                                          std::move(devices), isExplicit));
    }
    Outputs expected(const Model& model) const {
        const Compilation compilation(new ANeuralNetworksCompilation(
                model->finished(), nnapi::Runtime::instance().prefixes(), {mReference.get()},
                false));
        HALYARD_EXPECT_NO_ERROR(ANeuralNetworksCompilation_finish(compilation.get()));
        return computed(compilation, ComputeMode::COMPUTE);
    }

    static constexpr uint32_t kSeed = 45;
    std::mt19937 mRandom;
    const std::shared_ptr<Faults> mFaults = std::make_shared<Faults>();
    const std::shared_ptr<driver::IDevice> mBackend = localDevice("CpuAcc");
    const std::unique_ptr<ANeuralNetworksDevice> mReference = runtimeDevice(
            "nnapi-reference", RuntimeDevice::Place::REFERENCE, localDevice("CpuRef"));
    std::unique_ptr<ANeuralNetworksDevice> mDevice;
};

TEST_F(NnapiPartitioning, GivesTheReferencesResultsWhereverAModelIsCut) {
    size_t cut = 0;
    for (int round = 0; round < 60; ++round) {
        const RandomModel random = randomModel(mRandom);
        std::vector<bool> taken(random.operations);
        std::generate(taken.begin(), taken.end(), [&] { return mRandom() % 2 == 0; });
        mFaults->takes = [taken](size_t operation) { return taken[operation]; };
        const Outputs wanted = expected(random.model);
        const Compilation compilation = newCompilation(random.model, false);
        ASSERT_EQ(ANeuralNetworksCompilation_finish(compilation.get()), ANEURALNETWORKS_NO_ERROR);
        cut += compilation->compiled()->plan.steps.size() > 1 ? 1 : 0;
        for (const ComputeMode mode : kComputeModes) {
            const Outputs outputs = computed(compilation, mode);
            ASSERT_EQ(outputs.code, ANEURALNETWORKS_NO_ERROR) << "round " << round;
            ASSERT_EQ(outputs.first, wanted.first) << "round " << round;
            ASSERT_EQ(outputs.second, wanted.second) << "round " << round;
        }
    }
    EXPECT_GT(cut, 40U);
}

TEST_F(NnapiPartitioning, FallsBackAtWhicheverCallADeviceFails) {
    const std::array failures = {Status(StatusCode::INTERNAL, "broken"),
                                 Status(StatusCode::UNAVAILABLE, "gone"),
                                 Status(StatusCode::RESOURCE_EXHAUSTED, "full"),
                                 Status(StatusCode::INVALID_ARGUMENT, "not understood")};
    size_t reached = 0;
    for (const ComputeMode mode : kComputeModes) {
        for (size_t failing = 0; failing < 12; ++failing) {
            const RandomModel random = randomModel(mRandom);
            const Outputs wanted = expected(random.model);
            const Status failure = failures[failing % failures.size()];
            // From then on all of them, or just the one.
            const bool isForGood = mRandom() % 2 == 0;
            std::atomic<size_t> failed = 0;
            mFaults->calls = 0;
            mFaults->fault = [&](size_t call) {
                const bool fails = isForGood ? call >= failing : call == failing;
                failed += fails ? 1 : 0;
                return fails ? failure : Status();
            };
            for (const bool isExplicit : {false, true}) {
                mFaults->calls = 0;
                failed = 0;
                const Compilation compilation = newCompilation(random.model, isExplicit);
                int code = ANeuralNetworksCompilation_finish(compilation.get());
                Outputs outputs;
                if (code == ANEURALNETWORKS_NO_ERROR) {
                    outputs = computed(compilation, mode);
                    code = outputs.code;
                }
                SCOPED_TRACE("mode " + std::to_string(static_cast<int>(mode)) + ", call " +
                             std::to_string(failing) + ", explicit " + std::to_string(isExplicit));
                reached += failed > 0 ? 1 : 0;
                if (!isExplicit || failed == 0) {
                    ASSERT_EQ(code, ANEURALNETWORKS_NO_ERROR);
                    ASSERT_EQ(outputs.first, wanted.first);
                    ASSERT_EQ(outputs.second, wanted.second);
                } else if (code == ANEURALNETWORKS_NO_ERROR) {
                    // What it failed at was not needed.
                    ASSERT_EQ(outputs.first, wanted.first);
                } else {
                    ASSERT_TRUE(code == ANEURALNETWORKS_OP_FAILED ||
                                code == ANEURALNETWORKS_BAD_DATA ||
                                code == ANEURALNETWORKS_DEAD_OBJECT ||
                                code == ANEURALNETWORKS_UNAVAILABLE_DEVICE ||
                                code == ANEURALNETWORKS_RESOURCE_EXHAUSTED_TRANSIENT ||
                                code == ANEURALNETWORKS_RESOURCE_EXHAUSTED_PERSISTENT)
                            << code;
                }
            }
        }
    }
    EXPECT_GT(reached, 20U);
}

// A model's parts each have files of their own, and come back from them.
TEST_F(NnapiPartitioning, FindsThePartsOfACutModelInItsCache) {
    const std::string folder = testing::TempDir() + "halyard-parts";
    std::filesystem::remove_all(folder);
    std::filesystem::create_directory(folder);
    const RandomModel random = randomModel(mRandom);
    mFaults->takes = [](size_t operation) { return operation % 2 == 0; };
    const Outputs wanted = expected(random.model);
    const std::array<uint8_t, 32> token = {1, 2, 3};
    for (const bool isKept : {false, true}) {
        mFaults->prepared = 0;
        const Compilation compilation = newCompilation(random.model, false);
        HALYARD_EXPECT_NO_ERROR(ANeuralNetworksCompilation_setCaching(
                compilation.get(), folder.c_str(), token.data()));
        HALYARD_EXPECT_NO_ERROR(ANeuralNetworksCompilation_finish(compilation.get()));
        EXPECT_EQ(mFaults->prepared > 0, !isKept);
        const Outputs outputs = computed(compilation, ComputeMode::COMPUTE);
        EXPECT_EQ(outputs.first, wanted.first);
        EXPECT_EQ(outputs.second, wanted.second);
    }
    std::filesystem::remove_all(folder);
}

// By descriptors, for the one device that is chosen: as a support library is told.
TEST_F(NnapiPartitioning, FindsAModelInTheDescriptorsOfItsCache) {
    const driver::NumberOfCacheFiles count = mBackend->numberOfCacheFiles().value();
    const auto opened = [](uint32_t files) {
        std::vector<int> descriptors;
        for (uint32_t i = 0; i < files; ++i) {
            descriptors.push_back(memfd_create("cache", MFD_CLOEXEC));
        }
        return descriptors;
    };
    const std::vector<int> models = opened(count.model);
    const std::vector<int> data = opened(count.data);
    const RandomModel random = randomModel(mRandom);
    const Outputs wanted = expected(random.model);
    const auto compileWith = [&](const std::array<uint8_t, 32>& token) {
        mFaults->prepared = 0;
        Compilation compilation = newCompilation(random.model, true);
        EXPECT_TRUE(compilation->setCachingFromDescriptors(models, data, token).ok());
        HALYARD_EXPECT_NO_ERROR(ANeuralNetworksCompilation_finish(compilation.get()));
        EXPECT_EQ(computed(compilation, ComputeMode::COMPUTE).first, wanted.first);
        return mFaults->prepared.load();
    };
    EXPECT_EQ(compileWith({1}), 1U);
    EXPECT_EQ(compileWith({1}), 0U);
    EXPECT_EQ(compileWith({2}), 1U) << "another token is another model";
    for (const std::vector<int>& descriptors : {models, data}) {
        for (const int each : descriptors) {
            close(each);
        }
    }
}

// Where no device can have a memory for all its roles, or none has room, it is one that all reach.
TEST_F(NnapiPartitioning, KeepsResultsInMemoryThatAllDevicesReach) {
    const RandomModel random = randomModel(mRandom);
    const Outputs wanted = expected(random.model);
    for (const bool isCut : {true, false}) {
        mFaults->takes = [isCut](size_t operation) { return !isCut || operation % 2 == 0; };
        mFaults->fault = nullptr;
        const Compilation compilation = newCompilation(random.model, false);
        HALYARD_EXPECT_NO_ERROR(ANeuralNetworksCompilation_finish(compilation.get()));
        mFaults->fault = [isCut](size_t /*call*/) {
            return isCut ? Status() : Status(StatusCode::RESOURCE_EXHAUSTED, "no room");
        };
        ANeuralNetworksMemoryDesc* made = nullptr;
        HALYARD_EXPECT_NO_ERROR(ANeuralNetworksMemoryDesc_create(&made));
        const MemoryDescription description(made);
        HALYARD_EXPECT_NO_ERROR(
                ANeuralNetworksMemoryDesc_addOutputRole(made, compilation.get(), 1, 1.0F));
        HALYARD_EXPECT_NO_ERROR(
                ANeuralNetworksMemoryDesc_addInputRole(made, compilation.get(), 1, 1.0F));
        HALYARD_EXPECT_NO_ERROR(ANeuralNetworksMemoryDesc_finish(made));
        ANeuralNetworksMemory* allocated = nullptr;
        ASSERT_EQ(ANeuralNetworksMemory_createFromDesc(made, &allocated), ANEURALNETWORKS_NO_ERROR);
        const Memory memory(allocated);
        EXPECT_EQ(memory->buffer(), nullptr);
        mFaults->fault = nullptr;
        Outputs outputs;
        const auto compute = [&](bool readsIt) {
            const Execution execution = newExecution(compilation);
            const Inputs inputs;
            HALYARD_EXPECT_NO_ERROR(setInput(execution, 0, inputs.a));
            HALYARD_EXPECT_NO_ERROR(setOutput(execution, 0, outputs.first));
            HALYARD_EXPECT_NO_ERROR(
                    readsIt ? ANeuralNetworksExecution_setInputFromMemory(
                                      execution.get(), 1, nullptr, memory.get(), 0, 0)
                            : setInput(execution, 1, inputs.b));
            HALYARD_EXPECT_NO_ERROR(
                    readsIt ? setOutput(execution, 1, outputs.second)
                            : ANeuralNetworksExecution_setOutputFromMemory(
                                      execution.get(), 1, nullptr, memory.get(), 0, 0));
            return ANeuralNetworksExecution_compute(execution.get());
        };
        EXPECT_EQ(compute(true), ANEURALNETWORKS_OP_FAILED);  // nothing was written
        HALYARD_EXPECT_NO_ERROR(compute(false));
        EXPECT_EQ(outputs.first, wanted.first);
        HALYARD_EXPECT_NO_ERROR(compute(true));
        // It is the operand's as a whole, and of no other one.
        const Execution execution = newExecution(compilation);
        for (const auto& [input, length] : {std::pair(0, 0), std::pair(1, 60)}) {
            EXPECT_EQ(ANeuralNetworksExecution_setInputFromMemory(execution.get(), input, nullptr,
                                                                  memory.get(), 0,
                                                                  static_cast<size_t>(length)),
                      ANEURALNETWORKS_BAD_DATA);
        }
    }
}

// A device in the process reads and writes where the program's pointers and descriptors say.
TEST_F(NnapiPartitioning, BindsArgumentsWhereTheyLie) {
    const RandomModel random = randomModel(mRandom);
    const Compilation compilation = newCompilation(random.model, false);
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksCompilation_finish(compilation.get()));
    std::vector<const uint8_t*> places;
    mFaults->seen = [&](const driver::Request& request) {
        const auto note = [&](const driver::RequestArgument& argument) {
            const auto* const pool =
                    std::get_if<driver::SharedMemory>(&request.pools[argument.location.poolIndex]);
            ASSERT_NE(pool, nullptr);
            const Result<std::span<uint8_t>> bytes = (*pool)->map();
            ASSERT_TRUE(bytes.ok());
            places.push_back(bytes->data() + argument.location.offset);
        };
        std::ranges::for_each(request.inputs, note);
        std::ranges::for_each(request.outputs, note);
    };
    for (const ComputeMode mode : kComputeModes) {
        places.clear();
        const Inputs inputs;
        Outputs outputs;
        const Execution execution = newExecution(compilation);
        HALYARD_EXPECT_NO_ERROR(setInput(execution, 0, inputs.a));
        HALYARD_EXPECT_NO_ERROR(setInput(execution, 1, inputs.b));
        HALYARD_EXPECT_NO_ERROR(setOutput(execution, 0, outputs.first));
        HALYARD_EXPECT_NO_ERROR(setOutput(execution, 1, outputs.second));
        HALYARD_EXPECT_NO_ERROR(computeIn(mode, compilation, execution));
        const auto at = [](const std::vector<float>& values) {
            return reinterpret_cast<const uint8_t*>(values.data());
        };
        const std::vector<const uint8_t*> bound = {at(inputs.a), at(inputs.b), at(outputs.first),
                                                   at(outputs.second)};
        ASSERT_GE(places.size(), bound.size());
        EXPECT_EQ(std::vector(places.begin(), places.begin() + 4), bound)
                << "mode " << static_cast<int>(mode);
    }
}

}  // namespace
}  // namespace halyard::nnapi_test
