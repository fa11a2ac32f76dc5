// SPDX-License-Identifier: Apache-2.0
//
// A case's verdicts on operations that the driver in this process refuses.

#include "harness/device/runner/case_run.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "driver/device/device.h"
#include "engine/backends/ref/cpu_ref.h"
#include "engine/plan/backend.h"
#include "harness/device/runner/target.h"

namespace halyard::runner {
namespace {

// Takes all nodes, and compiles none: it fails about the last one of a partition.
class CompilesNothing final : public engine::Backend {
  public:
    std::string_view name() const override { return "CompilesNothing"; }
    Status supports(const engine::Graph& graph, engine::NodeId node) const override {
        return mCpuRef->supports(graph, node);
    }
    Result<std::unique_ptr<engine::CompiledPartition>> compile(
            const engine::CompileArguments& arguments) const override {
        const engine::Node& node = arguments.graph->nodes()[arguments.partition.nodes.back()];
        return failureOf(node, unsupported("no kernel"));
    }

  private:
    const std::unique_ptr<const engine::Backend> mCpuRef = engine::makeCpuRef();
};

Result<std::unique_ptr<driver::Device>> makeFailingDevice(const driver::Options& options) {
    std::vector<std::unique_ptr<const engine::Backend>> backends;
    backends.push_back(std::make_unique<CompilesNothing>());
    return driver::Device::create(options, std::move(backends), nullptr);
}

uint32_t addOperand(pb::Model& model, pb::OperandType type, pb::OperandLifeTime lifetime) {
    pb::Operand& operand = *model.mutable_main()->add_operands();
    operand.set_type(type);
    operand.add_dimensions(4);
    operand.set_lifetime(lifetime);
    return static_cast<uint32_t>(model.main().operands_size() - 1);
}

// Of inputs of these types, TANH of each.
pb::TestCase tanhOf(const std::vector<pb::OperandType>& types) {
    pb::TestCase testCase;
    pb::Model& model = *testCase.mutable_model();
    for (const pb::OperandType type : types) {
        const uint32_t input = addOperand(model, type, pb::OPERAND_LIFE_TIME_SUBGRAPH_INPUT);
        const uint32_t output = addOperand(model, type, pb::OPERAND_LIFE_TIME_SUBGRAPH_OUTPUT);
        model.mutable_main()->add_input_indexes(input);
        model.mutable_main()->add_output_indexes(output);
        pb::Operation& operation = *model.mutable_main()->add_operations();
        operation.set_type(pb::OPERATION_TYPE_TANH);
        operation.add_inputs(input);
        operation.add_outputs(output);
    }
    return testCase;
}

pb::CaseResult run(const pb::TestCase& testCase, MakeDevice* makeDevice = nullptr) {
    driver::Options options;
    options.backends = {"CpuRef"};
    options.threads = 1;
    const Result<Target> target = openDriver(options, makeDevice, driver::kNewestVersion);
    EXPECT_TRUE(target.ok()) << target.status().toString();
    pb::CaseResult result;
    if (target.ok()) {
        runCase(
                *target, testCase, {}, [](const pb::CaseResult&) {}, result);
    }
    return result;
}

constexpr pb::OperandType kFloat = pb::OPERAND_TYPE_TENSOR_FLOAT32;
constexpr pb::OperandType kWhole = pb::OPERAND_TYPE_TENSOR_INT32;

TEST(CaseRun, TellsEachOperationThatIsRefused) {
    const pb::CaseResult result = run(tanhOf({kWhole, kFloat, kWhole, kWhole}));
    EXPECT_EQ(result.failed_stage(), pb::STAGE_SUPPORT);
    ASSERT_EQ(result.verdicts_size(), 3);
    EXPECT_EQ(result.verdicts(1).operation(), 2U);
    EXPECT_EQ(result.verdicts(1).name(), "TANH");
    EXPECT_EQ(result.verdicts(1).rule(), pb::RULE_OPERAND_TYPE);
    EXPECT_TRUE(result.verdicts(1).reason().starts_with("the input (input 0, operand 4) is "))
            << result.verdicts(1).reason();
    EXPECT_EQ(result.verdicts_left_out(), 0U);
}

TEST(CaseRun, TellsNothingOfOperationsThatRun) {
    const pb::CaseResult result = run(tanhOf({kFloat}));
    EXPECT_EQ(result.failed_stage(), pb::STAGE_NONE) << result.message();
    EXPECT_EQ(result.verdicts_size(), 0);
}

TEST(CaseRun, TellsTheOperationThatOnlyPreparingFindsFault) {
    const pb::CaseResult result = run(tanhOf({kFloat, kFloat}), makeFailingDevice);
    EXPECT_EQ(result.failed_stage(), pb::STAGE_PREPARE);
    ASSERT_EQ(result.verdicts_size(), 1);
    EXPECT_EQ(result.verdicts(0).operation(), 1U);
    EXPECT_EQ(result.verdicts(0).rule(), pb::RULE_PREPARATION);
    EXPECT_NE(result.verdicts(0).reason().find("no kernel"), std::string::npos);
}

}  // namespace
}  // namespace halyard::runner
