// SPDX-License-Identifier: Apache-2.0
//
// How near the scale of a bias has to come to the product of the other two: as near as what a
// product in float32 rounds off.

#include <gtest/gtest.h>

#include "tests/driver/model/validation_fixture.h"

namespace halyard::driver {
namespace {

TEST_F(ModelValidation, TakesABiasScaleForTheProductOnlyWhereRoundingIsTheDifference) {
    const Model exact = quantConvModel();
    const float product = exact.main.operands[conv_model::kBias].scale;
    const auto withScale = [&](double factor) {
        Model model = exact;
        model.main.operands[conv_model::kBias].scale =
                static_cast<float>(static_cast<double>(product) * factor);
        return model;
    };
    for (const double off : {0.0, 1e-7, -1e-7}) {
        const Status status =
                mDevice->supportedOperations(withScale(1 + off), HalVersion::V1_2).status();
        EXPECT_TRUE(status.ok()) << off << ": " << status.toString();
    }
    for (const double off : {1e-5, -1e-5, 1e-4, -1e-4, 1e-2, -1e-2}) {
        expectInvalid(withScale(1 + off), HalVersion::V1_2, "off by " + std::to_string(off));
    }
}

}  // namespace
}  // namespace halyard::driver
