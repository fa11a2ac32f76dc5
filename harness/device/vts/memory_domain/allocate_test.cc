// SPDX-License-Identifier: Apache-2.0

#include "harness/device/vts/memory_domain/allocate_test.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/device/vts/memory_domain/setting.h"

namespace halyard::vts {
namespace {

using driver::BufferDescription;
using driver::BufferRole;
using driver::ErrorStatus;
using driver::HalVersion;
using driver::IPreparedModel;
using driver::Operand;
using driver::OperandType;
using Model = std::shared_ptr<IPreparedModel>;

constexpr BufferRole kFirst = {.modelIndex = 0, .ioIndex = 0};
constexpr BufferRole kOfSecondModel = {.modelIndex = 1, .ioIndex = 0};

// A model that no device has prepared.
class ForeignModel final : public IPreparedModel {
  public:
    driver::ExecutionResult execute(const driver::Request&,
                                    const driver::ExecuteOptions&) override {
        return {.status = nothing(), .outputShapes = {}, .timing = {}};
    }
    Status executeAsync(driver::Request, const driver::ExecuteOptions&,
                        driver::ExecuteCallback callback) override {
        callback({.status = nothing(), .outputShapes = {}, .timing = {}});
        return nothing();
    }
    Result<driver::FencedExecution> executeFenced(const driver::Request&,
                                                  const driver::ExecuteOptions&) override {
        return nothing();
    }
    Result<std::shared_ptr<driver::IBurst>> makeBurst() override { return nothing(); }
    Result<std::shared_ptr<driver::IExecution>> makeExecution(
            const driver::Request&, const driver::ExecuteOptions&) override {
        return nothing();
    }
    std::string report() override { return {}; }

