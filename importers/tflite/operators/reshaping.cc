// SPDX-License-Identifier: Apache-2.0
//
// Operators that change shapes, and take tensors apart and put them together.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "importers/tflite/operators/axes.h"
#include "importers/tflite/operators/handlers.h"

namespace halyard::tflite {
namespace {

using engine::kNoTensor;

// The same element once with the axis and once without, for each output: what is left of a list is
// a scalar.
Status emitWithoutAxis(Mapper& mapper, TensorId id, size_t axis, int32_t output) {
    HALYARD_ASSIGN_OR_RETURN(const size_t rank, rankOf(mapper, id));
    if (rank == 1) {
        return mapper.emitReshape(id, {}, output);
    }
    const auto at = static_cast<int32_t>(axis);
    const TensorId axes = mapper.int32Constant(std::span(&at, 1));
    return mapper.emitTo(engine::Squeeze{}, {id, axes}, std::span(&output, 1));
}

Result<std::vector<TensorId>> readAll(Mapper& mapper) {
    if (mapper.op().inputs.empty()) {
        return unsupported("it has no inputs");
    }
    std::vector<TensorId> parts;
    for (size_t place = 0; place < mapper.op().inputs.size(); ++place) {
        HALYARD_ASSIGN_OR_RETURN(const TensorId part, mapper.readInput(place));
        parts.push_back(part);
    }
    return parts;
}

// Of parts of equal extents along an axis, as many as there are outputs.
Status checkCount(const Mapper& mapper, int32_t count, std::string_view what) {
    if (count < 0 || static_cast<size_t>(count) != mapper.op().outputs.size()) {
        return unsupported("it has " + std::to_string(mapper.op().outputs.size()) +
                           " outputs, and " + std::to_string(count) + " " + std::string(what));
    }
    return {};
}

}  // namespace

// TFLite reads the shape where it is a list of INT32, and the option otherwise.
Status mapReshape(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(1, 2));
    HALYARD_RETURN_IF_ERROR(mapper.checkOutputCount(1, 1));
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, mapper.readInput(0));
    const std::vector<int32_t>& option = mapper.list(ReshapeOptions::kNewShape);
    if (mapper.has(1)) {
        HALYARD_ASSIGN_OR_RETURN(const int32_t index, mapper.input(1));
        if (mapper.tensor(index).type == ElementType::INT32) {
            HALYARD_ASSIGN_OR_RETURN(const TensorId shape, mapper.read(index));
            HALYARD_ASSIGN_OR_RETURN(const size_t rank, rankOf(mapper, shape));
            if (rank == 1) {
                return mapper.emit(engine::Reshape{}, {x, shape});
            }
        }
        if (option.empty()) {
            return unsupported("its shape " + mapper.shown(index) + " is no list of INT32");
        }
    }
    // Old converters write a scalar's shape so.
    const bool isScalar = option.size() == 1 && option.front() == 0;
    return mapper.emitReshape(x, isScalar ? std::vector<int32_t>() : option,
                              mapper.op().outputs.front());
}

Status mapSqueeze(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(1, 1));
    HALYARD_RETURN_IF_ERROR(mapper.checkOutputCount(1, 1));
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, mapper.readInput(0));
    HALYARD_ASSIGN_OR_RETURN(const size_t rank, rankOf(mapper, x));
    std::vector<bool> goes(rank);
    for (const int32_t each : mapper.list(SqueezeOptions::kSqueezeDims)) {
        HALYARD_ASSIGN_OR_RETURN(const size_t axis, axisOf(each, rank));
        goes[axis] = true;
    }
    const engine::Shape& shape = mapper.typeOf(x).shape;
    if (std::ranges::count(goes, true) == 0) {
        HALYARD_RETURN_IF_ERROR(mapper.extents(x).status());
        for (size_t axis = 0; axis < rank; ++axis) {
            goes[axis] = shape[axis] == 1;
        }
    }
    std::vector<int32_t> axes;
    for (size_t axis = 0; axis < rank; ++axis) {
        if (goes[axis]) {
            axes.push_back(static_cast<int32_t>(axis));
        }
    }
    if (axes.empty()) {
        return mapper.emitReshape(x, shape.extents(), mapper.op().outputs.front());
    }
    if (axes.size() == rank) {
        return mapper.emitReshape(x, {}, mapper.op().outputs.front());
    }
    const TensorId list = mapper.int32Constant(axes);
    return mapper.emit(engine::Squeeze{}, {x, list});
}

