// SPDX-License-Identifier: Apache-2.0
//
// FULLY_CONNECTED, BATCH_MATMUL.

#include <algorithm>
#include <utility>
#include <vector>

#include "importers/tflite/operators/handlers.h"

namespace halyard::tflite {
namespace {

using engine::TensorType;

// Of a fully connected layer: [batch, units], as the engine has it.
struct Layer {
    TensorId x;
    TensorId weights;
    TensorId bias;
    std::vector<int32_t> given;  // the input's extents
    int32_t batch;
    int32_t units;
    int32_t depth;
};

Result<Layer> readLayer(Mapper& mapper) {
    Layer layer = {};
    HALYARD_ASSIGN_OR_RETURN(const int32_t activations, mapper.input(0));
    HALYARD_ASSIGN_OR_RETURN(layer.x, mapper.read(activations));
    HALYARD_ASSIGN_OR_RETURN(layer.weights, mapper.readWeights(1, activations));
    HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> weights, mapper.extents(layer.weights));
    HALYARD_ASSIGN_OR_RETURN(layer.given, mapper.extents(layer.x));
    if (weights.size() != 2 || weights[1] == 0) {
        return unsupported("its weights are " + mapper.typeOf(layer.weights).shape.toString());
    }
    layer.units = weights[0];
    layer.depth = weights[1];
    HALYARD_ASSIGN_OR_RETURN(const int64_t elements, mapper.typeOf(layer.x).shape.elementCount());
    if (elements % layer.depth != 0) {
        return unsupported("its input " + mapper.typeOf(layer.x).shape.toString() +
                           " does not go into rows of " + std::to_string(layer.depth));
    }
    layer.batch = static_cast<int32_t>(elements / layer.depth);
    if (mapper.has(2)) {
        HALYARD_ASSIGN_OR_RETURN(layer.bias, mapper.readWeights(2, activations));
    } else {
        HALYARD_ASSIGN_OR_RETURN(layer.bias, mapper.zeroBias(mapper.typeOf(layer.x), layer.units));
    }
    return layer;
}

// Where weights have a scale for each unit: a convolution of one pixel has that, too.
Status emitConvolution(Mapper& mapper, const Layer& layer, engine::Activation activation,
                       std::span<const int32_t> extents) {
    HALYARD_ASSIGN_OR_RETURN(const int32_t output, mapper.output());
    HALYARD_ASSIGN_OR_RETURN(const int32_t weights, mapper.input(1));
    if (mapper.typeOf(layer.weights).quantization.channelDim != 0 ||
        !mapper.tensor(weights).isConstant()) {
        return unsupported("its weights have scales, and not one for each unit of a constant");
    }
    HALYARD_ASSIGN_OR_RETURN(
            const TensorId pixels,
            mapper.reshaped(layer.x, std::vector<int32_t>{layer.batch, 1, 1, layer.depth}));
    TensorType type = mapper.typeOf(layer.weights);
    type.shape = {layer.units, 1, 1, layer.depth};
    HALYARD_ASSIGN_OR_RETURN(const TensorId filter,
                             mapper.sameBytes(layer.weights, std::move(type)));
    HALYARD_ASSIGN_OR_RETURN(TensorType result, mapper.declared(output));
    HALYARD_ASSIGN_OR_RETURN(const TensorId convolved,
                             mapper.emitInner(engine::Conv2d{.activation = activation},
                                              {pixels, filter, layer.bias}, std::move(result)));
    return mapper.emitReshape(convolved, extents, output);
}

}  // namespace

Status mapFullyConnected(Mapper& mapper) {
    using Options = FullyConnectedOptions;
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(2, 3));
    if (const int32_t format = mapper.integer(Options::kWeightsFormat); format != 0) {
        return unsupported("its weights are in the format " + std::to_string(format));
    }
    HALYARD_RETURN_IF_ERROR(mapper.checkOutputCount(1, 1));
    HALYARD_ASSIGN_OR_RETURN(Layer layer, readLayer(mapper));
    // How runtimes round the activations of hybrid layers, which stay as they are here.
    mapper.accept(Options::kAsymmetricQuantizeInputs);
    mapper.accept(Options::kQuantizedBiasType);
    std::vector<int32_t> extents = {layer.batch, layer.units};
    if (mapper.flag(Options::kKeepNumDims)) {
        if (layer.given.empty() || layer.given.back() != layer.depth) {
            return unsupported("its rows end within a dimension that it is to keep");
        }
        extents = layer.given;
        extents.back() = layer.units;
    }
    HALYARD_ASSIGN_OR_RETURN(const int32_t output, mapper.output());
    if (mapper.typeOf(layer.weights).type == engine::DataType::QUANT8_SYMM_PER_CHANNEL) {
        HALYARD_ASSIGN_OR_RETURN(const engine::Activation activation,
                                 mapper.activation(Options::kFusedActivationFunction));
        return emitConvolution(mapper, layer, activation, extents);
    }
    if (layer.given.size() < 2) {
        HALYARD_ASSIGN_OR_RETURN(
                layer.x, mapper.reshaped(layer.x, std::vector<int32_t>{layer.batch, layer.depth}));
    }
    const std::vector<TensorId> inputs = {layer.x, layer.weights, layer.bias};
    if (extents.size() == 2) {
        return mapper.emitActivated(engine::FullyConnected{}, inputs,
                                    Options::kFusedActivationFunction);
    }
    HALYARD_ASSIGN_OR_RETURN(const engine::Activation activation,
                             mapper.activation(Options::kFusedActivationFunction));
    HALYARD_ASSIGN_OR_RETURN(TensorType type, mapper.declared(output));
    HALYARD_ASSIGN_OR_RETURN(const TensorId flat,
                             mapper.emitInner(engine::FullyConnected{.activation = activation},
                                              inputs, std::move(type)));
    return mapper.emitReshape(flat, extents, output);
}

Status mapBatchMatmul(Mapper& mapper) {
    using Options = BatchMatMulOptions;
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(2, 2));
    HALYARD_ASSIGN_OR_RETURN(const int32_t activations, mapper.input(0));
    HALYARD_ASSIGN_OR_RETURN(TensorId a, mapper.read(activations));
    HALYARD_ASSIGN_OR_RETURN(TensorId b, mapper.readWeights(1, activations));
    mapper.accept(Options::kAsymmetricQuantizeInputs);
    // TFLite broadcasts what has fewer dimensions; the engine asks for as many.
    for (TensorId* const smaller : {&a, &b}) {
        const size_t rank = std::max(mapper.typeOf(a).shape.rank(), mapper.typeOf(b).shape.rank());
        HALYARD_ASSIGN_OR_RETURN(std::vector<int32_t> extents, mapper.extents(*smaller));
        if (extents.size() < rank) {
            extents.insert(extents.begin(), rank - extents.size(), 1);
            HALYARD_ASSIGN_OR_RETURN(*smaller, mapper.reshaped(*smaller, extents));
        }
    }
    return mapper.emit(engine::BatchMatmul{.transposeA = mapper.flag(Options::kAdjX),
                                           .transposeB = mapper.flag(Options::kAdjY)},
                       {a, b});
}

}  // namespace halyard::tflite
