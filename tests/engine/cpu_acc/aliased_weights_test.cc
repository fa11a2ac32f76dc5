// SPDX-License-Identifier: Apache-2.0
//
// Nodes whose weights lie in the same memory, wholly or in part, as operands of one model may: what
// one of them packs serves another only where it is the same.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/backends/cpu/cpu_acc.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/backends/ref/cpu_ref.h"
#include "engine/base/half.h"
#include "engine/graph/recurrence.h"
#include "engine/plan/program.h"
#include "tests/engine/graph_building.h"
#include "tests/engine/plan/running.h"
#include "tests/engine/reference/random_values.h"

namespace halyard::engine {
namespace {

using ref_test::RandomValues;
using ref_test::typeOf;

TensorType state8() {
    return typeOf(DataType::QUANT8_ASYMM_SIGNED, {}, 0.008F, 3);
}

// A graph in the making, whose constants lie in one block for each size of their elements, at
// offsets that the test chooses.
class Weights {
  public:
    explicit Weights(RandomValues& random) : mRandom(random) {
        mBlocks[0] = block<uint8_t>([&] { return static_cast<uint8_t>(random.integer(0, 255)); });
        mBlocks[1] = block<Half>([&] { return toHalf(random.real(-0.2F, 0.2F)); });
        mBlocks[2] = block<float>([&] { return random.real(-0.2F, 0.2F); });
        mBlocks[3] = block<int32_t>([&] { return random.integer(-20000, 20000); });
        mBlocks[4] =
                block<int16_t>([&] { return static_cast<int16_t>(random.integer(-32768, 32767)); });
    }

    // A constant of the type, so many elements behind the beginning of its block.
    TensorId constant(TensorType type, Shape shape, size_t offset) {
        type.shape = shape;
        const size_t size = elementSize(type.type);
        const std::shared_ptr<const std::vector<uint8_t>>& block = mBlocks[blockOf(type.type)];
        const std::span<const uint8_t> all(*block);
        return graph
                .addConstant(type, {.owner = block,
                                    .bytes = all.subspan(offset * size, type.byteSize().value())})
                .value();
    }

    TensorId input(TensorType type, Shape shape) {
        type.shape = shape;
        mInputs.push_back(graph.addTensor(type));
        mValues.push_back(mRandom.values(type));
        return mInputs.back();
    }

    // Adds the node, whose outputs are the graph's but for the first `hidden`.
    void add(NodeDescriptor descriptor, std::vector<TensorId> inputs,
             const std::vector<TensorType>& outputs, size_t hidden = 0) {
        Node node = {.descriptor = std::move(descriptor),
                     .inputs = std::move(inputs),
                     .outputs = {},
                     .label = "node",
                     .sources = {}};
        for (TensorType type : outputs) {
            type.shape = Shape::unknownRank();
            node.outputs.push_back(graph.addTensor(type));
            if (node.outputs.size() > hidden) {
                mOutputs.push_back(node.outputs.back());
            }
        }
        graph.addNode(std::move(node));
    }

    // The outputs, or the error. At most `bytes` bytes each.
    Result<std::vector<std::vector<uint8_t>>> run(const Backend& backend, size_t bytes) {
        Graph whole = graph;
        whole.setInputs(mInputs);
        whole.setOutputs(mOutputs);
        HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<const Program> program,
                                 Program::build(std::move(whole), {&backend}, nullptr));
        Execution execution = Execution::create(program).value();
        std::vector<InputBinding> inputs;
        for (const ref_test::Values& value : mValues) {
            inputs.push_back({.bytes = value.bytes, .shape = value.type.shape});
        }
        std::vector<std::vector<uint8_t>> results(mOutputs.size(), std::vector<uint8_t>(bytes));
        std::vector<OutputBinding> outputs;
        for (std::vector<uint8_t>& result : results) {
            outputs.push_back({.bytes = result});
        }
        HALYARD_RETURN_IF_ERROR(runOnce(execution, inputs, outputs));
        return results;
    }