Status mapExpandDims(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(2, 2));
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, mapper.readInput(0));
    HALYARD_ASSIGN_OR_RETURN(const int32_t index, mapper.input(1));
    HALYARD_ASSIGN_OR_RETURN(const int32_t axis, mapper.oneInteger(index, "axis"));
    return mapper.emit(engine::ExpandDims{.axis = axis}, {x});
}

Status mapTranspose(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(2, 2));
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, mapper.readInput(0));
    HALYARD_ASSIGN_OR_RETURN(const TensorId permutation, mapper.readInput(1));
    return mapper.emit(engine::Transpose{}, {x, permutation});
}

Status mapPack(Mapper& mapper) {
    const int32_t count = mapper.integer(PackOptions::kValuesCount);
    HALYARD_ASSIGN_OR_RETURN(std::vector<TensorId> parts, readAll(mapper));
    if (count < 0 || static_cast<size_t>(count) != parts.size()) {
        return unsupported("it has " + std::to_string(parts.size()) + " inputs, and packs " +
                           std::to_string(count));
    }
    return mapper.emit(engine::Pack{.axis = mapper.integer(PackOptions::kAxis)}, std::move(parts));
}

Status mapUnpack(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(1, 1));
    HALYARD_RETURN_IF_ERROR(
            checkCount(mapper, mapper.integer(UnpackOptions::kNum), "parts to unpack"));
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, mapper.readInput(0));
    HALYARD_ASSIGN_OR_RETURN(const size_t rank, rankOf(mapper, x));
    HALYARD_ASSIGN_OR_RETURN(const size_t axis, axisOf(mapper.integer(UnpackOptions::kAxis), rank));
    const std::vector<int32_t>& outputs = mapper.op().outputs;
    const int32_t extent = mapper.typeOf(x).shape[axis];
    if (extent == engine::kUnknownDimension || static_cast<size_t>(extent) != outputs.size()) {
        return unsupported("it has " + std::to_string(outputs.size()) + " outputs for axis " +
                           std::to_string(axis) + " of " + mapper.typeOf(x).shape.toString());
    }
    HALYARD_ASSIGN_OR_RETURN(
            const std::vector<TensorId> parts,
            mapper.emitInnerN(engine::Split{.axis = static_cast<int32_t>(axis)}, {x},
                              std::vector<engine::TensorType>(outputs.size(), mapper.typeOf(x))));
    for (size_t i = 0; i < parts.size(); ++i) {
        HALYARD_RETURN_IF_ERROR(emitWithoutAxis(mapper, parts[i], axis, outputs[i]));
    }
    return {};
}

// TFLite's kernel leaves a fused activation away, whatever the schema says.
Status mapConcatenation(Mapper& mapper) {
    const int32_t activation = mapper.integer(ConcatenationOptions::kFusedActivationFunction);
    if (static_cast<FusedActivation>(activation) != FusedActivation::NONE) {
        return unsupported("it has a fused activation, which TFLite's kernel leaves away");
    }
    HALYARD_ASSIGN_OR_RETURN(std::vector<TensorId> parts, readAll(mapper));
    return mapper.emit(engine::Concat{.axis = mapper.integer(ConcatenationOptions::kAxis)},
                       std::move(parts));
}

Status mapSplit(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(2, 2));
    HALYARD_RETURN_IF_ERROR(
            checkCount(mapper, mapper.integer(SplitOptions::kNumSplits), "parts to split into"));
    HALYARD_ASSIGN_OR_RETURN(const int32_t index, mapper.input(0));
    HALYARD_ASSIGN_OR_RETURN(const int32_t axis, mapper.oneInteger(index, "axis"));
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, mapper.readInput(1));
    return mapper.emit(engine::Split{.axis = axis}, {x});
}

