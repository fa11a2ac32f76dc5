// SPDX-License-Identifier: Apache-2.0
//
// Mapper: what maps an operator reads it by and writes nodes with. One for each graph that is
// built; it goes from operator to operator.
//
// A handler (operators/) reads the operator's inputs and options and emits nodes, whose shapes are
// inferred at once. It fails with UNSUPPORTED and a sentence, subject "its ..." or the tensor's
// name, for what the engine can't express; the operator's label comes before it elsewhere. An
// option that a handler neither reads nor accepts has to have its default: the operator is refused
// otherwise.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/graph/constant_copies.h"
#include "engine/graph/graph.h"
#include "importers/tflite/imported_graph.h"
#include "importers/tflite/model.h"
#include "importers/tflite/operators.h"

namespace halyard::tflite {

using engine::TensorId;

// Where a subgraph inside an operator is mapped.
struct Surroundings {
    std::vector<size_t> callers;              // the subgraphs around it, outermost first
    std::map<int32_t, engine::Shape> shapes;  // of its inputs, as they are given
    // Subgraphs that were mapped inside the outermost one, each as often as it was.
    std::shared_ptr<size_t> mapped;
    // Imports such a subgraph, in whole.
    Result<ImportedGraph> (*import)(const Model&, size_t subgraph, const ImportOptions&,
                                    Surroundings) = nullptr;
};

class Mapper {
  public:
    // All outlive the mapper. `known`: what folded operators have come to.
    Mapper(const Model& model, size_t subgraph, const ImportOptions& options,
           const KnownConstants& known, Surroundings surroundings = {});

    // Maps one operator. After a failure the graph holds nodes of it that nothing reads, and its
    // outputs are as if it had not been mapped.
    Status map(size_t op);
    // The graph so far; its inputs and outputs are not set.
    engine::Graph& graph() { return mGraph; }
    const engine::Graph& graph() const { return mGraph; }
    // Tensors that were read and that no operator computes: inputs of the graph, in the order in
    // which they were read.
    const std::vector<int32_t>& externalInputs() const { return mExternal; }
    // Of a tensor that is computed, read or known; nothing where it is none of these.
    std::optional<TensorId> find(int32_t tensor) const;
    // What operators have made of variable tensors.
    const std::map<int32_t, TensorId>& updatedVariables() const { return mUpdated; }

    // ---- The operator ---------------------------------------------------------------------------

    const Operator& op() const { return *mOperator; }
    OperatorCode code() const { return static_cast<OperatorCode>(mOperator->code); }
    const Subgraph& subgraph() const { return mModel.subgraphs[mSubgraph]; }
    const ImportOptions& options() const { return mOptions; }
    // Whether input `place` is there.
    bool has(size_t place) const;
    // The subgraph's tensor: UNSUPPORTED where it is left out.
    Result<int32_t> input(size_t place) const;
    Result<int32_t> output(size_t place = 0) const;
    const Tensor& tensor(int32_t index) const { return subgraph().tensors[index]; }
    // "'conv/weights'", or "tensor 7".
    std::string shown(int32_t index) const;
    // A refusal unless it has so many inputs, or outputs.
    Status checkInputCount(size_t least, size_t most) const;
    Status checkOutputCount(size_t least, size_t most) const;

    // ---- Options: by the places that <Name>Options of operators.h has ---------------------------

    bool flag(size_t option) { return integer(option) != 0; }
    int32_t integer(size_t option);
    float real(size_t option);
    const std::vector<int32_t>& list(size_t option);
    // One that changes nothing of what is computed here.
    void accept(size_t option) { mRead[option] = true; }
    Result<engine::PaddingScheme> padding(size_t option);
    // Of a cell: also TANH and SIGMOID, for floats only.
    Result<FusedActivation> fusedActivation(size_t option);
    // The engine's activation of a fused one; nothing where it has none.
    static std::optional<engine::Activation> fused(FusedActivation activation);
    // A fused activation that the engine's nodes have: a refusal of others, which TFLite's kernels
    // compute as if they were not there.
    Result<engine::Activation> activation(size_t option);

    // ---- Values ---------------------------------------------------------------------------------

    // The engine's tensor of what an operator reads. A constant is converted and added when it is
    // first read; what no operator computes becomes an input of the graph; of a variable it is what
    // operators have made of it. UNSUPPORTED where the engine has no such type.
    Result<TensorId> read(int32_t tensor);
    Result<TensorId> readInput(size_t place);
    // kNoTensor where it is left out.
    Result<TensorId> readOptional(size_t place);
    // The same of weights: FLOAT32 where the activations are FLOAT32 and the weights are quantised.
    Result<TensorId> readWeights(size_t place, int32_t activations);
    // A constant as FLOAT32, whatever it is stored as.
    Result<TensorId> readWidened(int32_t constant);
    // A constant of INT8 without a zero point, as QUANT8_SYMM.
    Result<TensorId> readSymmetric(size_t place);
    const engine::TensorType& typeOf(TensorId id) const { return mGraph.tensor(id).type; }
    // Its extents, all known: UNSUPPORTED otherwise.
    Result<std::vector<int32_t>> extents(TensorId id) const;
    // Whether its elements are known before a run.
    bool isKnown(int32_t tensor) const;
    // The elements of a constant of integers: `what` is "axes". UNSUPPORTED where it is computed,
    // of another type, or a value has more than 32 bits.
    Result<std::vector<int32_t>> integers(int32_t tensor, std::string_view what) const;
    Result<int32_t> oneInteger(int32_t tensor, std::string_view what) const;
    // The type that the subgraph declares an output with; of unknown rank, as shapes are inferred.
    // INT64 of an operator that reads constants alone is INT32.
    Result<engine::TensorType> declared(int32_t tensor) const;

