// SPDX-License-Identifier: Apache-2.0
//
// The nodes of RNN, SVDF and the sequences of one and of two directions.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "driver/ops/operation_table.h"
#include "tests/driver/device_fixture.h"
#include "tests/driver/ops/lowered_graph.h"

namespace halyard::driver {
namespace {

using enum OperandType;
using engine::Activation;

void expectSince(const Model& model, HalVersion since) {
    for (const HalVersion version : kVersions) {
        const Status status = validateOperations(model, version);
        EXPECT_EQ(status.ok(), version >= since)
                << "in HAL " << toString(version) << ": " << status.toString();
    }
}

// "in0 in1 ...", from the first to the last of them.
std::string numbered(int first, int last) {
    std::string names;
    for (int i = first; i <= last; ++i) {
        names += (i == first ? "in" : " in") + std::to_string(i);
    }
    return names;
}

// A tensor for every 'x', an omitted one for every '-'.
OperationModel& add(OperationModel& model, const std::string& marks, const OperandSpec& spec) {
    for (const char mark : marks) {
        mark == '-' ? model.omitted(spec) : model.input(spec);
    }
    return model;
}

OperationModel& addOutputs(OperationModel& model, size_t count, const OperandSpec& spec = kOpen) {
    for (size_t i = 0; i < count; ++i) {
        model.output(spec);
    }
    return model;
}

// ---- RNN, UNIDIRECTIONAL_SEQUENCE_RNN, SVDF -----------------------------------------------------

OperationModel rnn(int32_t activation, const OperandSpec& spec = kOpen) {
    OperationModel model(OperationType::RNN);
    return addOutputs(add(model, "xxxxx", spec).int32(activation), 2, spec);
}

TEST(LoweredRnn, GivesItsStateTwice) {
    expectNode(rnn(3).graph(), 0, engine::Rnn{.activation = Activation::RELU6}, numbered(0, 4),
               "out0 out1");
    expectInvalid(rnn(4), "operation 0 (RNN): the activation (input 5, operand 5) is 4, not 0..3");
    expectSince(rnn(0).build(), HalVersion::V1_0);
    expectSince(rnn(0, {TENSOR_FLOAT16, {}}).build(), HalVersion::V1_2);
}

TEST(LoweredRnn, NeedsRanks) {
    OperationModel model(OperationType::RNN);
    add(model, "x", floats({2, 3, 4}));
    const Status status = validateOperations(
            addOutputs(add(model, "xxxx", kOpen).int32(0), 2).build(), HalVersion::V1_3);
    EXPECT_EQ(status.message(),
              "operation 0 (RNN): the input (input 0, operand 0) has rank 3, not 2");
}

OperationModel rnnSequence(int32_t timeMajor, size_t outputs) {
    OperationModel model(OperationType::UNIDIRECTIONAL_SEQUENCE_RNN);
    return addOutputs(add(model, "xxxxx", kOpen).int32(1).int32(timeMajor), outputs);
}

TEST(LoweredRnnSequence, GivesItsStateAwaySince1_3) {
    const std::string inputs = numbered(0, 4) + " - -";
    for (const bool timeMajor : {false, true}) {
        const engine::RnnSequence node = {.activation = Activation::RELU, .timeMajor = timeMajor};
        expectNode(rnnSequence(timeMajor ? 1 : 0, 1).graph(), 0, node, inputs, "out0 temporary");
        expectNode(rnnSequence(timeMajor ? 1 : 0, 2).graph(), 0, node, inputs, "out0 out1");
    }
    expectSince(rnnSequence(0, 1).build(), HalVersion::V1_2);
    expectSince(rnnSequence(0, 2).build(), HalVersion::V1_3);
    for (const int32_t other : {-1, 2}) {
        expectInvalid(rnnSequence(other, 1),
                      "operation 0 (UNIDIRECTIONAL_SEQUENCE_RNN): the time major (input 6, operand "
                      "6) is " +
                              std::to_string(other) + ", not 0 or 1");
    }
}

OperationModel svdf(const std::string& marks, int32_t rank) {
    OperationModel model(OperationType::SVDF);
    return addOutputs(add(model, marks, kOpen).int32(rank).int32(2), 2);
}

TEST(LoweredSvdf, CanDoWithoutBias) {
    const engine::Svdf node = {.rank = 3, .activation = Activation::RELU1};
    expectNode(svdf("xxxxx", 3).graph(), 0, node, numbered(0, 4), "out0 out1");
    expectNode(svdf("xxx-x", 3).graph(), 0, node, "in0 in1 in2 - in3", "out0 out1");
    expectSince(svdf("xxx-x", 3).build(), HalVersion::V1_0);
    expectInvalid(svdf("xxxxx", 0),
                  "operation 0 (SVDF): the rank (input 5, operand 5) is 0, below 1");
    EXPECT_EQ(validateOperations(svdf("xx-xx", 1).build(), HalVersion::V1_3).message(),
              "operation 0 (SVDF): the weights time (input 2, operand 2) can't be omitted");
}

// ---- BIDIRECTIONAL_SEQUENCE_RNN -----------------------------------------------------------------

struct Scalars {
    bool timeMajor = false;
    bool merge = false;
};

OperationModel bidirectionalRnn(const std::string& aux, Scalars scalars, size_t outputs) {
    OperationModel model(OperationType::BIDIRECTIONAL_SEQUENCE_RNN);
    add(model, "xxxxxxxxx" + aux, kOpen).int32(1).boolean(scalars.timeMajor).boolean(scalars.merge);
    return addOutputs(model, outputs);
}

TEST(LoweredBidirectionalRnn, IsASequenceForEachDirection) {
    for (const bool timeMajor : {false, true}) {
        const engine::RnnSequence forward = {.activation = Activation::RELU,
                                             .timeMajor = timeMajor};
        engine::RnnSequence backward = forward;
        backward.backward = true;
        const engine::Graph apart = bidirectionalRnn("---", {timeMajor, false}, 2).graph();
        ASSERT_EQ(apart.nodes().size(), 2U);
        expectNode(apart, 0, forward, "in0 in1 in2 in3 in4 - -", "out0 temporary");
        expectNode(apart, 1, backward, "in0 in5 in6 in7 in8 - -", "out1 temporary");
        const engine::Graph withStates = bidirectionalRnn("xxx", {timeMajor, false}, 4).graph();
        expectNode(withStates, 0, forward, "in0 in1 in2 in3 in4 in9 in10", "out0 out2");
        expectNode(withStates, 1, backward, "in0 in5 in6 in7 in8 in9 in11", "out1 out3");
        const engine::Graph merged = bidirectionalRnn("x--", {timeMajor, true}, 3).graph();
        ASSERT_EQ(merged.nodes().size(), 3U);
        expectNode(merged, 0, forward, "in0 in1 in2 in3 in4 in9 -", "temporary out1");
        expectNode(merged, 1, backward, "in0 in5 in6 in7 in8 in9 -", "temporary out2");
        expectNode(merged, 2, engine::Concat{.axis = 2}, "temporary temporary", "out0");
        EXPECT_EQ(merged.node(2).inputs[0], merged.node(0).outputs[0]);
        EXPECT_EQ(merged.node(2).inputs[1], merged.node(1).outputs[0]);
    }
}

TEST(LoweredBidirectionalRnn, HasAsManyOutputsAsItMerges) {
    const std::string operand =
            "operation 0 (BIDIRECTIONAL_SEQUENCE_RNN): the merge outputs (input 14, operand 14) "
            "is ";
    for (const size_t outputs : {2U, 4U}) {
        expectInvalid(bidirectionalRnn("---", {.merge = true}, outputs),
                      operand + "true, but there is an output for each direction");
    }
    for (const size_t outputs : {1U, 3U}) {
        expectInvalid(bidirectionalRnn("---", {}, outputs),
                      operand + "false, but there is one output for both directions");
    }
    for (size_t outputs = 1; outputs <= 4; ++outputs) {
        expectSince(bidirectionalRnn("---", {}, outputs).build(),
                    outputs <= 2 ? HalVersion::V1_2 : HalVersion::V1_3);
    }
}

TEST(LoweredBidirectionalRnn, WeighsTheAuxiliaryInputBothWaysOrNot) {
    const std::string name = "operation 0 (BIDIRECTIONAL_SEQUENCE_RNN): the ";
    EXPECT_EQ(
            validateOperations(bidirectionalRnn("xx-", {}, 2).build(), HalVersion::V1_3).message(),
            name + "bw aux weights (input 11, operand 11) is omitted, but the fw aux weights "
                   "(input 10, operand 10) is not");
    EXPECT_EQ(
            validateOperations(bidirectionalRnn("x-x", {}, 2).build(), HalVersion::V1_3).message(),
            name + "fw aux weights (input 10, operand 10) is omitted, but the bw aux weights "
                   "(input 11, operand 11) is not");
}

// ---- BIDIRECTIONAL_SEQUENCE_LSTM ----------------------------------------------------------------

// By position: 48 tensors, and 8 after the scalars.
OperationModel bidirectionalLstm(const std::string& marks, Scalars scalars, size_t outputs,
                                 bool half = false) {
    const OperandSpec tensor = {half ? TENSOR_FLOAT16 : TENSOR_FLOAT32, {}};
    OperationModel model(OperationType::BIDIRECTIONAL_SEQUENCE_LSTM);
    add(model, marks.substr(0, 48), tensor).int32(6);
    for (const float clip : {1.5F, 2.5F}) {
        half ? model.float16(clip) : model.float32(clip);
    }
    model.boolean(scalars.merge).boolean(scalars.timeMajor);
    return addOutputs(add(model, marks.substr(48), tensor), outputs, tensor);
}

const std::string kEverything(56, 'x');
// No input gates, peepholes, projections, auxiliary input or layer norms.
const std::string kLeast = std::string("x") + "-xxx-xxx----xxx--" + "-xxx-xxx----xxx--" + "xxxx" +
                           std::string(9, '-') + std::string(8, '-');

engine::LstmSequence lstmNode(bool timeMajor, bool backward) {
    return {.attributes = {.activation = engine::LstmAttributes::Function::LOGISTIC,
                           .cellClip = 1.5F,
                           .projectionClip = 2.5F},
            .timeMajor = timeMajor,
            .backward = backward};
}

TEST(LoweredBidirectionalLstm, ReadsAllItsOperands) {
    const std::string forward = "in0 " + numbered(1, 17) + " in35 in36 " + numbered(48, 51) +
                                " in39 " + numbered(40, 43);
    const std::string backward = "in0 " + numbered(18, 34) + " in37 in38 " + numbered(52, 55) +
                                 " in39 " + numbered(44, 47);
    for (const bool timeMajor : {false, true}) {
        const engine::Graph graph = bidirectionalLstm(kEverything, {timeMajor, false}, 6).graph();
        ASSERT_EQ(graph.nodes().size(), 2U);
        expectNode(graph, 0, lstmNode(timeMajor, false), forward, "out0 out2 out3");
        expectNode(graph, 1, lstmNode(timeMajor, true), backward, "out1 out4 out5");
    }
    const engine::Graph halves = bidirectionalLstm(kEverything, {}, 2, true).graph();
    expectNode(halves, 0, lstmNode(false, false), forward, "out0 temporary temporary");
    expectNode(halves, 1, lstmNode(false, true), backward, "out1 temporary temporary");
}

TEST(LoweredBidirectionalLstm, CanDoWithoutWhatLstmCan) {
    const engine::Graph graph = bidirectionalLstm(kLeast, {.merge = true}, 5).graph();
    ASSERT_EQ(graph.nodes().size(), 3U);
    const std::string norms = " - - - - - - - - -";
    expectNode(graph, 0, lstmNode(false, false),
               "in0 - in1 in2 in3 - in4 in5 in6 - - - - in7 in8 in9 - - in19 in20" + norms,
               "temporary out1 out2");
    expectNode(graph, 1, lstmNode(false, true),
               "in0 - in10 in11 in12 - in13 in14 in15 - - - - in16 in17 in18 - - in21 in22" + norms,
               "temporary out3 out4");
    expectNode(graph, 2, engine::Concat{.axis = 2}, "temporary temporary", "out0");
    for (const auto& [outputs, since] : {std::pair<size_t, HalVersion>{1, HalVersion::V1_2},
                                         {2, HalVersion::V1_2},
                                         {5, HalVersion::V1_3},
                                         {6, HalVersion::V1_3}}) {
        expectSince(bidirectionalLstm(kLeast, {}, outputs).build(), since);
        expectSince(bidirectionalLstm(kEverything, {}, outputs, true).build(), since);
    }
}

TEST(LoweredBidirectionalLstm, NamesWhatCantBeOmitted) {
    for (size_t i = 0; i < kEverything.size(); ++i) {
        std::string marks = kEverything;
        marks[i] = '-';
        const Status status =
                validateOperations(bidirectionalLstm(marks, {}, 2).build(), HalVersion::V1_3);
        const bool weighs = i == 41 || i == 45;  // the weights that tell for all of them
        const bool omittable = kLeast[i] == '-' && !weighs;
        EXPECT_EQ(status.ok(), omittable) << i << status.toString();
        EXPECT_TRUE(omittable || weighs ||
                    status.message().find("can't be omitted") != std::string_view::npos)
                << status.toString();
    }
}

// ---- What stands beside them --------------------------------------------------------------------

TEST(LoweredLookups, FindRowsByKey) {
    const auto lookup = [](float scale, int32_t zeroPoint) {
        OperationModel model(OperationType::HASHTABLE_LOOKUP);
        model.input({TENSOR_INT32, {}}).input({TENSOR_INT32, {}}).input(kOpen);
        return model.output(kOpen).output({TENSOR_QUANT8_ASYMM, {}, scale, zeroPoint});
    };
    expectNode(lookup(1.0F, 0).graph(), 0, engine::HashtableLookup{}, "in0 in1 in2", "out0 out1");
    expectSince(lookup(1.0F, 0).build(), HalVersion::V1_0);
    EXPECT_FALSE(validateOperations(lookup(0.5F, 0).build(), HalVersion::V1_3).ok());
    EXPECT_FALSE(validateOperations(lookup(1.0F, 1).build(), HalVersion::V1_3).ok());
}

OperationModel lsh(OperandType hash, OperandType hashed, bool weighted, int32_t type) {
    OperationModel model(OperationType::LSH_PROJECTION);
    model.input({hash, {}}).input({hashed, {}, hashed == TENSOR_QUANT8_ASYMM ? 1.0F : 0.0F});
    weighted ? model.input({hash, {}}) : model.omitted({hash, {}});
    return model.int32(type).output({TENSOR_INT32, {}});
}

TEST(LoweredLookups, ProjectByHashing) {
    using Type = engine::LshProjection::Type;
    for (const auto& [code, type] :
         {std::pair{1, Type::SPARSE_DEPRECATED}, {2, Type::DENSE}, {3, Type::SPARSE}}) {
        expectNode(lsh(TENSOR_FLOAT32, TENSOR_INT32, true, code).graph(), 0,
                   engine::LshProjection{.type = type}, "in0 in1 in2");
        expectNode(lsh(TENSOR_FLOAT32, TENSOR_INT32, false, code).graph(), 0,
                   engine::LshProjection{.type = type}, "in0 in1 -");
    }
    for (const int32_t code : {0, 4}) {
        expectInvalid(lsh(TENSOR_FLOAT32, TENSOR_INT32, true, code),
                      "operation 0 (LSH_PROJECTION): the type (input 3, operand 3) is " +
                              std::to_string(code) + ", not 1..3");
    }
    expectSince(lsh(TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM, true, 2).build(), HalVersion::V1_0);
    expectSince(lsh(TENSOR_FLOAT32, TENSOR_FLOAT16, true, 2).build(), HalVersion::V1_2);
    expectSince(lsh(TENSOR_FLOAT16, TENSOR_FLOAT32, true, 2).build(), HalVersion::V1_2);
}

TEST(LoweredChance, DrawsAtLeastOnce) {
    const auto draw = [](int32_t samples) {
        OperationModel model(OperationType::RANDOM_MULTINOMIAL);
        return model.input(kOpen)
                .int32(samples)
                .input({TENSOR_INT32, {}})
                .output({TENSOR_INT32, {}});
    };
    expectNode(draw(7).graph(), 0, engine::RandomMultinomial{.samples = 7}, "in0 in1");
    expectSince(draw(7).build(), HalVersion::V1_2);
    expectInvalid(draw(0),
                  "operation 0 (RANDOM_MULTINOMIAL): the samples (input 1, operand 1) is 0, below "
                  "1");
}

// ---- What came with AIDL ------------------------------------------------------------------------

TEST(LoweredAidlOperations, MultiplyMatrices) {
    for (const bool transposeA : {false, true}) {
        for (const bool transposeB : {false, true}) {
            OperationModel model(OperationType::BATCH_MATMUL);
            model.input(kOpen).input(kOpen).boolean(transposeA).boolean(transposeB).output(kOpen);
            expectNode(model.graph(), 0,
                       engine::BatchMatmul{.transposeA = transposeA, .transposeB = transposeB},
                       "in0 in1");
        }
    }
    OperationModel deep(OperationType::BATCH_MATMUL);
    deep.input(kOpen).input(floats({1, 1, 1, 2, 2})).boolean(false).boolean(false).output(kOpen);
    EXPECT_EQ(validateOperations(deep.build(), HalVersion::AIDL_V2).message(),
              "operation 0 (BATCH_MATMUL): the b (input 1, operand 1) has rank 5, above 4");
}

TEST(LoweredAidlOperations, PackAlongANewAxis) {
    const auto pack = [](int32_t axis) {
        OperationModel model(OperationType::PACK);
        return model.int32(axis).input(kOpen).input(kOpen).input(kOpen).output(kOpen);
    };
    expectNode(pack(2).graph(), 0, engine::Pack{.axis = 2}, "in0 in1 in2");
    expectInvalid(pack(-1), "operation 0 (PACK): the axis (input 0, operand 0) is -1, below 0");
}

TEST(LoweredAidlOperations, MirrorAndReverse) {
    const auto mirror = [](int32_t mode) {
        OperationModel model(OperationType::MIRROR_PAD);
        return model.input(kOpen).input({TENSOR_INT32, {}}).int32(mode).output(kOpen);
    };
    expectNode(mirror(0).graph(), 0, engine::Pad{.mode = engine::Pad::Mode::REFLECT}, "in0 in1 -");
    expectNode(mirror(1).graph(), 0, engine::Pad{.mode = engine::Pad::Mode::SYMMETRIC},
               "in0 in1 -");
    expectInvalid(
            mirror(2),
            "operation 0 (MIRROR_PAD): the mode (input 2, operand 2) is 2, not 0 (REFLECT) or "
            "1 (SYMMETRIC)");
    OperationModel reverse(OperationType::REVERSE);
    reverse.input(kOpen).input({TENSOR_INT32, {}}).output(kOpen);
    expectNode(reverse.graph(), 0, engine::Reverse{}, "in0 in1");
}

// The answer of a service of HIDL.
TEST(LoweredAidlOperations, AreUnknownToHidl) {
    OperationModel reverse(OperationType::REVERSE);
    reverse.input(kOpen).constant<int32_t>({TENSOR_INT32, {1}}, {0}).output(kOpen);
    const Model model = reverse.build();
    const std::unique_ptr<Device> device = makeDevice();
    for (const HalVersion version : kVersions) {
        const bool known = version >= HalVersion::AIDL_V3;
        EXPECT_EQ(device->supportedOperations(model, version).ok(), known) << toString(version);
        const Status status = device->prepare(model, version, {}).status();
        EXPECT_EQ(status.ok(), known) << toString(version);
        EXPECT_TRUE(known || status.code() == StatusCode::INVALID_ARGUMENT) << status.toString();
    }
    EXPECT_EQ(device->prepare(model, HalVersion::V1_3, {}).status().message(),
              "operation 0 (REVERSE): the operation is unknown to HAL 1.3");
}

}  // namespace
}  // namespace halyard::driver
