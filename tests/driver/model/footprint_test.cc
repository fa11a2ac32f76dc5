// SPDX-License-Identifier: Apache-2.0
//
// The charges for models and requests: at least what a client can make them take.

#include "driver/model/footprint.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/driver/model_builder.h"
#include "tests/driver/sample_models.h"

namespace halyard::driver {
namespace {

constexpr size_t kMany = 1000;

TEST(Footprints, CoverTheValuesThatAModelBrings) {
    const Model bare = reluModel();
    Model full = reluModel();
    full.operandValues = std::make_shared<const std::vector<uint8_t>>(kMany);
    EXPECT_GE(footprintOf(full), footprintOf(bare) + kMany);
    EXPECT_GE(preparedFootprintOf(full), preparedFootprintOf(bare) + kMany);
}

TEST(Footprints, CoverOperandsAndOperationsOfEverySubgraph) {
    const Model bare = reluModel();
    for (const bool nested : {false, true}) {
        Model operands = reluModel();
        operands.referenced.resize(1);
        Model operations = operands;
        Subgraph& ofOperands = nested ? operands.referenced[0] : operands.main;
        ofOperands.operands.resize(kMany);
        EXPECT_GE(footprintOf(operands), footprintOf(bare) + (kMany - 3) * sizeof(Operand));
        EXPECT_GE(preparedFootprintOf(operands), preparedFootprintOf(bare) + (kMany - 3) * 100);
        Subgraph& ofOperations = nested ? operations.referenced[0] : operations.main;
        ofOperations.operations.resize(kMany);
        EXPECT_GE(footprintOf(operations), footprintOf(bare) + (kMany - 1) * sizeof(Operation));
        EXPECT_GE(preparedFootprintOf(operations), preparedFootprintOf(bare) + (kMany - 1) * 100);
    }
}

TEST(Footprints, CoverTheDimensionsThatARequestBrings) {
    Request request;
    request.inputs.resize(1);
    request.outputs.resize(1);
    const size_t bare = footprintOf(request);
    request.inputs[0].dimensions.resize(kMany);
    const size_t one = footprintOf(request);
    EXPECT_GE(one, bare + kMany * sizeof(uint32_t));
    request.outputs[0].dimensions.resize(kMany);
    EXPECT_GE(footprintOf(request), one + kMany * sizeof(uint32_t));
}

}  // namespace
}  // namespace halyard::driver