    // ---- Nodes ----------------------------------------------------------------------------------

    TensorId int32Constant(std::span<const int32_t> values);  // [n]
    Result<TensorId> constant(engine::TensorType type, std::vector<uint8_t> bytes);
    // One element of that value, of a type that is FLOAT32, FLOAT16, INT32, BOOL8 or 8 bits wide;
    // `value` is real.
    Result<TensorId> scalar(const engine::TensorType& type, double value);
    // Zeros of a bias: FLOAT32 or FLOAT16 as the activations, INT32 where they are quantised.
    Result<TensorId> zeroBias(const engine::TensorType& activations, int32_t channels);

    // A node that computes the operator's outputs, all or (`tensors`) these.
    Status emit(engine::NodeDescriptor descriptor, std::vector<TensorId> inputs);
    Status emitTo(engine::NodeDescriptor descriptor, std::vector<TensorId> inputs,
                  std::span<const int32_t> tensors);
    // One on the way, with one output of this type, whose shape is inferred.
    Result<TensorId> emitInner(engine::NodeDescriptor descriptor, std::vector<TensorId> inputs,
                               engine::TensorType output);
    // The same with several outputs.
    Result<std::vector<TensorId>> emitInnerN(engine::NodeDescriptor descriptor,
                                             std::vector<TensorId> inputs,
                                             std::vector<engine::TensorType> outputs);
    // The same, where these types say what shapes are inferred from.
    Result<std::vector<TensorId>> emitShapedN(engine::NodeDescriptor descriptor,
                                              std::vector<TensorId> inputs,
                                              std::vector<engine::TensorType> outputs) {
        return addNode(std::move(descriptor), std::move(inputs), std::move(outputs), {});
    }
    // Has the operator's output be a constant. INT64 is INT32.
    Status define(int32_t output, engine::TensorType type, std::vector<uint8_t> bytes);
    Status defineIntegers(int32_t output, const engine::Shape& shape,
                          std::span<const int32_t> values);
    // Has the operator's output be a tensor that is there already, of the same type; or (any) of
    // another, as that of INT64 constants.
    Status alias(int32_t output, TensorId id);
    void aliasKnown(int32_t output, TensorId id) { mTensors[output] = id; }
    // A constant that has another's elements and this type.
    Result<TensorId> sameBytes(TensorId constant, engine::TensorType type);
    // A copy of `id` with other extents, as an output or on the way.
    Status emitReshape(TensorId id, std::span<const int32_t> extents, int32_t output);
    Result<TensorId> reshaped(TensorId id, std::span<const int32_t> extents);
    // As emit(), for a node with a field `activation`, which becomes that of the option.
    template <typename Descriptor>
    Status emitActivated(Descriptor descriptor, std::vector<TensorId> inputs, size_t option);
    // What a variable tensor becomes.
    void update(int32_t variable, TensorId value) { mUpdated[variable] = value; }
    // The graph of a subgraph that takes these values and gives so many results. UNSUPPORTED where
    // it does not, has states, is one of those around it, or an operator of it is not taken.
    Result<engine::NestedGraph> nested(int32_t subgraph, std::span<const TensorId> values,
                                       size_t results);

  private:
    friend class Importer;
    Result<TensorId> addConstant(int32_t tensor);
    // A refusal of an output that is left out, or that something has computed.
    Status checkFree(int32_t tensor) const;
    Result<std::vector<TensorId>> addNode(engine::NodeDescriptor descriptor,
                                          std::vector<TensorId> inputs,
                                          std::vector<engine::TensorType> outputs,
                                          std::span<const std::string> names);
    Status checkOptions() const;

    const Model& mModel;
    const size_t mSubgraph;
    const ImportOptions& mOptions;
    const KnownConstants& mKnown;
    const Surroundings mSurroundings;
    engine::ConstantCopies mCopies;
    engine::Graph mGraph;
    std::map<int32_t, TensorId> mTensors;  // by the subgraph's
    std::map<int32_t, TensorId> mWidened;
    std::map<int32_t, TensorId> mUpdated;
    std::vector<int32_t> mExternal;
    size_t mIndex = 0;  // of the operator
    const Operator* mOperator = nullptr;
    std::vector<bool> mRead;  // which of its options were
};

// Maps the operator that a mapper is at.
using Handler = Status (*)(Mapper& mapper);
// Null: there is none.
Handler findHandler(int32_t code);

template <typename Descriptor>
Status Mapper::emitActivated(Descriptor descriptor, std::vector<TensorId> inputs, size_t option) {
    HALYARD_ASSIGN_OR_RETURN(descriptor.activation, activation(option));
    return emit(std::move(descriptor), std::move(inputs));
}

}  // namespace halyard::tflite
