// SPDX-License-Identifier: Apache-2.0
//
// IF and WHILE, whose subgraphs are mapped whole or not at all.

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "importers/tflite/operators/handlers.h"

namespace halyard::tflite {
namespace {

Status checkTaken(const Mapper& mapper) {
    return mapper.options().controlFlow
                   ? Status()
                   : unsupported("the runtime runs the subgraphs that it names");
}

Result<std::vector<TensorId>> readFrom(Mapper& mapper, size_t first) {
    std::vector<TensorId> values;
    for (size_t place = first; place < mapper.op().inputs.size(); ++place) {
        HALYARD_ASSIGN_OR_RETURN(const TensorId value, mapper.readInput(place));
        values.push_back(value);
    }
    return values;
}

}  // namespace

Status mapIf(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(checkTaken(mapper));
    HALYARD_ASSIGN_OR_RETURN(const TensorId condition, mapper.readInput(0));
    HALYARD_ASSIGN_OR_RETURN(const std::vector<TensorId> values, readFrom(mapper, 1));
    const size_t results = mapper.op().outputs.size();
    engine::If node;
    HALYARD_ASSIGN_OR_RETURN(node.then, mapper.nested(mapper.integer(IfOptions::kThenSubgraphIndex),
                                                      values, results));
    HALYARD_ASSIGN_OR_RETURN(
            node.otherwise,
            mapper.nested(mapper.integer(IfOptions::kElseSubgraphIndex), values, results));
    std::vector<TensorId> inputs = {condition};
    inputs.insert(inputs.end(), values.begin(), values.end());
    return mapper.emit(std::move(node), std::move(inputs));
}

Status mapWhile(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(checkTaken(mapper));
    HALYARD_ASSIGN_OR_RETURN(std::vector<TensorId> values, readFrom(mapper, 0));
    HALYARD_RETURN_IF_ERROR(mapper.checkOutputCount(values.size(), values.size()));
    engine::While node;
    HALYARD_ASSIGN_OR_RETURN(
            node.condition,
            mapper.nested(mapper.integer(WhileOptions::kCondSubgraphIndex), values, 1));
    HALYARD_ASSIGN_OR_RETURN(
            node.body,
            mapper.nested(mapper.integer(WhileOptions::kBodySubgraphIndex), values, values.size()));
    return mapper.emit(std::move(node), std::move(values));
}

}  // namespace halyard::tflite