// A slice for each output, of which one may have what the others leave.
Status mapSplitV(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(3, 3));
    const std::vector<int32_t>& outputs = mapper.op().outputs;
    HALYARD_RETURN_IF_ERROR(
            checkCount(mapper, mapper.integer(SplitVOptions::kNumSplits), "parts to split into"));
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, mapper.readInput(0));
    HALYARD_ASSIGN_OR_RETURN(const int32_t sizesIndex, mapper.input(1));
    HALYARD_ASSIGN_OR_RETURN(std::vector<int32_t> sizes,
                             mapper.integers(sizesIndex, "list of sizes"));
    HALYARD_ASSIGN_OR_RETURN(const int32_t axisIndex, mapper.input(2));
    HALYARD_ASSIGN_OR_RETURN(const int32_t given, mapper.oneInteger(axisIndex, "axis"));
    HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> extents, mapper.extents(x));
    HALYARD_ASSIGN_OR_RETURN(const size_t axis, axisOf(given, extents.size()));
    if (sizes.size() != outputs.size() ||
        std::ranges::any_of(sizes, [](int32_t size) { return size < -1; }) ||
        std::ranges::count(sizes, -1) > 1) {
        return unsupported("its list of sizes does not fit its outputs");
    }
    const int64_t open = std::ranges::count(sizes, -1);
    const int64_t said = std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) + open;
    if (open == 0 ? said != extents[axis] : said > extents[axis]) {
        return unsupported("its sizes come to " + std::to_string(said) + ", of " +
                           std::to_string(extents[axis]) + " along the axis");
    }
    std::ranges::replace(sizes, -1, static_cast<int32_t>(extents[axis] - said));
    std::vector<int32_t> begin(extents.size());
    std::vector<int32_t> size = extents;
    for (size_t i = 0; i < outputs.size(); ++i) {
        size[axis] = sizes[i];
        const TensorId from = mapper.int32Constant(begin);
        const TensorId count = mapper.int32Constant(size);
        HALYARD_RETURN_IF_ERROR(
                mapper.emitTo(engine::Slice{}, {x, from, count}, std::span(&outputs[i], 1)));
        begin[axis] += sizes[i];
    }
    return {};
}

Status mapTile(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(2, 2));
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, mapper.readInput(0));
    HALYARD_ASSIGN_OR_RETURN(const TensorId multiples, mapper.readInput(1));
    return mapper.emit(engine::Tile{}, {x, multiples});
}

Status mapBroadcastTo(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(2, 2));
    HALYARD_ASSIGN_OR_RETURN(TensorId x, mapper.readInput(0));
    HALYARD_ASSIGN_OR_RETURN(const int32_t index, mapper.input(1));
    HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> wanted, mapper.integers(index, "shape"));
    HALYARD_ASSIGN_OR_RETURN(std::vector<int32_t> extents, mapper.extents(x));
    if (extents.size() > wanted.size()) {
        return unsupported("its shape has " + std::to_string(wanted.size()) + " axes for " +
                           mapper.typeOf(x).shape.toString());
    }
    const bool hasAll = extents.size() == wanted.size();
    extents.insert(extents.begin(), wanted.size() - extents.size(), 1);
    std::vector<int32_t> multiples(wanted.size(), 1);
    for (size_t axis = 0; axis < wanted.size(); ++axis) {
        if (wanted[axis] != extents[axis] && (extents[axis] != 1 || wanted[axis] < 0)) {
            return unsupported("its shape has " + std::to_string(wanted[axis]) +
                               " elements along an axis of " + std::to_string(extents[axis]));
        }
        multiples[axis] = extents[axis] == 1 ? wanted[axis] : 1;
    }
    if (!hasAll) {
        HALYARD_ASSIGN_OR_RETURN(x, mapper.reshaped(x, extents));
    }
    const TensorId list = mapper.int32Constant(multiples);
    return mapper.emit(engine::Tile{}, {x, list});
}

Status mapDepthToSpace(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(1, 1));
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, mapper.readInput(0));
    return mapper.emit(
            engine::DepthToSpace{.block = mapper.integer(DepthToSpaceOptions::kBlockSize)}, {x});
}

Status mapSpaceToDepth(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(1, 1));
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, mapper.readInput(0));
    return mapper.emit(
            engine::SpaceToDepth{.block = mapper.integer(SpaceToDepthOptions::kBlockSize)}, {x});
}

