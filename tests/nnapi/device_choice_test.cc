// SPDX-License-Identifier: Apache-2.0
//
// Which device an operation goes to: one that takes it, of these the fastest, or the one that needs
// the least power; and what devices of older versions are asked.

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "nnapi/compilation.h"
#include "nnapi/runtime.h"
#include "tests/nnapi/c_objects.h"
#include "tests/nnapi/failing_device.h"

namespace halyard::nnapi_test {
namespace {

const std::vector<uint32_t> kThree = {3};
const std::vector<float> kLeft = {1, 5, 3};
const std::vector<float> kRight = {4, 2, 6};

// max(a + b, b): of HAL version 1.0, and of 1.2.
Model largerOfSum() {
    ModelText text;
    const uint32_t a = text.floats(kThree);
    const uint32_t b = text.floats(kThree);
    const uint32_t sum = text.binary(ANEURALNETWORKS_ADD, a, b, kThree);
    const uint32_t larger = text.floats(kThree);
    text.operation(ANEURALNETWORKS_MAXIMUM, {sum, b}, {larger});
    text.identify({a, b}, {larger});
    return text.finish();
}

// As they are listed, with the reference behind them.
class ListedDevices {
  public:
    std::shared_ptr<Faults> add(std::string name, std::shared_ptr<Faults> faults) {
        mDevices.push_back(runtimeDevice(std::move(name), nnapi::RuntimeDevice::Place::IN_PROCESS,
                                         makeFailingDevice(localDevice("CpuAcc"), faults)));
        return faults;
    }
    Compilation compilation(const Model& model) {
        std::vector<const nnapi::RuntimeDevice*> devices;
        for (const auto& device : mDevices) {
            devices.push_back(device.get());
        }
        devices.push_back(mReference.get());
        return Compilation(new ANeuralNetworksCompilation(model->finished(),
                                                          nnapi::Runtime::instance().prefixes(),
                                                          std::move(devices), false));
    }

  private:
    std::vector<std::unique_ptr<ANeuralNetworksDevice>> mDevices;
    const std::unique_ptr<ANeuralNetworksDevice> mReference = runtimeDevice(
            "nnapi-reference", nnapi::RuntimeDevice::Place::REFERENCE, localDevice("CpuRef"));
};

std::shared_ptr<Faults> claiming(float execTime, float powerUsage) {
    auto faults = std::make_shared<Faults>();
    faults->performance = driver::PerformanceInfo{.execTime = execTime, .powerUsage = powerUsage};
    return faults;
}

void expectLargerOfSum(const Compilation& compilation) {
    const Execution execution = newExecution(compilation);
    std::vector<float> output(3);
    HALYARD_EXPECT_NO_ERROR(setInput(execution, 0, kLeft));
    HALYARD_EXPECT_NO_ERROR(setInput(execution, 1, kRight));
    HALYARD_EXPECT_NO_ERROR(setOutput(execution, 0, output));
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_compute(execution.get()));
    EXPECT_EQ(output, (std::vector<float>{5, 7, 9}));
}

TEST(NnapiDeviceChoice, IsTheFastestOrWhatTakesTheLeastPower) {
    for (const auto& [preference, isFrugal] :
         {std::pair(ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER, false),
          std::pair(ANEURALNETWORKS_PREFER_SUSTAINED_SPEED, false),
          std::pair(ANEURALNETWORKS_PREFER_LOW_POWER, true)}) {
        ListedDevices devices;
        const auto frugal = devices.add("frugal", claiming(0.8F, 0.1F));
        const auto quick = devices.add("quick", claiming(0.2F, 0.9F));
        const Compilation compilation = devices.compilation(largerOfSum());
        HALYARD_EXPECT_NO_ERROR(
                ANeuralNetworksCompilation_setPreference(compilation.get(), preference));
        HALYARD_EXPECT_NO_ERROR(ANeuralNetworksCompilation_finish(compilation.get()));
        EXPECT_EQ(frugal->prepared, isFrugal ? 1U : 0U) << preference;
        EXPECT_EQ(quick->prepared, isFrugal ? 0U : 1U) << preference;
        expectLargerOfSum(compilation);
    }
}

TEST(NnapiDeviceChoice, IsTheReferenceWhereAllOthersClaimToBeSlower) {
    ListedDevices devices;
    const auto slow = devices.add("slow", claiming(1.5F, 1.5F));
    const Compilation compilation = devices.compilation(largerOfSum());
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksCompilation_finish(compilation.get()));
    EXPECT_EQ(slow->prepared, 0U);
    expectLargerOfSum(compilation);
}

// Neighbours are one part: the device is handed both at once.
TEST(NnapiDeviceChoice, MakesNeighboursOnePart) {
    ListedDevices devices;
    const auto first = claiming(0.5F, 0.5F);
    first->takes = [](size_t operation) { return operation == 0; };
    devices.add("first", first);
    const auto second = devices.add("second", claiming(0.7F, 0.7F));
    ModelText text;
    const uint32_t a = text.floats(kThree);
    const uint32_t sum = text.binary(ANEURALNETWORKS_ADD, a, a, kThree);
    const uint32_t square = text.binary(ANEURALNETWORKS_MUL, sum, sum, kThree);
    text.identify({a}, {text.binary(ANEURALNETWORKS_SUB, square, a, kThree)});
    const Model model = text.finish();
    const Compilation compilation = devices.compilation(model);
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksCompilation_finish(compilation.get()));
    EXPECT_EQ(first->prepared, 1U);
    EXPECT_EQ(second->prepared, 1U);
    EXPECT_EQ(compilation->compiled()->plan.steps.size(), 2U);
}

TEST(NnapiDeviceChoice, AsksOlderDevicesAboutWhatTheyCanBeTold) {
    ListedDevices devices;
    const auto old = claiming(0.1F, 0.1F);
    old->version = driver::HalVersion::V1_0;
    std::vector<driver::OperationType> asked;
    old->asked = [&](const driver::Model& model) {
        for (const driver::Operation& operation : model.main.operations) {
            asked.push_back(operation.type);
        }
    };
    devices.add("old", old);
    const Compilation compilation = devices.compilation(largerOfSum());
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksCompilation_finish(compilation.get()));
    EXPECT_EQ(asked, (std::vector{driver::OperationType::ADD}));
    EXPECT_EQ(old->prepared, 1U);
    EXPECT_EQ(compilation->compiled()->plan.steps.size(), 2U);
    expectLargerOfSum(compilation);
}

}  // namespace
}  // namespace halyard::nnapi_test
