// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/shared_places.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <variant>

#include "engine/graph/shape_inference.h"

namespace halyard::engine {
namespace {

// The axis that the node joins its inputs along, or puts them one behind the other.
std::optional<int32_t> joinedAxisOf(const NodeDescriptor& descriptor) {
    if (const auto* concat = std::get_if<Concat>(&descriptor)) {
        return concat->axis;
    }
    if (const auto* pack = std::get_if<Pack>(&descriptor)) {
        return pack->axis;
    }
    return std::nullopt;
}

bool reshapes(const NodeDescriptor& descriptor) {
    return std::holds_alternative<Reshape>(descriptor) ||
           std::holds_alternative<Squeeze>(descriptor) ||
           std::holds_alternative<ExpandDims>(descriptor);
}

// 0 where it can't be told.
size_t bytesOf(const TensorType& type) {
    const Result<size_t> bytes =
            type.shape.isFullyKnown() ? type.byteSize() : Result<size_t>(size_t{0});
    return bytes.ok() ? *bytes : 0;
}

class PlaceFinder {
  public:
    PlaceFinder(const PartitionLayout& layout, std::span<const TensorType> types)
        : mLayout(layout), mTypes(types) {
        for (LocalId local = 0; local < layout.tensors.size(); ++local) {
            mShared.places.push_back({.host = local, .offset = 0});
            mRoots.push_back(local);
            mLastReads.push_back(layout.tensors[local].lastStep);
        }
    }

    SharedPlaces find(const std::vector<bool>& isOpen,
                      std::span<const std::optional<size_t>> replaceable, bool joins) {
        for (size_t i = 0; i < mLayout.steps.size(); ++i) {
            const LocalStep& step = mLayout.steps[i];
            const bool alone = step.nodes.size() == 1 && !isOpen[i];
            mShared.inPlace.push_back(alone && placeInputs(step, joins));
            if (!isOpen[i] && i < replaceable.size() && replaceable[i].has_value()) {
                replace(i, *replaceable[i]);
            }
        }
        // A host is the output of a later step than what lies in it.
        for (LocalId local = mShared.places.size(); local-- > 0;) {
            SharedPlaces::Place& place = mShared.places[local];
            if (place.host != local) {
                const SharedPlaces::Place& host = mShared.places[place.host];
                place = {.host = host.host, .offset = place.offset + host.offset};
            }
        }
        return std::move(mShared);
    }

  private:
    // Whether that leaves the step nothing to do.
    bool placeInputs(const LocalStep& step, bool joins) {
        const NodeDescriptor& descriptor = step.nodes.front().node->descriptor;
        if (reshapes(descriptor)) {
            return place(step.inputs[0], step.outputs[0], 0);
        }
        const std::optional<int32_t> axis = joinedAxisOf(descriptor);
        if (!joins || !axis.has_value() || !joinsInOrder(step.outputs[0], *axis)) {
            return false;
        }
        size_t offset = 0;
        for (size_t i = 0; i < step.inputs.size(); ++i) {
            if (!place(step.inputs[i], step.outputs[0], offset)) {
                for (size_t before = 0; before < i; ++before) {
                    const LocalId part = step.inputs[before];
                    mShared.places[part] = {.host = part, .offset = 0};
                    mRoots[part] = part;
                }
                return false;
            }
            offset += bytesOf(mTypes[step.inputs[i]]);
        }
        mShared.hasJoins = true;
        return true;
    }

    bool place(LocalId x, LocalId output, size_t offset) {
        if (x == kNoLocal || !canMove(x, output) || mTypes[x].type != mTypes[output].type ||
            mTypes[x].quantization != mTypes[output].quantization) {
            return false;
        }
        put(x, output, offset);
        return true;
    }

    void put(LocalId x, LocalId host, size_t offset) {
        mShared.places[x] = {.host = host, .offset = offset};
        mRoots[x] = host;
        mLastReads[host] = std::max(mLastReads[host], mLastReads[x]);
    }

    // Tensors of the partition's caller stay where they are: clients see that memory while it runs.
    bool canMove(LocalId x, LocalId output) const {
        const auto isInternal = [&](LocalId local) {
            return mLayout.tensors[local].role == LocalTensor::Role::INTERNAL;
        };
        return isInternal(x) && isInternal(output) && mShared.places[x].host == x &&
               bytesOf(mTypes[x]) != 0;
    }

    // Puts the step's output in the place of one of its inputs, if neither that nor anything that
    // lies there is read by another input, or later.
    void replace(size_t index, size_t input) {
        const LocalStep& step = mLayout.steps[index];
        const LocalId x = step.inputs[input];
        const LocalId output = step.outputs[0];
        if (x == kNoLocal || !canMove(x, output) || mLastReads[x] > index ||
            bytesOf(mTypes[x]) != bytesOf(mTypes[output])) {
            return;
        }
        for (size_t i = 0; i < step.inputs.size(); ++i) {
            if (i != input && step.inputs[i] != kNoLocal && rootOf(step.inputs[i]) == x) {
                return;
            }
        }
        put(x, output, 0);
    }

    // The tensor whose place this one shares, as known so far. Chains may be as long as a client
    // likes, and are shortened on the way.
    LocalId rootOf(LocalId local) {
        while (mRoots[local] != local) {
            mRoots[local] = mRoots[mRoots[local]];
            local = mRoots[local];
        }
        return local;
    }

    // Whether all of one input comes before all of the next.
    bool joinsInOrder(LocalId output, int32_t nodeAxis) const {
        const Shape& shape = mTypes[output].shape;
        const Result<size_t> axis = resolveAxis(nodeAxis, shape.rank());
        return axis.ok() && std::ranges::all_of(shape.extents().first(*axis),
                                                [](int32_t extent) { return extent == 1; });
    }

    const PartitionLayout& mLayout;
    const std::span<const TensorType> mTypes;
    SharedPlaces mShared;
    std::vector<LocalId> mRoots;  // per tensor: itself, or one that it lies in
    std::vector<size_t>
            mLastReads;  // per tensor: the last step that reads what lies there, at most
};

}  // namespace

SharedPlaces sharePlaces(const PartitionLayout& layout, std::span<const TensorType> types,
                         const std::vector<bool>& isOpen,
                         std::span<const std::optional<size_t>> replaceable, bool joins) {
    return PlaceFinder(layout, types).find(isOpen, replaceable, joins);
}

}  // namespace halyard::engine
