// SPDX-License-Identifier: Apache-2.0
//
// Lowering is what one operation sees of the graph under construction, and all that a family's file
// uses to add its nodes.

#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/model/model.h"
#include "driver/ops/graph_builder.h"
#include "driver/ops/operation_view.h"
#include "engine/base/status.h"
#include "engine/graph/graph.h"

namespace halyard::driver {

// Operands go by the names that the operation's forms give them. INTERNAL for a name that no form
// has, and for a scalar that the operation's own form lacks or that is omitted.
class Lowering {
  public:
    Lowering(GraphBuilder& builder, OperationView view, std::string label, uint32_t source)
        : mBuilder(builder), mView(std::move(view)), mLabel(std::move(label)), mSource(source) {}

    const OperationView& view() const { return mView; }
    // Whether the operation's form has that input, and it is not omitted.
    bool has(std::string_view name) const { return mView.has(name); }
    // Whether it does not depend on the inputs of an execution.
    bool isConstant(std::string_view input) const;
    const Operand& operand(std::string_view input) const { return *mView.input(input).operand; }

    // ---- Scalars. UNSUPPORTED unless the operand is a constant. ---------------------------------
    Result<int32_t> int32(std::string_view name) const;
    // At least `least`: INVALID_ARGUMENT otherwise.
    Result<int32_t> int32AtLeast(std::string_view name, int32_t least) const;
    Result<bool> boolean(std::string_view name) const;
    // FLOAT32 or FLOAT16.
    Result<float> real(std::string_view name) const;
    // At least `least`, and no NaN: INVALID_ARGUMENT otherwise.
    Result<float> realAtLeast(std::string_view name, float least) const;
    // NNAPI's FuseCode.
    Result<engine::Activation> activation(std::string_view name) const;
    // A BOOL that is true for NCHW; false where the form lacks it.
    Result<bool> isNchw(std::string_view name) const;

    // ---- Tensors --------------------------------------------------------------------------------
    // kNoTensor if it is omitted, or the operation's form lacks it.
    Result<engine::TensorId> input(std::string_view name);
    Result<engine::TensorId> output(std::string_view name);
    // The output, or a temporary of the type of `like` and any shape where the operation's form
    // lacks it.
    Result<engine::TensorId> outputOrTemporary(std::string_view name, engine::TensorId like);
    // Those of an operand that repeats.
    Result<std::vector<engine::TensorId>> inputs(std::string_view name);
    Result<std::vector<engine::TensorId>> outputs(std::string_view name);
    const engine::TensorType& typeOf(engine::TensorId id) const;
    engine::TensorId addTemporary(engine::TensorType type);
    // A FLOAT32 of our own without dimensions.
    Result<engine::TensorId> float32Constant(float value);
    void addNode(engine::NodeDescriptor descriptor, std::vector<engine::TensorId> inputs,
                 engine::TensorId output);
    void addNode(engine::NodeDescriptor descriptor, std::vector<engine::TensorId> inputs,
                 std::vector<engine::TensorId> outputs);

    // An input as NHWC: the tensor itself, or the output of a Transpose when `nchw`.
    Result<engine::TensorId> nhwcInput(bool nchw, std::string_view name = "input");
    // The node's result is NHWC; with `nchw` a Transpose stands between it and "output".
    Status addNhwcNode(engine::NodeDescriptor descriptor, std::vector<engine::TensorId> inputs,
                       bool nchw);
    // An INT32 list of four extents in the layout of the data, as those of NHWC.
    Result<engine::TensorId> nhwcShape(std::string_view name, bool nchw);
    // The node's inputs and outputs are the operands of these names, in this order.
    Status addNodeOf(engine::NodeDescriptor descriptor, const std::vector<std::string_view>& inputs,
                     const std::vector<std::string_view>& outputs = {"output"});

    // ---- Subgraphs ------------------------------------------------------------------------------
    // The graph of the subgraph that the operand refers to. A failure names the operation inside.
    Result<engine::NestedGraph> nested(std::string_view name);

  private:
    // INTERNAL as above.
    Result<const OperandView*> scalarView(std::string_view name) const;
    // Copies a constant scalar of sizeof(T) bytes once.
    template <typename T>
    Result<T> scalar(std::string_view name) const;
    // The elements of a constant that has `count`, as they are now: a client may change those in a
    // pool. INVALID_ARGUMENT if it has another number of them.
    Result<std::vector<int32_t>> listOf(const OperandView& view, size_t count) const;
    Result<engine::TensorId> addTransposed(engine::TensorId tensor,
                                           const std::array<int32_t, 4>& permutation);
    Result<engine::TensorId> tensorOf(const OperandView& view);
    Result<std::vector<engine::TensorId>> tensorsOf(std::span<const OperandView> views);

    GraphBuilder& mBuilder;
    OperationView mView;
    std::string mLabel;
    uint32_t mSource;
};

}  // namespace halyard::driver