    // Bytes that CpuAcc packs, and those that it asks for when it compiles the program's graph once
    // more, whose weights are packed away.
    Result<std::pair<size_t, size_t>> packedTwice() {
        Graph whole = graph;
        whole.setInputs(mInputs);
        whole.setOutputs(mOutputs);
        const std::unique_ptr<const Backend> backend = makeCpuAcc();
        HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<const Program> program,
                                 Program::build(std::move(whole), {backend.get()}, nullptr));
        const auto packedAway = std::make_shared<Graph>(program->graph());
        Partition partition = {.nodes = {}, .inputs = mInputs, .outputs = mOutputs};
        for (NodeId node = 0; node < packedAway->nodes().size(); ++node) {
            HALYARD_RETURN_IF_ERROR(backend->supports(*packedAway, node));
            partition.nodes.push_back(node);
        }
        ThreadPool threads(1);
        ConstantStore store;
        HALYARD_RETURN_IF_ERROR(backend->compile({.graph = packedAway,
                                                  .partition = partition,
                                                  .constants = store,
                                                  .memory = nullptr,
                                                  .threads = &threads})
                                        .status());
        return std::pair(program->constantBytes(), store.bytes());
    }

    // On every instruction set as CpuRef has it.
    testing::AssertionResult agrees(size_t bytes = size_t{1} << 12) {
        const auto expected = run(*makeCpuRef(), bytes);
        for (const cpu::InstructionSet set : cpu::availableInstructionSets()) {
            const auto actual = run(*makeCpuAcc(set), bytes);
            if (!expected.ok() || !actual.ok()) {
                return testing::AssertionFailure()
                       << (expected.ok() ? actual : expected).status().toString();
            }
            for (size_t i = 0; i < mOutputs.size(); ++i) {
                if (!isSame(graph.tensor(mOutputs[i]).type.type, (*expected)[i], (*actual)[i])) {
                    return testing::AssertionFailure()
                           << "output " << i << " differs with " << cpu::toString(set);
                }
            }
        }
        return testing::AssertionSuccess();
    }

    Graph graph;

  private:
    static constexpr size_t kElements = size_t{1} << 13;

    static size_t blockOf(DataType type) {
        switch (type) {
            case DataType::FLOAT16:
                return 1;
            case DataType::FLOAT32:
                return 2;
            case DataType::INT32:
                return 3;
            case DataType::QUANT16_SYMM:
                return 4;
            default:
                return 0;
        }
    }

    template <typename T, typename Make>
    static std::shared_ptr<const std::vector<uint8_t>> block(Make make) {
        std::vector<T> elements(kElements);
        std::ranges::generate(elements, make);
        auto bytes = std::make_shared<std::vector<uint8_t>>(kElements * sizeof(T));
        std::memcpy(bytes->data(), elements.data(), bytes->size());
        return bytes;
    }

    static bool isSame(DataType type, const std::vector<uint8_t>& a,
                       const std::vector<uint8_t>& b) {
        if (!isFloat(type)) {
            return a == b;
        }
        const auto realOf = [&](const std::vector<uint8_t>& bytes, size_t at) {
            const auto real = [&]<typename T>(T element) {
                std::memcpy(&element, bytes.data() + at, sizeof element);
                return element;
            };
            return type == DataType::FLOAT16 ? toFloat(real(Half())) : real(float());
        };
        for (size_t at = 0; at < a.size(); at += elementSize(type)) {
            if (std::abs(realOf(a, at) - realOf(b, at)) >
                (type == DataType::FLOAT16 ? 1e-2F : 1e-4F)) {
                return false;
            }
        }
        return true;
    }

    RandomValues& mRandom;
    std::shared_ptr<const std::vector<uint8_t>> mBlocks[5];
    std::vector<TensorId> mInputs;
    std::vector<TensorId> mOutputs;
    std::vector<ref_test::Values> mValues;
};

// The extents of a cell that projects where outputSize is not `units`.
struct Cell {
    int32_t inputSize = 1;
    int32_t units = 1;
    int32_t outputSize = 1;
    bool coupled = false;
    bool peeps = false;
};

using Offsets = std::function<size_t()>;

size_t nowhere() {
    return 0;
}

