// SPDX-License-Identifier: Apache-2.0
//
// A mutant: a valid model with one thing changed, so that it is invalid. The mutations are those of
// the vendor test suite (ValidateModel.cpp and ValidateRequest.cpp of the NN HAL 1.0 to 1.3), by
// its names.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "driver/model/model.h"

namespace halyard::vts {

enum class Mutation : uint8_t {
    EXECUTION_ORDER,
    OPERAND_TYPE,
    OPERAND_RANK,
    OPERAND_SCALE,
    OPERAND_ZERO_POINT,
    OPERAND_LIFE_TIME,
    OPERAND_INPUT_OUTPUT,
    OPERAND_NUMBER_OF_CONSUMERS,
    OPERAND_ADD_WRITER,
    OPERATION_OPERAND_TYPE,
    OPERATION_TYPE,
    OPERATION_INPUT_OPERAND_INDEX,
    OPERATION_OUTPUT_OPERAND_INDEX,
    OPERATION_REMOVE_WRITE,
    REMOVE_OPERAND,
    REMOVE_OPERATION,
    REMOVE_OPERATION_INPUT,
    REMOVE_OPERATION_OUTPUT,
    ADD_OPERATION_INPUT,
    ADD_OPERATION_OUTPUT,
    EXECUTION_PREFERENCE,
    EXECUTION_PRIORITY,
    REMOVE_INPUT,
    REMOVE_OUTPUT,
};

// In the order of the enum.
inline constexpr std::array<std::string_view, 24> kMutationNames = {
        "mutateExecutionOrderTest",
        "mutateOperandTypeTest",
        "mutateOperandRankTest",
        "mutateOperandScaleTest",
        "mutateOperandZeroPointTest",
        "mutateOperandLifeTimeTest",
        "mutateOperandInputOutputTest",
        "mutateOperandNumberOfConsumersTest",
        "mutateOperandAddWriterTest",
        "mutateOperationOperandTypeTest",
        "mutateOperationTypeTest",
        "mutateOperationInputOperandIndexTest",
        "mutateOperationOutputOperandIndexTest",
        "mutateOperationRemoveWriteTest",
        "removeOperandTest",
        "removeOperationTest",
        "removeOperationInputTest",
        "removeOperationOutputTest",
        "addOperationInputTest",
        "addOperationOutputTest",
        "mutateExecutionPreferenceTest",
        "mutateExecutionPriorityTest",
        "removeInputTest",
        "removeOutputTest",
};

inline size_t rowOf(Mutation mutation) {
    return static_cast<size_t>(mutation);
}

struct Mutant {
    Mutation mutation = Mutation::EXECUTION_ORDER;
    std::string what;      // "operand 3 has type INT32"
    bool exempt = false;   // the official list knows that it may be valid
    bool further = false;  // the official suite does not try it
    driver::Model model;
    driver::ExecutionPreference preference = driver::ExecutionPreference::FAST_SINGLE_ANSWER;
    driver::Priority priority = driver::Priority::MEDIUM;
};

// One subgraph of a valid model, and what is done with each of its mutants. The official suite
// mutates the main subgraph only.
struct MutantSource {
    const driver::Model& model;
    driver::HalVersion version;
    std::optional<size_t> referenced = {};  // which one; nothing: the main subgraph
    std::function<void(const Mutant&)> judge;
    std::optional<Mutation> only = {};  // nothing: all
    bool isFurther = false;             // what its mutants say of themselves

    const driver::Subgraph& subgraph() const {
        return referenced.has_value() ? model.referenced[*referenced] : model.main;
    }
    driver::Subgraph& subgraphOf(Mutant& mutant) const {
        return referenced.has_value() ? mutant.model.referenced[*referenced] : mutant.model.main;
    }
    bool wants(Mutation mutation) const { return !only.has_value() || *only == mutation; }
    // The same, for what the official suite does not try.
    MutantSource further() const {
        MutantSource source = *this;
        source.isFurther = true;
        return source;
    }
    // Still without its change.
    Mutant begin(Mutation mutation, const std::string& what, bool exempt = false) const {
        const std::string place =
                referenced.has_value() ? "subgraph " + std::to_string(*referenced) + ", " : "";
        return {.mutation = mutation,
                .what = place + what,
                .exempt = exempt,
                .further = isFurther,
                .model = model};
    }
    // `change` gets the subgraph of the mutant.
    template <typename Change>
    void mutate(Mutation mutation, const std::string& what, bool exempt,
                const Change& change) const {
        if (!wants(mutation)) {
            return;
        }
        Mutant mutant = begin(mutation, what, exempt);
        change(subgraphOf(mutant));
        judge(mutant);
    }
    template <typename Change>
    void mutate(Mutation mutation, const std::string& what, const Change& change) const {
        mutate(mutation, what, false, change);
    }
};

// ---- By story, a file each ----------------------------------------------------------------------

void mutateOperands(const MutantSource& source);
// Mutates operands' lifetimes, and which operations write and read them.
void mutateLifetimes(const MutantSource& source);
void mutateOperations(const MutantSource& source);
// The arguments of prepareModel beside the model.
void mutateArguments(const MutantSource& source);

}  // namespace halyard::vts
