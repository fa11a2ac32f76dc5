// SPDX-License-Identifier: Apache-2.0
//
// AVERAGE_POOL_2D, MAX_POOL_2D, L2_POOL_2D.

#include "importers/tflite/operators/handlers.h"

namespace halyard::tflite {
namespace {

Status mapPool(Mapper& mapper, engine::Pool2d::Function function) {
    using Options = Pool2dOptions;
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(1, 1));
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, mapper.readInput(0));
    engine::Pool2d pool{.function = function};
    HALYARD_ASSIGN_OR_RETURN(pool.window.padding, mapper.padding(Options::kPadding));
    pool.window.strideW = mapper.integer(Options::kStrideW);
    pool.window.strideH = mapper.integer(Options::kStrideH);
    pool.filterW = mapper.integer(Options::kFilterWidth);
    pool.filterH = mapper.integer(Options::kFilterHeight);
    return mapper.emitActivated(pool, {x}, Options::kFusedActivationFunction);
}

}  // namespace

Status mapAveragePool(Mapper& mapper) {
    return mapPool(mapper, engine::Pool2d::Function::AVERAGE);
}

Status mapMaxPool(Mapper& mapper) {
    return mapPool(mapper, engine::Pool2d::Function::MAX);
}

Status mapL2Pool(Mapper& mapper) {
    return mapPool(mapper, engine::Pool2d::Function::L2);
}

}  // namespace halyard::tflite