// The weights that all LSTMs have, at offsets that the test says.
std::vector<TensorId> weightsOf(Weights& weights, const Cell& cell, const TensorType& matrix,
                                const TensorType& bias, const TensorType& peephole,
                                const Offsets& offset) {
    std::vector<TensorId> inputs(lstm::kAux, kNoTensor);
    for (size_t gate = cell.coupled ? 1 : 0; gate < 4; ++gate) {
        inputs[lstm::kInputToInputWeights + gate] =
                weights.constant(matrix, {cell.units, cell.inputSize}, offset());
        inputs[lstm::kRecurrentToInputWeights + gate] =
                weights.constant(matrix, {cell.units, cell.outputSize}, offset());
        inputs[lstm::kInputGateBias + gate] = weights.constant(bias, {cell.units}, offset());
    }
    for (size_t gate = cell.coupled ? 1 : 0; cell.peeps && gate < 3; ++gate) {
        inputs[lstm::kCellToInputWeights + gate] =
                weights.constant(peephole, {cell.units}, offset());
    }
    if (cell.units != cell.outputSize) {
        inputs[lstm::kProjectionWeights] =
                weights.constant(matrix, {cell.outputSize, cell.units}, offset());
    }
    return inputs;
}

void addFloatLstm(Weights& weights, const Cell& cell, DataType type = DataType::FLOAT32,
                  const Offsets& offset = nowhere) {
    const TensorType real = typeOf(type, {});
    std::vector<TensorId> inputs = weightsOf(weights, cell, real, real, real, offset);
    inputs[lstm::kX] = weights.input(real, {2, cell.inputSize});
    inputs[lstm::kOutputState] = weights.input(real, {2, cell.outputSize});
    inputs[lstm::kCellState] = weights.input(real, {2, cell.units});
    weights.add(Lstm{.attributes = {.activation = LstmAttributes::Function::TANH}},
                std::move(inputs), {real, real, real, real}, 1);
}

void addByteLstm(Weights& weights, const Cell& cell, const Offsets& offset = nowhere) {
    const TensorType cellState = typeOf(DataType::QUANT16_SYMM, {}, 0x1p-11F);
    std::vector<TensorId> inputs = weightsOf(
            weights, cell, typeOf(DataType::QUANT8_SYMM, {}, 0.005F), typeOf(DataType::INT32, {}),
            typeOf(DataType::QUANT16_SYMM, {}, 5e-5F), offset);
    inputs[lstm::kX] = weights.input(typeOf(DataType::QUANT8_ASYMM_SIGNED, {}, 0.02F, -7),
                                     {2, cell.inputSize});
    inputs[lstm::kOutputState] = weights.input(state8(), {2, cell.outputSize});
    inputs[lstm::kCellState] = weights.input(cellState, {2, cell.units});
    weights.add(QuantizedLstm{.hiddenZeroPoint = 5, .hiddenScale = 0.007F}, std::move(inputs),
                {state8(), cellState, state8()});
}

void add16BitLstm(Weights& weights, int32_t inputSize, int32_t units,
                  const Offsets& offset = nowhere) {
    const TensorType state = typeOf(DataType::QUANT8_ASYMM, {}, 1.0F / 128, 128);
    const TensorType cell = typeOf(DataType::QUANT16_SYMM, {}, 1.0F / 2048);
    const TensorType matrix = typeOf(DataType::QUANT8_ASYMM, {}, 0.004F, 100);
    std::vector<TensorId> inputs = {weights.input(state, {2, inputSize})};
    for (const int32_t depth : {inputSize, units}) {
        for (int gate = 0; gate < 4; ++gate) {
            inputs.push_back(weights.constant(matrix, {units, depth}, offset()));
        }
    }
    for (int gate = 0; gate < 4; ++gate) {
        inputs.push_back(weights.constant(typeOf(DataType::INT32, {}), {units}, offset()));
    }
    inputs.push_back(weights.input(cell, {2, units}));
    inputs.push_back(weights.input(state, {2, units}));
    weights.add(Quantized16BitLstm(), std::move(inputs), {cell, state});
}

TEST(AliasedWeights, OfTwoLstmsAreCutIntoTheRowsOfEach) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : {DataType::FLOAT32, DataType::FLOAT16}) {
        Weights weights(random);
        addFloatLstm(weights, {.inputSize = 5, .units = 8, .outputSize = 17}, type);
        addFloatLstm(weights, {.inputSize = 5, .units = 17, .outputSize = 8}, type);
        EXPECT_TRUE(weights.agrees());
    }
}