namespace {

// Images of BATCH_TO_SPACE_ND and SPACE_TO_BATCH_ND. One of three axes has no width: it has one of
// 1 on the way.
struct Blocks {
    TensorId x = kNoTensor;      // [N, H, W, C]
    bool isFlat = false;         // of three axes
    std::vector<int32_t> block;  // of H and W
    std::vector<int32_t> ends;   // before and after H and W
};

Result<Blocks> readBlocks(Mapper& mapper, std::string_view whatEndsAre) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(3, 3));
    HALYARD_RETURN_IF_ERROR(mapper.checkOutputCount(1, 1));
    Blocks blocks;
    HALYARD_ASSIGN_OR_RETURN(blocks.x, mapper.readInput(0));
    HALYARD_ASSIGN_OR_RETURN(const int32_t blockIndex, mapper.input(1));
    HALYARD_ASSIGN_OR_RETURN(blocks.block, mapper.integers(blockIndex, "block"));
    HALYARD_ASSIGN_OR_RETURN(const int32_t endsIndex, mapper.input(2));
    HALYARD_ASSIGN_OR_RETURN(blocks.ends, mapper.integers(endsIndex, whatEndsAre));
    HALYARD_ASSIGN_OR_RETURN(const size_t rank, rankOf(mapper, blocks.x));
    if ((rank != 3 && rank != 4) || blocks.block.size() != rank - 2 ||
        blocks.ends.size() != 2 * (rank - 2)) {
        return unsupported("it is of " + std::to_string(rank) + " axes, with a block of " +
                           std::to_string(blocks.block.size()));
    }
    if (std::ranges::any_of(blocks.ends, [](int32_t end) { return end < 0; })) {
        return unsupported("one of its " + std::string(whatEndsAre) + " is negative");
    }
    blocks.isFlat = rank == 3;
    if (blocks.isFlat) {
        blocks.block.push_back(1);
        blocks.ends.insert(blocks.ends.end(), {0, 0});
        HALYARD_ASSIGN_OR_RETURN(blocks.x, mapper.emitInner(engine::ExpandDims{.axis = 2},
                                                            {blocks.x}, mapper.typeOf(blocks.x)));
    }
    return blocks;
}

// A node of images as the operator's output.
Status emitBlocks(Mapper& mapper, const Blocks& blocks, engine::NodeDescriptor node,
                  std::vector<TensorId> inputs) {
    if (!blocks.isFlat) {
        return mapper.emit(std::move(node), std::move(inputs));
    }
    HALYARD_ASSIGN_OR_RETURN(
            const TensorId image,
            mapper.emitInner(std::move(node), std::move(inputs), mapper.typeOf(blocks.x)));
    return emitWithoutAxis(mapper, image, 2, mapper.op().outputs.front());
}

}  // namespace

Status mapSpaceToBatch(Mapper& mapper) {
    HALYARD_ASSIGN_OR_RETURN(const Blocks blocks, readBlocks(mapper, "paddings"));
    const TensorId block = mapper.int32Constant(blocks.block);
    HALYARD_ASSIGN_OR_RETURN(const TensorId paddings, pairs(mapper, blocks.ends));
    return emitBlocks(mapper, blocks, engine::SpaceToBatch{}, {blocks.x, block, paddings});
}

// The engine crops nothing: a slice behind does.
Status mapBatchToSpace(Mapper& mapper) {
    HALYARD_ASSIGN_OR_RETURN(const Blocks blocks, readBlocks(mapper, "crops"));
    const TensorId block = mapper.int32Constant(blocks.block);
    const std::vector<int32_t>& crops = blocks.ends;
    if (std::ranges::all_of(crops, [](int32_t crop) { return crop == 0; })) {
        return emitBlocks(mapper, blocks, engine::BatchToSpace{}, {blocks.x, block});
    }
    HALYARD_ASSIGN_OR_RETURN(
            const TensorId whole,
            mapper.emitInner(engine::BatchToSpace{}, {blocks.x, block}, mapper.typeOf(blocks.x)));
    HALYARD_ASSIGN_OR_RETURN(std::vector<int32_t> size, mapper.extents(whole));
    const int64_t height = int64_t{size[1]} - crops[0] - crops[1];
    const int64_t width = int64_t{size[2]} - crops[2] - crops[3];
    if (height < 0 || width < 0) {
        return unsupported("its crops leave nothing of " + mapper.typeOf(whole).shape.toString());
    }
    size[1] = static_cast<int32_t>(height);
    size[2] = static_cast<int32_t>(width);
    const TensorId begin = mapper.int32Constant(std::vector<int32_t>{0, crops[0], crops[2], 0});
    const TensorId extents = mapper.int32Constant(size);
    return emitBlocks(mapper, blocks, engine::Slice{}, {whole, begin, extents});
}

}  // namespace halyard::tflite
