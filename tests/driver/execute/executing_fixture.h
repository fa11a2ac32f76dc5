// SPDX-License-Identifier: Apache-2.0
//
// A device that prepares models, and what several files execute on it.

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "driver/execute/device_state.h"
#include "driver/execute/prepared_model.h"
#include "driver/options/backends.h"
#include "tests/driver/device_fixture.h"
#include "tests/driver/model_builder.h"

namespace halyard::driver {

// Its tests lie in several files.
class Executing : public testing::Test {
  protected:
    std::shared_ptr<PreparedModel> prepare(const Model& model,
                                           HalVersion version = HalVersion::V1_3) {
        Result<std::shared_ptr<PreparedModel>> prepared = mDevice->prepare(model, version, {});
        EXPECT_TRUE(prepared.ok()) << prepared.status().toString();
        return prepared.ok() ? *prepared : nullptr;
    }

    std::unique_ptr<Device> mDevice = makeDevice();
};

// A RELU whose shape the model leaves open.
inline Model openReluModel(const std::vector<uint32_t>& dimensions) {
    ModelBuilder builder;
    const uint32_t input = builder.input(floats(dimensions));
    const uint32_t output = builder.output(floats(dimensions));
    builder.operation(OperationType::RELU, {input}, {output});
    return builder.build();
}

// For floatConvModel().
inline RequestBuilder convRequest() {
    RequestBuilder request;
    request.input<float>({1, 2, 3, 4, 5, 6, 7, 8, 9}).output(8 * sizeof(float));
    return request;
}

// A device's state.
inline std::shared_ptr<DeviceState> makeState() {
    Options options;
    options.threads = 1;
    Options onlyCpuRef;
    onlyCpuRef.backends = {"CpuRef"};
    return std::make_shared<DeviceState>(options, makeBackends(onlyCpuRef).value());
}

}  // namespace halyard::driver
