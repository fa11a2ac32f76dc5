// SPDX-License-Identifier: Apache-2.0
//
// Images of another size.

#include <cstdint>
#include <string>
#include <vector>

#include "importers/tflite/operators/handlers.h"

namespace halyard::tflite {
namespace {

Status mapResize(Mapper& mapper, engine::Resize node) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(2, 2));
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, mapper.readInput(0));
    HALYARD_ASSIGN_OR_RETURN(const int32_t index, mapper.input(1));
    HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> size, mapper.integers(index, "size"));
    if (size.size() != 2) {
        return unsupported("its size has " + std::to_string(size.size()) +
                           " values, and two are wanted");
    }
    node.height = size[0];
    node.width = size[1];
    return mapper.emit(node, {x});
}

}  // namespace

Status mapResizeBilinear(Mapper& mapper) {
    return mapResize(mapper,
                     {.function = engine::Resize::Function::BILINEAR,
                      .alignCorners = mapper.flag(ResizeBilinearOptions::kAlignCorners),
                      .halfPixelCenters = mapper.flag(ResizeBilinearOptions::kHalfPixelCenters)});
}

Status mapResizeNearest(Mapper& mapper) {
    return mapResize(
            mapper,
            {.function = engine::Resize::Function::NEAREST,
             .alignCorners = mapper.flag(ResizeNearestNeighborOptions::kAlignCorners),
             .halfPixelCenters = mapper.flag(ResizeNearestNeighborOptions::kHalfPixelCenters)});
}

}  // namespace halyard::tflite
