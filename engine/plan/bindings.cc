// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/bindings.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <string>

#include "engine/base/checked_math.h"
#include "engine/graph/shape_inference.h"

namespace halyard::engine {
namespace {

Status checkDevice(const DeviceBytes& device) {
    if (device.memory == nullptr) {
        return {};
    }
    const DevicePlace& place = device.place;
    if (place.buffer == nullptr ||
        !rangeFits<size_t>(place.offset, device.bytes, place.buffer->size())) {
        return invalidArgument("not all of its bytes are in the device's block");
    }
    return place.offset % device.memory->alignment() == 0
                   ? Status()
                   : invalidArgument("it starts at offset " + std::to_string(place.offset) +
                                     " of a device's block, no multiple of " +
                                     std::to_string(device.memory->alignment()));
}

// Shape of a bound input.
Result<Shape> checkInput(const TensorType& expected, const InputBinding& input) {
    if (!input.shape.isFullyKnown()) {
        return invalidArgument("shape " + input.shape.toString() + " is not fully known");
    }
    HALYARD_ASSIGN_OR_RETURN(const Shape shape, mergeShapes(expected.shape, input.shape));
    HALYARD_ASSIGN_OR_RETURN(const int64_t count, shape.elementCount());
    const size_t bytes = static_cast<size_t>(count) * elementSize(expected.type);
    if (input.size() < bytes) {
        return invalidArgument(std::string(toString(expected.type)) + shape.toString() + " takes " +
                               std::to_string(bytes) + " bytes but " +
                               std::to_string(input.size()) + " are bound");
    }
    HALYARD_RETURN_IF_ERROR(checkDevice(input.device));
    return shape;
}

}  // namespace

Status checkInputs(const Schedule& schedule, std::span<const InputBinding> inputs,
                   std::span<MaybeShape> shapes) {
    if (inputs.size() != schedule.inputs.size()) {
        return invalidArgument(std::to_string(inputs.size()) +
                               " inputs are bound to a graph with " +
                               std::to_string(schedule.inputs.size()));
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (!inputs[i].present) {
            shapes[i] = std::nullopt;
            continue;
        }
        Result<Shape> shape = checkInput(schedule.graphType(schedule.inputs[i]), inputs[i]);
        if (!shape.ok()) {
            return shape.status().withContext("graph input " + std::to_string(i));
        }
        shapes[i] = *shape;
    }
    return {};
}

Status checkOutputs(std::span<const RunOutput> outputs) {
    for (size_t i = 0; i < outputs.size(); ++i) {
        const Status status = outputs[i].present ? checkDevice(outputs[i].device) : Status();
        if (!status.ok()) {
            return status.withContext("graph output " + std::to_string(i));
        }
    }
    return {};
}

bool isAligned(const void* address, DataType type) {
    return reinterpret_cast<uintptr_t>(address) % elementSize(type) == 0;
}

Status checkGiven(std::span<const uint8_t> given, size_t bytes, size_t alignment) {
    if (given.data() == nullptr || given.size() < bytes) {
        return invalidArgument("the memory given for it has " + std::to_string(given.size()) +
                               " bytes; it was asked for " + std::to_string(bytes));
    }
    if (reinterpret_cast<uintptr_t>(given.data()) % alignment != 0) {
        return invalidArgument("the memory given for it starts at no multiple of " +
                               std::to_string(alignment));
    }
    return {};
}

Status checkDisjoint(std::span<const uint8_t> given, std::span<const InputBinding> inputs,
                     std::span<const RunOutput> outputs) {
    const auto meets = [&](std::span<const uint8_t> bound) {
        const auto begin = reinterpret_cast<uintptr_t>(bound.data());
        const auto own = reinterpret_cast<uintptr_t>(given.data());
        return !bound.empty() && begin < own + given.size() && own < begin + bound.size();
    };
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i].present && meets(inputs[i].bytes)) {
            return invalidArgument("the memory given for it overlaps graph input " +
                                   std::to_string(i));
        }
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
        if (outputs[i].present && meets(outputs[i].bytes)) {
            return invalidArgument("the memory given for it overlaps graph output " +
                                   std::to_string(i));
        }
    }
    return {};
}

OverlapFinder::OverlapFinder(size_t inputCount, size_t outputCount) {
    mRanges.reserve(inputCount + outputCount);
}

void OverlapFinder::find(std::span<const InputBinding> inputs, std::span<const RunOutput> outputs,
                         std::span<uint8_t> overlaps) {
    const auto add = [this](const DeviceBytes& device, const void* data, size_t size,
                            size_t output) {
        if (size > 0) {
            const DeviceBuffer* const block =
                    device.memory == nullptr ? nullptr : device.place.buffer;
            const auto begin = block == nullptr ? reinterpret_cast<uintptr_t>(data)
                                                : uintptr_t{device.place.offset};
            mRanges.push_back(
                    {.block = block, .begin = begin, .end = begin + size, .output = output});
        }
    };
    mRanges.clear();
    for (const InputBinding& input : inputs) {
        add(input.device, input.bytes.data(), input.present ? input.size() : 0, kInput);
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
        overlaps[i] = 0;
        add(outputs[i].device, outputs[i].bytes.data(), outputs[i].present ? outputs[i].size() : 0,
            i);
    }
    std::ranges::sort(mRanges, [](const Range& a, const Range& b) {
        return a.block == b.block ? a.begin < b.begin : std::less<>()(a.block, b.block);
    });

    // A range shares bytes with one that begins no later if the furthest end so far lies behind its
    // beginning, and with one that begins no earlier if its end lies behind the next beginning.
    uintptr_t furthestEnd = 0;
    for (size_t i = 0; i < mRanges.size(); ++i) {
        const Range& range = mRanges[i];
        if (i == 0 || mRanges[i - 1].block != range.block) {
            furthestEnd = 0;
        }
        const bool meetsNext = i + 1 < mRanges.size() && mRanges[i + 1].block == range.block &&
                               mRanges[i + 1].begin < range.end;
        if (range.output != kInput && (range.begin < furthestEnd || meetsNext)) {
            overlaps[range.output] = 1;
        }
        furthestEnd = std::max(furthestEnd, range.end);
    }
}

}  // namespace halyard::engine
