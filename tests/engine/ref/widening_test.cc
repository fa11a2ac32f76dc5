// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/ref/widening.h"

#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "engine/backends/ref/cpu_ref.h"
#include "engine/base/aligned_buffer.h"
#include "tests/engine/ref/evaluation.h"
#include "tests/engine/ref/random_values.h"

namespace halyard::engine::ref_test {
namespace {

const TensorType kHalves = typeOf(DataType::FLOAT16, Shape::unknownRank());

bool never() {
    return false;
}

// A piece that is one node, whose inputs after the first are constants.
class OneNodePiece {
  public:
    // `open`: the node's shapes are known only when the piece runs.
    OneNodePiece(NodeDescriptor descriptor, std::vector<Values> inputs, bool open)
        : mInput(std::move(inputs[0])), mGraph(std::make_shared<Graph>()) {
        TensorId x = mGraph->addTensor(mInput.type);
        mPiece.inputs = {x};
        if (open) {
            const TensorId shape = mGraph->addTensor(
                    typeOf(DataType::INT32, {static_cast<int32_t>(mInput.type.shape.rank())}));
            mPiece.inputs.push_back(shape);
            x = add(Reshape(), {x, shape});
        }
        std::vector<TensorId> ids = {x};
        for (size_t i = 1; i < inputs.size(); ++i) {
            auto owner = std::make_shared<std::vector<uint8_t>>(inputs[i].bytes);
            const std::span<const uint8_t> bytes = *owner;
            ids.push_back(*mGraph->addConstant(inputs[i].type,
                                               {.owner = std::move(owner), .bytes = bytes}));
        }
        mPiece.outputs = {add(std::move(descriptor), std::move(ids))};
    }

    Result<std::unique_ptr<const ShapedPiece>> specialize() const {
        HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<const CompiledPiece> compiled,
                                 makeCpuRef()->compile(mGraph, mPiece));
        std::vector<TensorType> types;
        for (const TensorId id : mPiece.inputs) {
            types.push_back(mGraph->tensor(id).type);
        }
        return compiled->specialize(types);
    }

    Result<Values> run() const {
        HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<const ShapedPiece> piece, specialize());
        const std::span<const int32_t> extents = mInput.type.shape.extents();
        const TensorType shapeType =
                typeOf(DataType::INT32, {static_cast<int32_t>(extents.size())});
        const std::vector<ConstTensorView> inputs = {
                {.type = &mInput.type, .data = mInput.bytes.data()},
                {.type = &shapeType, .data = extents.data()}};
        Values output{.type = piece->outputTypes()[0], .bytes = {}};
        const auto allocate = [&](size_t /*index*/, const Shape& shape) -> Result<TensorView> {
            output.type.shape = shape;
            output.bytes.resize(*output.type.byteSize());
            return TensorView{.type = &output.type, .data = output.bytes.data()};
        };
        TensorView view{.type = &output.type, .data = nullptr};
        if (output.type.shape.isFullyKnown()) {
            view = *allocate(0, output.type.shape);
        }
        const AlignedBuffer workspace =
                *AlignedBuffer::allocate(piece->workspaceBytes(), kTensorAlignment);
        ThreadPool threads(1);
        RunArguments arguments;
        arguments.inputs = std::span(inputs).first(mPiece.inputs.size());
        arguments.outputs = {&view, 1};
        arguments.allocateOutput = allocate;
        arguments.workspace = workspace.bytes();
        arguments.threads = &threads;
        arguments.expired = never;
        HALYARD_RETURN_IF_ERROR(piece->run(arguments));
        return output;
    }

  private:
    TensorId add(NodeDescriptor descriptor, std::vector<TensorId> inputs) {
        const TensorId id = mGraph->addTensor(kHalves);
        mPiece.nodes.push_back(mGraph->addNode({.descriptor = std::move(descriptor),
                                                .inputs = std::move(inputs),
                                                .outputs = {id},
                                                .label = "node"}));
        return id;
    }

    Values mInput;
    std::shared_ptr<Graph> mGraph;
    Piece mPiece;
};

