// SPDX-License-Identifier: Apache-2.0
//
// Functions of a byte that CpuAcc looks up, however many nodes compute them. Results are CpuRef's,
// bit for bit.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/backends/cpu/cpu_acc.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/backends/ref/cpu_ref.h"
#include "engine/plan/program.h"
#include "tests/engine/cpu_acc/fused_model.h"
#include "tests/engine/reference/random_values.h"

namespace halyard::engine {
namespace {

using fused_test::build;
using fused_test::Model;
using fused_test::Outcome;
using fused_test::run;
using ref_test::RandomValues;
using ref_test::typeOf;

// `nodes` nodes are looked up.
void expectLookups(const Model& model, size_t nodes) {
    const auto reference = makeCpuRef();
    const Outcome expected = run(model, build(model, *reference, 1));
    for (const cpu::InstructionSet set : cpu::availableInstructionSets()) {
        const auto tuned = makeCpuAcc(set);
        for (const size_t threads : {1, 3}) {
            SCOPED_TRACE(std::string(toString(set)) + ", threads: " + std::to_string(threads));
            const auto program = build(model, *tuned, threads);
            EXPECT_EQ(std::ranges::count_if(program->placement(),
                                            [](const NodePlacement& node) {
                                                return node.kernel.ends_with(" lookup");
                                            }),
                      nodes);
            const Outcome actual = run(model, program);
            EXPECT_EQ(actual.allocations, 0U);
            EXPECT_EQ(actual.outputs, expected.outputs);
        }
    }
}

class ByteChains : public testing::TestWithParam<DataType> {
  protected:
    static constexpr int kRounds = 6;

    // Runs body(random, model, x), an input of any shape.
    template <typename Body>
    void forRounds(Body body) {
        RandomValues random;
        SCOPED_TRACE(random.seedText());
        for (int round = 0; round < kRounds && !HasFailure(); ++round) {
            Model model;
            TensorType type = random.quantization(GetParam(), 0.05F);
            type.shape = {random.integer(1, 3), random.integer(1, 60), random.integer(1, 60)};
            const TensorId x = model.addInput(random.values(type));
            body(random, model, x);
        }
    }
    static TensorType bytes(RandomValues& random) { return random.quantization(GetParam(), 0.05F); }
    static TensorId number(RandomValues& random, Model& model, TensorType type) {
        type.shape = random.coin() ? Shape{1} : Shape{1, 1};
        return model.addConstant(random.values(type));
    }
    inline static const TensorType kReal = typeOf(DataType::FLOAT32, {});
};

TEST_P(ByteChains, LookUpOneFunctionOfANumber) {
    forRounds([&](RandomValues& random, Model& model, TensorId x) {
        constexpr Binary::Function kFunctions[] = {
                Binary::Function::MAXIMUM, Binary::Function::MINIMUM, Binary::Function::PRELU,
                Binary::Function::MUL,     Binary::Function::SUB,     Binary::Function::DIV};
        const Binary::Function function = kFunctions[random.integer(0, 5)];
        std::vector<TensorId> operands = {x, number(random, model, bytes(random))};
        if (random.coin()) {
            std::swap(operands[0], operands[1]);
        }
        const TensorId y = model.addNode(Binary{.function = function}, operands, bytes(random));
        model.finish({x}, {y});
        expectLookups(model, 1);
    });
}

TEST_P(ByteChains, LookUpWhatRealNumbersLieBetween) {
    forRounds([&](RandomValues& random, Model& model, TensorId x) {
        TensorId y = model.addNode(Dequantize(), {x}, kReal);
        y = model.addNode(Binary{.function = Binary::Function::PRELU},
                          {y, number(random, model, kReal)}, kReal);
        y = model.addNode(Quantize(), {y}, bytes(random));
        model.finish({x}, {y});
        expectLookups(model, 3);
    });
}

TEST_P(ByteChains, LookUpATensorTimesItsOwnFunction) {
    forRounds([&](RandomValues& random, Model& model, TensorId x) {
        TensorType gate = bytes(random);
        gate.quantization.scale = 1.0F / 256;
        gate.quantization.zeroPoint = GetParam() == DataType::QUANT8_ASYMM ? 0 : -128;
        const TensorId logistic =
                model.addNode(Activate{.function = Activate::Function::LOGISTIC}, {x}, gate);
        const TensorId y = model.addNode(Binary{.function = Binary::Function::MUL}, {x, logistic},
                                         bytes(random));
        model.finish({x}, {y});
        expectLookups(model, 2);
    });
}

TEST_P(ByteChains, EndBeforeWhatOthersRead) {
    forRounds([&](RandomValues& random, Model& model, TensorId x) {
        // A real number that the caller gets ends what has begun, and so does a second tensor.
        const TensorId real = model.addNode(Dequantize(), {x}, kReal);
        const TensorId slope = model.addNode(Binary{.function = Binary::Function::PRELU},
                                             {real, number(random, model, kReal)}, kReal);
        const TensorId first = model.addNode(Quantize(), {slope}, bytes(random));
        const TensorId low =
                model.addNode(Binary{.function = Binary::Function::MAXIMUM},
                              {first, number(random, model, bytes(random))}, bytes(random));
        const TensorId sum = model.addNode(Binary{.function = Binary::Function::MUL}, {low, first},
                                           bytes(random));
        TensorType other = model.graph.tensor(sum).type;
        other.shape = model.inputs[0].type.shape;
        const TensorId second = model.addInput(random.values(other));
        const TensorId last = model.addNode(Binary{.function = Binary::Function::MINIMUM},
                                            {sum, second}, bytes(random));
        model.finish({x, second}, {last, slope});
        expectLookups(model, 2);  // the maximum of `first`, times that
    });
}

TEST_P(ByteChains, EndBeforeWhatMoreReadThanAFunctionHas) {
    forRounds([&](RandomValues& random, Model& model, TensorId x) {
        const TensorType type = bytes(random);
        const auto maximum = [&](TensorId of) {
            return model.addNode(Binary{.function = Binary::Function::MAXIMUM},
                                 {of, number(random, model, type)}, type);
        };
        const TensorId first = maximum(x);
        std::vector<TensorId> parts(random.coin() ? 16 : 17);
        std::ranges::generate(parts, [&] { return maximum(first); });
        TensorId sum = parts[0];
        for (size_t i = 1; i < parts.size(); ++i) {
            sum = model.addNode(Binary{.function = Binary::Function::ADD}, {sum, parts[i]}, type);
        }
        model.finish({x}, {sum});
        // Of 16 one function is made with all their sums; of 17 each is one of its own.
        expectLookups(model, parts.size() == 16 ? 32 : 18);
    });
}

TEST_P(ByteChains, LeaveAloneConstantsOfSeveralElements) {
    forRounds([&](RandomValues& random, Model& model, TensorId x) {
        TensorType type = bytes(random);
        type.shape = model.inputs[0].type.shape;
        type.shape[2] = 1;
        if (*type.shape.elementCount() == 1) {
            return;
        }
        const TensorId constant = model.addConstant(random.values(type));
        const TensorId y = model.addNode(Binary{.function = Binary::Function::MAXIMUM},
                                         {x, constant}, bytes(random));
        model.finish({x}, {y});
        expectLookups(model, 0);
    });
}

INSTANTIATE_TEST_SUITE_P(, ByteChains,
                         testing::Values(DataType::QUANT8_ASYMM, DataType::QUANT8_ASYMM_SIGNED),
                         [](const testing::TestParamInfo<DataType>& instance) {
                             return std::string(toString(instance.param));
                         });

}  // namespace
}  // namespace halyard::engine