TEST(AliasedWeights, OfTwoLstmsInFixedPointAreCutIntoTheRowsOfEach) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    Weights weights(random);
    addByteLstm(weights, {.inputSize = 5, .units = 8, .outputSize = 17});
    addByteLstm(weights, {.inputSize = 5, .units = 17, .outputSize = 8});
    EXPECT_TRUE(weights.agrees());
}

// One of the two packings is many times as large as the other.
TEST(AliasedWeights, OfOneRowAndOfOneColumnAreRead) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const bool oneRowFirst : {false, true}) {
        Weights floats(random);
        Weights bytes(random);
        for (const bool oneRow : {oneRowFirst, !oneRowFirst}) {
            const Cell cell = {
                    .inputSize = 1, .units = oneRow ? 1 : 4096, .outputSize = oneRow ? 4096 : 1};
            addFloatLstm(floats, cell);
            addByteLstm(bytes, cell);
        }
        EXPECT_TRUE(floats.agrees(size_t{1} << 16));
        EXPECT_TRUE(bytes.agrees(size_t{1} << 16));
    }
}

TEST(AliasedWeights, OfThe16BitLstmMayBeCutBetweenInputAndState) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    Weights weights(random);
    add16BitLstm(weights, 8, 18);
    add16BitLstm(weights, 18, 8);
    add16BitLstm(weights, 30, 8);
    EXPECT_TRUE(weights.agrees());
}

TEST(AliasedWeights, StayApartWhenTheyArePackedAway) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    const Cell cell = {.inputSize = 5, .units = 8, .outputSize = 17, .peeps = true};
    size_t next = 0;
    const auto add = [&](Weights& weights) {
        const Offsets offset = [&] { return 8 * next++; };
        addFloatLstm(weights, cell, DataType::FLOAT32, offset);
        addFloatLstm(weights, cell, DataType::FLOAT16, offset);
        addByteLstm(weights, cell, offset);
        add16BitLstm(weights, 8, 18, offset);
    };
    Weights once(random);
    add(once);
    Weights twice(random);
    for (int i = 0; i < 2; ++i) {
        next = 0;
        add(twice);
    }
    Weights others(random);
    add(others);
    add(others);
    const auto alone = once.packedTwice();
    const auto shared = twice.packedTwice();
    const auto apart = others.packedTwice();
    ASSERT_TRUE(alone.ok() && shared.ok() && apart.ok());
    EXPECT_EQ(alone->second, alone->first);
    EXPECT_EQ(shared->first, alone->first) << "nodes of the same weights share what is packed";
    EXPECT_EQ(shared->second, alone->first) << "and still do without them";
    EXPECT_EQ(apart->first, 2 * alone->first);
    EXPECT_EQ(apart->second, 2 * alone->first) << "nodes of other weights don't";
}

TEST(AliasedWeights, MayOverlapAnywhere) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 30; ++round) {
        Weights weights(random);
        // Few places, so that many are the same, or all.
        const int32_t places = round % 3;
        const Offsets offset = [&] { return static_cast<size_t>(random.integer(0, places) * 8); };
        const int32_t extents[] = {4, 8, 16, 17};
        const auto extent = [&] { return extents[random.integer(0, 3)]; };
        for (int node = 0; node < 6; ++node) {
            Cell cell = {.inputSize = extent(),
                         .units = extent(),
                         .coupled = random.coin(),
                         .peeps = random.coin()};
            cell.outputSize = random.coin() ? cell.units : extent();
            switch (random.integer(0, 3)) {
                case 0:
                    addFloatLstm(weights, cell, DataType::FLOAT32, offset);
                    break;
                case 1:
                    addFloatLstm(weights, cell, DataType::FLOAT16, offset);
                    break;
                case 2:
                    addByteLstm(weights, cell, offset);
                    break;
                default:
                    add16BitLstm(weights, cell.inputSize, cell.units, offset);
            }
        }
        ASSERT_TRUE(weights.agrees()) << "round " << round;
    }
}

}  // namespace
}  // namespace halyard::engine