// Equal bit for bit: the node on its own, which reads halves, and in a piece.
template <typename Descriptor>
void compareWithPieces(const Descriptor& node, const std::vector<Values>& inputs) {
    const Result<Values> alone = evaluate(node, inputs, kHalves);
    ASSERT_TRUE(alone.ok()) << alone.status().toString();
    for (const bool open : {false, true}) {
        const Result<Values> within = OneNodePiece(node, inputs, open).run();
        ASSERT_TRUE(within.ok()) << within.status().toString();
        EXPECT_EQ(within->type.shape, alone->type.shape);
        EXPECT_EQ(within->bytes, alone->bytes);
    }
}

// Few positions, which aren't worth widening for, and many; blocks of 64 and what is left over.
TEST(Widening, LeavesNoTraceInTheResults) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    const auto halvesOf = [&](Shape shape) {
        return random.values(typeOf(DataType::FLOAT16, shape));
    };
    for (const int32_t extent : {1, 3, 4, 7}) {
        for (const int32_t depth : {1, 5, 150}) {
            const Values x = halvesOf({2, extent, extent, depth});
            const Window2d same = {.padding = PaddingScheme::SAME};
            compareWithPieces(Conv2d{.window = same, .activation = Activation::RELU},
                              {x, halvesOf({3, 3, 2, depth}), halvesOf({3})});
            compareWithPieces(DepthwiseConv2d{.window = same, .multiplier = 1},
                              {x, halvesOf({1, 2, 3, depth}), halvesOf({depth})});
            compareWithPieces(FullyConnected(), {halvesOf({extent * extent, depth}),
                                                 halvesOf({9, depth}), halvesOf({9})});
        }
    }
}

TEST(Widening, IsForWeightsThatAreReadOften) {
    const auto bytes = [](int32_t batch) {
        const auto halvesOf = [](Shape shape) {
            return halves(shape, std::vector<float>(static_cast<size_t>(*shape.elementCount())));
        };
        const OneNodePiece piece(FullyConnected(),
                                 {halvesOf({batch, 100}), halvesOf({50, 100}), halvesOf({50})},
                                 false);
        return (*piece.specialize())->workspaceBytes();
    };
    EXPECT_LT(bytes(1), 1000U);
    EXPECT_GE(bytes(100), sizeof(float) * (100 * 100 + 50 * 100 + 50));
}

TEST(Widening, ConvertsEveryElement) {
    Values narrow{.type = typeOf(DataType::FLOAT16, {0x10000}), .bytes = {}};
    for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
        narrow.bytes.push_back(static_cast<uint8_t>(bits));
        narrow.bytes.push_back(static_cast<uint8_t>(bits >> 8));
    }
    const TensorType wideType = typeOf(DataType::FLOAT32, {0x10000});
    std::vector<float> wide(0x10000);
    const std::function<bool()> expired = never;
    ref::Progress progress(expired);
    ASSERT_TRUE(ref::widen({.type = &narrow.type, .data = narrow.bytes.data()},
                           {.type = &wideType, .data = wide.data()}, progress)
                        .ok());
    for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
        ASSERT_EQ(std::bit_cast<uint32_t>(wide[bits]),
                  std::bit_cast<uint32_t>(toFloat(Half{static_cast<uint16_t>(bits)})));
    }
}

TEST(Widening, StopsAtTheDeadline) {
    constexpr int32_t kMany = 10'000'000;
    const TensorType narrowType = typeOf(DataType::FLOAT16, {kMany});
    const TensorType wideType = typeOf(DataType::FLOAT32, {kMany});
    const std::vector<Half> narrow(kMany);
    std::vector<float> wide(kMany, 1.0F);
    const std::function<bool()> expired = [] { return true; };
    ref::Progress progress(expired);
    EXPECT_EQ(ref::widen({.type = &narrowType, .data = narrow.data()},
                         {.type = &wideType, .data = wide.data()}, progress)
                      .code(),
              StatusCode::DEADLINE_EXCEEDED);
    EXPECT_EQ(wide.back(), 1.0F);
}

}  // namespace
}  // namespace halyard::engine::ref_test
