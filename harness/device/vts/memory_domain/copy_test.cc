// SPDX-License-Identifier: Apache-2.0

#include "harness/device/vts/memory_domain/copy_test.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hal/memory/shared_memory.h"
#include "harness/device/vts/memory_domain/setting.h"

namespace halyard::vts {
namespace {

using driver::ErrorStatus;
using driver::HalVersion;
using Dimensions = std::vector<uint32_t>;

// The first failure counts.
class Copies {
  public:
    Copies(const DomainSetting& setting, driver::IBuffer& buffer)
        : mSetting(setting), mBuffer(buffer) {}

    // Memory of so many times the operand's size.
    Copies& from(double sizes, const Dimensions& dimensions, ErrorStatus wanted,
                 std::string_view what) {
        return copy(sizes, wanted, "copyFrom " + std::string(what),
                    [&](const driver::SharedMemory& memory) {
                        return mBuffer.copyFrom(memory, dimensions);
                    });
    }
    Copies& to(double sizes, ErrorStatus wanted, std::string_view what) {
        return copy(sizes, wanted, "copyTo " + std::string(what),
                    [&](const driver::SharedMemory& memory) { return mBuffer.copyTo(memory); });
    }
    Verdict verdict() const { return mVerdict; }

  private:
    template <typename Call>
    Copies& copy(double sizes, ErrorStatus wanted, const std::string& what, const Call& call) {
        const auto bytes = static_cast<size_t>(sizes * mSetting.bytes());
        const Result<hal::ExportedMemory> memory = hal::createSharedMemory(bytes);
        if (mVerdict.hasPassed()) {
            mVerdict = memory.ok() ? mSetting.expect(call(memory->memory), wanted, what)
                                   : failed(memory.status().toString());
        }
        return *this;
    }

    const DomainSetting& mSetting;
    driver::IBuffer& mBuffer;
    Verdict mVerdict;
};

// A buffer for the input and the output of a convolution. `batches`: 0: not said.
template <typename Check>
Verdict withBuffer(const DomainSetting& setting, uint32_t batches, const Check& check) {
    const Preparation prepared =
            setting.context().prepare(convolutions(setting.operandWith(0, batches)));
    if (prepared.model == nullptr) {
        return prepared.verdict;
    }
    const DomainBuffer given = setting.allocate(prepared.model, {0}, {0});
    if (given.buffer == nullptr) {
        return given.verdict;
    }
    Copies copies(setting, *given.buffer);
    check(copies);
    return copies.verdict();
}

Dimensions withExtent(Dimensions dimensions, size_t axis, uint32_t extent) {
    dimensions[axis] = extent;
    return dimensions;
}

Dimensions withoutLast(Dimensions dimensions) {
    dimensions.pop_back();
    return dimensions;
}

using enum ErrorStatus;

Verdict copyFromInvalidMemorySize(const DomainSetting& setting) {
    return withBuffer(setting, 1, [](Copies& copies) {
        copies.from(0.5, {}, INVALID_ARGUMENT, "of half the size")
                .from(2, {}, INVALID_ARGUMENT, "of twice the size");
    });
}

Verdict copyFromInvalidMemorySizeDynamicShape(const DomainSetting& setting) {
    const Dimensions& whole = setting.operand().dimensions;
    return withBuffer(setting, 0, [&](Copies& copies) {
        copies.from(0.5, whole, INVALID_ARGUMENT, "of half the size")
                .from(2, whole, INVALID_ARGUMENT, "of twice the size")
                .from(1, whole, NONE, "of the right size")
                .from(1, withExtent(whole, 0, 2), INVALID_ARGUMENT, "of another shape's size");
    });
}

Verdict copyFromInvalidDimensions(const DomainSetting& setting) {
    const Dimensions& whole = setting.operand().dimensions;
    return withBuffer(setting, 1, [&](Copies& copies) {
        copies.from(1, withoutLast(whole), INVALID_ARGUMENT, "of another rank")
                .from(1, withExtent(whole, 0, 2), INVALID_ARGUMENT, "of another shape")
                .from(1, withExtent(whole, 0, 0), INVALID_ARGUMENT, "of an unknown dimension")
                .from(1, {}, NONE, "of the buffer's own dimensions")
                .from(1, whole, NONE, "of the right dimensions");
    });
}

Verdict copyFromInvalidDimensionsDynamicShape(const DomainSetting& setting) {
    const Dimensions& whole = setting.operand().dimensions;
    return withBuffer(setting, 0, [&](Copies& copies) {
        copies.from(1, withoutLast(whole), INVALID_ARGUMENT, "of another rank")
                .from(1, withExtent(withExtent(whole, 0, 2), 3, 4), INVALID_ARGUMENT,
                      "of another shape")
                .from(1, withExtent(whole, 3, 0), INVALID_ARGUMENT, "of an unknown dimension")
                .from(1, {}, INVALID_ARGUMENT, "of dimensions that are not known")
                .from(1, whole, NONE, "of the right dimensions");
    });
}

Verdict copyToUninitializedMemory(const DomainSetting& setting) {
    return withBuffer(setting, 1, [](Copies& copies) {
        copies.to(1, GENERAL_FAILURE, "of a buffer with nothing in it");
    });
}

void checkSizesOfTarget(const DomainSetting& setting, Copies& copies) {
    copies.from(1, setting.operand().dimensions, NONE, "of the right dimensions")
            .to(0.5, INVALID_ARGUMENT, "of half the size")
            .to(2, INVALID_ARGUMENT, "of twice the size")
            .to(1, NONE, "of the right size");
}

Verdict copyToInvalidMemorySize(const DomainSetting& setting) {
    return withBuffer(setting, 1, [&](Copies& copies) { checkSizesOfTarget(setting, copies); });
}

Verdict copyToInvalidMemorySizeDynamicShape(const DomainSetting& setting) {
    return withBuffer(setting, 0, [&](Copies& copies) { checkSizesOfTarget(setting, copies); });
}

}  // namespace

Checks memoryDomainCopyTest() {
    static constexpr DomainRow kRows[] = {
            {"CopyFrom_InvalidMemorySize", copyFromInvalidMemorySize},
            {"CopyFrom_InvalidMemorySize_DynamicShape", copyFromInvalidMemorySizeDynamicShape},
            {"CopyFrom_InvalidDimensions", copyFromInvalidDimensions},
            {"CopyFrom_InvalidDimensions_DynamicShape", copyFromInvalidDimensionsDynamicShape},
            {"CopyTo_UninitializedMemory", copyToUninitializedMemory},
            {"CopyTo_InvalidMemorySize", copyToInvalidMemorySize},
            {"CopyTo_InvalidMemorySize_DynamicShape", copyToInvalidMemorySizeDynamicShape},
    };
    Checks checks;
    for (const DomainRow& row : kRows) {
        addDomainChecks("MemoryDomainCopyTest", row, HalVersion::V1_3, driver::kNewestVersion,
                        checks);
    }
    return checks;
}

}  // namespace halyard::vts