  private:
    static Status nothing() { return internalError("this model has not been prepared"); }
};

Verdict refuses(const DomainSetting& setting, const BufferDescription& description,
                std::string_view what) {
    return expectStatus(setting.context().device().allocate(description).status(),
                        setting.context().version(),
                        {ErrorStatus::INVALID_ARGUMENT, ErrorStatus::GENERAL_FAILURE},
                        "allocate " + std::string(what));
}

// With the roles once as inputs and once as outputs.
Verdict refusesBoth(const DomainSetting& setting, const std::vector<Model>& models,
                    const std::vector<BufferRole>& roles, std::string_view what,
                    const std::vector<uint32_t>& dimensions = {}) {
    const Verdict inputs = refuses(
            setting, {.dimensions = dimensions, .models = models, .inputs = roles, .outputs = {}},
            what);
    return inputs.hasPassed() ? refuses(setting,
                                        {.dimensions = dimensions,
                                         .models = models,
                                         .inputs = {},
                                         .outputs = roles},
                                        what)
                              : inputs;
}

// The checks behind a model or two that have to be prepared first.
template <typename Check>
Verdict with(const DomainSetting& setting, const driver::Model& model, const Check& check) {
    const Preparation prepared = setting.context().prepare(model);
    return prepared.model == nullptr ? prepared.verdict : check(prepared.model);
}

Verdict conflict(const DomainSetting& setting, const driver::Model& first,
                 const driver::Model& second, std::string_view what) {
    return with(setting, first, [&](const Model& one) {
        return with(setting, second, [&](const Model& other) {
            const std::vector<Model> models = {one, other};
            const Verdict alike = refusesBoth(setting, models, {kFirst, kOfSecondModel}, what);
            return alike.hasPassed() ? refuses(setting,
                                               {.dimensions = {},
                                                .models = models,
                                                .inputs = {kFirst},
                                                .outputs = {kOfSecondModel}},
                                               what)
                                     : alike;
        });
    });
}

Verdict emptyRole(const DomainSetting& setting) {
    const Verdict empty = refuses(setting, {}, "without models and roles");
    if (!empty.hasPassed()) {
        return empty;
    }
    return with(setting, convolutions(setting.operand()), [&](const Model& model) {
        return refuses(setting, {.dimensions = {}, .models = {model}, .inputs = {}, .outputs = {}},
                       "without roles");
    });
}

Verdict nullptrPreparedModel(const DomainSetting& setting) {
    return refusesBoth(setting, {nullptr}, {kFirst}, "for a null model");
}

Verdict invalidPreparedModel(const DomainSetting& setting) {
    return refusesBoth(setting, {std::make_shared<ForeignModel>()}, {kFirst},
                       "for a model that the device has not prepared");
}

Verdict invalidModelIndex(const DomainSetting& setting) {
    return with(setting, convolutions(setting.operand()), [&](const Model& model) {
        return refusesBoth(setting, {model}, {kOfSecondModel}, "for the second model of one");
    });
}

Verdict invalidIoIndex(const DomainSetting& setting) {
    return with(setting, convolutions(setting.operand()), [&](const Model& model) {
        return refusesBoth(setting, {model}, {{.modelIndex = 0, .ioIndex = 1}},
                           "for the second input or output of one");
    });
}

Verdict invalidFrequency(const DomainSetting& setting) {
    return with(setting, convolutions(setting.operand()), [&](const Model& model) {
        for (const float frequency : {10.0F, 0.0F, -0.5F}) {
            Verdict verdict = refusesBoth(setting, {model},
                                          {{.modelIndex = 0, .ioIndex = 0, .frequency = frequency}},
                                          "for a role of frequency " + std::to_string(frequency));
            if (!verdict.hasPassed()) {
                return verdict;
            }
        }
        return passed();
    });
}

Verdict sameRoleSpecifiedTwice(const DomainSetting& setting) {
    return with(setting, convolutions(setting.operand()), [&](const Model& model) {
        const Verdict same =
                refusesBoth(setting, {model}, {kFirst, kFirst}, "for the same role twice");
        return same.hasPassed() ? refusesBoth(setting, {model, model}, {kFirst, kOfSecondModel},
                                              "for the same role of a model that is listed twice")
                                : same;
    });
}

Verdict conflictOperandType(const DomainSetting& setting) {
    Operand other = setting.operand();
    switch (other.type) {
        case OperandType::TENSOR_FLOAT32:
            other.type = OperandType::TENSOR_FLOAT16;
            break;
        case OperandType::TENSOR_FLOAT16:
            other.type = OperandType::TENSOR_FLOAT32;
            break;
        case OperandType::TENSOR_QUANT8_ASYMM:
            other.type = OperandType::TENSOR_QUANT8_ASYMM_SIGNED;
            break;
        default:
            other.type = OperandType::TENSOR_QUANT8_ASYMM;
    }
    return conflict(setting, convolutions(setting.operand()), convolutions(other),
                    "for roles of two types");
}

Verdict conflictScale(const DomainSetting& setting) {
    if (isFloat(setting.operand().type)) {
        return skipped("floats have no scale");
    }
    Operand other = setting.operand();
    other.scale = 1.0F;
    return conflict(setting, convolutions(setting.operand()), convolutions(other),
                    "for roles of two scales");
}

Verdict conflictZeroPoint(const DomainSetting& setting) {
    if (isFloat(setting.operand().type)) {
        return skipped("floats have no zero point");
    }
    Operand other = setting.operand();
    other.zeroPoint = 10;
    return conflict(setting, convolutions(setting.operand()), convolutions(other),
                    "for roles of two zero points");
}

Verdict conflictRankBetweenRoles(const DomainSetting& setting) {
    Operand other = setting.operand();
    other.dimensions.pop_back();
    return conflict(setting, addition(setting.operand()), addition(other),
                    "for roles of two ranks");
}

Verdict conflictDimensionsBetweenRoles(const DomainSetting& setting) {
    return conflict(setting, convolutions(setting.operand()),
                    convolutions(setting.operandWith(0, 4)), "for roles of two shapes");
}

Verdict conflictRankBetweenRoleAndDesc(const DomainSetting& setting) {
    std::vector<uint32_t> dimensions = setting.operand().dimensions;
    dimensions.pop_back();
    return with(setting, convolutions(setting.operand()), [&](const Model& model) {
        return refusesBoth(setting, {model}, {kFirst}, "of another rank than the role's",
                           dimensions);
    });
}

Verdict conflictDimensionsBetweenRoleAndDesc(const DomainSetting& setting) {
    return with(setting, convolutions(setting.operand()), [&](const Model& model) {
        return refusesBoth(setting, {model}, {kFirst}, "of another shape than the role's",
                           setting.operandWith(0, 4).dimensions);
    });
}

Verdict conflictRankWithScalarRole(const DomainSetting& setting) {
    return with(setting, addition(setting.operand()), [&](const Model& model) {
        return refuses(setting,
                       {.dimensions = {1},
                        .models = {model},
                        .inputs = {{.modelIndex = 0, .ioIndex = 2}},
                        .outputs = {}},
                       "with dimensions for a scalar");
    });
}

}  // namespace

Checks memoryDomainAllocateTest() {
    static constexpr DomainRow kRows[] = {
            {"EmptyRole", emptyRole},
            {"NullptrPreparedModel", nullptrPreparedModel},
            {"InvalidPreparedModel", invalidPreparedModel},
            {"InvalidModelIndex", invalidModelIndex},
            {"InvalidIOIndex", invalidIoIndex},
            {"SameRoleSpecifiedTwice", sameRoleSpecifiedTwice},
            {"ConflictOperandType", conflictOperandType},
            {"ConflictScale", conflictScale},
            {"ConflictZeroPoint", conflictZeroPoint},
            {"ConflictRankBetweenRoles", conflictRankBetweenRoles},
            {"ConflictDimensionsBetweenRoles", conflictDimensionsBetweenRoles},
            {"ConflictRankBetweenRoleAndDesc", conflictRankBetweenRoleAndDesc},
            {"ConflictDimensionsBetweenRoleAndDesc", conflictDimensionsBetweenRoleAndDesc},
            {"ConflictRankWithScalarRole", conflictRankWithScalarRole},
    };
    constexpr std::string_view kSuite = "MemoryDomainAllocateTest";
    Checks checks;
    for (const DomainRow& row : kRows) {
        addDomainChecks(kSuite, row, HalVersion::V1_3, driver::kNewestVersion, checks);
    }
    // The same under two names.
    addDomainChecks(kSuite, {"InvalidFrequency", invalidFrequency}, HalVersion::V1_3,
                    HalVersion::V1_3, checks);
    addDomainChecks(kSuite, {"InvalidProbability", invalidFrequency}, HalVersion::AIDL_V1,
                    driver::kNewestVersion, checks);
    return checks;
}

}  // namespace halyard::vts
