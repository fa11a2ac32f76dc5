// SPDX-License-Identifier: Apache-2.0
//
// One operation of a model with its operands by the names that its form gives them.

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "driver/model/model.h"
#include "driver/ops/operand_view.h"
#include "driver/ops/operation.h"
#include "engine/base/status.h"

namespace halyard::driver {

// Its accessors take names of operands. One that no form of the operation has is a defect of ours:
// it is remembered, and answered as if it were omitted.
class OperationView {
  public:
    // All but `operation` outlive the view. INVALID_ARGUMENT says why no form takes the operands,
    // by the closest one.
    static Result<OperationView> make(const Model& model, const Subgraph& subgraph,
                                      const Operation& operation,
                                      const OperationDefinition& definition, HalVersion version);

    HalVersion version() const { return mVersion; }
    std::span<const OperandView> allInputs() const { return mInputs; }
    std::span<const OperandView> allOutputs() const { return mOutputs; }

    // Whether the operation's form has that input, and it is not omitted.
    bool has(std::string_view name) const { return !input(name).omitted(); }
    // One without a value, of type FLOAT32 and of no dimensions, where the operation's form has no
    // such operand.
    const OperandView& input(std::string_view name) const;
    const OperandView& output(std::string_view name) const;
    // Those of an operand that repeats.
    std::span<const OperandView> inputs(std::string_view name) const;
    std::span<const OperandView> outputs(std::string_view name) const;
    // The subgraph that a SUBGRAPH input stands for; null if it does not exist.
    const Subgraph* referenced(std::string_view name) const;

    // INTERNAL if an accessor was given a name that no form of the operation has.
    Status checkNames() const;

  private:
    OperationView(const Model& model, const OperationDefinition& definition, HalVersion version)
        : mModel(&model), mDefinition(&definition), mVersion(version) {}
    void noteName(std::string_view name, bool isOutput) const;

    const Model* mModel;
    const OperationDefinition* mDefinition;
    const Form* mForm = nullptr;
    HalVersion mVersion;
    std::vector<OperandView> mInputs;
    std::vector<OperandView> mOutputs;
    mutable std::string mUnknownName;
};

}  // namespace halyard::driver
