// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "tests/driver/device_fixture.h"
#include "tests/driver/sample_models.h"

namespace halyard::driver {

using Mutation = std::function<void(Model&)>;

class ModelValidation : public testing::Test {
  protected:
    // The call, the callback and its count.
    void expectInvalid(const Model& model, HalVersion version, const std::string& what,
                       const PrepareOptions& options = {}) {
        SCOPED_TRACE(what + ", HAL " + std::string(toString(version)));
        const Status prepared = mDevice->prepare(model, version, options).status();
        EXPECT_EQ(prepared.code(), StatusCode::INVALID_ARGUMENT) << prepared.toString();
        EXPECT_FALSE(prepared.message().empty());
        int calls = 0;
        const Status launched = mDevice->prepareAsync(
                model, version, options,
                [&](const Status& status, const std::shared_ptr<PreparedModel>& result) {
                    ++calls;
                    EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT);
                    EXPECT_EQ(result, nullptr);
                });
        EXPECT_EQ(launched.code(), StatusCode::INVALID_ARGUMENT);
        EXPECT_EQ(calls, 1);
    }

    void expectMutationInvalid(const std::string& what, const Mutation& mutate,
                               HalVersion since = HalVersion::V1_0) {
        for (const HalVersion version : kVersions) {
            if (version < since) {
                continue;
            }
            for (Model model : {floatConvModel(), quantConvModel()}) {
                mutate(model);
                const Status supported = mDevice->supportedOperations(model, version).status();
                EXPECT_EQ(supported.code(), StatusCode::INVALID_ARGUMENT)
                        << what << ": " << supported.toString();
                expectInvalid(model, version, what);
            }
        }
    }

    // The mutation applied to each operand in turn, with the operand's index in the message.
    void expectEachOperandInvalid(const std::string& what,
                                  const std::function<bool(Model&, Operand&)>& mutate) {
        for (size_t i = 0; i < floatConvModel().main.operands.size(); ++i) {
            for (Model model : {floatConvModel(), quantConvModel()}) {
                if (!mutate(model, model.main.operands[i])) {
                    continue;
                }
                expectMutationInvalid(what + " of operand " + std::to_string(i),
                                      [&](Model& mutated) { mutated = model; });
            }
        }
    }

    std::unique_ptr<Device> mDevice = makeDevice();
};

}  // namespace halyard::driver
