// SPDX-License-Identifier: Apache-2.0

#include "litert/vendor/plugin/claims.h"

#include <algorithm>
#include <set>
#include <utility>

#include "engine/base/json_text.h"
#include "engine/plan/assignment.h"
#include "importers/tflite/importer.h"

namespace halyard::vendor {
namespace {

using tflite::Importer;

constexpr std::string_view kUnread = "nothing that is taken reads its result, which is a constant";

// Of the operators that the importer takes, those that only the reference computes.
Status leaveUntuned(const tflite::Model& model, const Importer& importer,
                    const engine::BackendList& backends, Claims& claims) {
    const tflite::Subgraph& subgraph = model.subgraphs.front();
    std::vector<uint32_t> operators;
    std::vector<int32_t> outputs;
    for (uint32_t op = 0; op < claims.reasons.size(); ++op) {
        if (!claims.reasons[op].empty() || importer.isFolded(op)) {
            continue;
        }
        operators.push_back(op);
        std::ranges::copy_if(subgraph.operators[op].outputs, std::back_inserter(outputs),
                             [](int32_t tensor) { return tensor >= 0; });
    }
    if (operators.empty()) {
        return {};
    }
    HALYARD_ASSIGN_OR_RETURN(tflite::ImportedGraph imported,
                             importer.build(operators, subgraph.inputs, outputs));
    HALYARD_ASSIGN_OR_RETURN(const engine::AnalyzedGraph analyzed,
                             engine::analyze(std::move(imported.graph), backends, nullptr));
    const std::string_view reference = backends.back()->name();
    for (const engine::NodePlacement& node : analyzed.placement) {
        if (!node.backend.empty() && node.backend != reference) {
            continue;
        }
        const std::string why = node.refusals.empty() ? "no tuned backend takes it"
                                                      : node.refusals.front().backend + " " +
                                                                node.refusals.front().reason;
        for (const uint32_t op : node.sources) {
            if (claims.reasons[op].empty()) {
                claims.reasons[op] = why;
            }
        }
    }
    return {};
}

// By operator: whether it computes of constants alone.
std::vector<bool> constantOperators(const tflite::Subgraph& subgraph) {
    std::vector<bool> isConstant(subgraph.tensors.size());
    for (size_t i = 0; i < isConstant.size(); ++i) {
        isConstant[i] = subgraph.tensors[i].isConstant();
    }
    std::vector<bool> found;
    for (const tflite::Operator& op : subgraph.operators) {
        found.push_back(!op.inputs.empty() && std::ranges::all_of(op.inputs, [&](int32_t tensor) {
            return tensor < 0 || isConstant[tensor];
        }));
        for (const int32_t tensor : op.outputs) {
            if (tensor >= 0 && found.back()) {
                isConstant[tensor] = true;
            }
        }
    }
    return found;
}

// Operators whose results are constants that nothing that is claimed reads. The runtime wants them
// where it sees them: weights of an operator of its own, widened.
void leaveUnread(const tflite::Subgraph& subgraph, const Importer& importer, Claims& claims) {
    const std::vector<bool> isConstant = constantOperators(subgraph);
    std::set<int32_t> read;
    // In the order of execution, so backwards: a folded operator may read another.
    for (size_t op = claims.reasons.size(); op-- > 0;) {
        const tflite::Operator& each = subgraph.operators[op];
        if (claims.reasons[op].empty() && (importer.isFolded(op) || isConstant[op]) &&
            std::ranges::none_of(each.outputs,
                                 [&](int32_t tensor) { return read.contains(tensor); })) {
            claims.reasons[op] = kUnread;
        }
        if (claims.reasons[op].empty()) {
            read.insert(each.inputs.begin(), each.inputs.end());
        }
    }
}

}  // namespace

size_t Claims::count() const {
    return static_cast<size_t>(std::ranges::count_if(reasons, &std::string::empty));
}

std::string Claims::report(const tflite::Subgraph& subgraph, std::string_view processor) const {
    std::string text = "{\"processor\": " + jsonString(processor) +
                       ", \"operators\": " + std::to_string(reasons.size()) +
                       ", \"taken\": " + std::to_string(count()) + ", \"left\": [";
    bool isFirst = true;
    for (size_t op = 0; op < reasons.size(); ++op) {
        if (reasons[op].empty()) {
            continue;
        }
        text.append(isFirst ? "" : ", ");
        isFirst = false;
        text.append("{\"operator\": " + jsonString(subgraph.label(op)) +
                    ", \"reason\": " + jsonString(reasons[op]) + "}");
    }
    return text + "]}";
}

Result<Claims> claim(const tflite::Model& model, const engine::BackendList& backends) {
    HALYARD_ASSIGN_OR_RETURN(const Importer importer,
                             Importer::create(model, 0, {.controlFlow = false}));
    Claims claims;
    for (size_t op = 0; op < importer.operatorCount(); ++op) {
        claims.reasons.push_back(importer.reason(op));
    }
    HALYARD_RETURN_IF_ERROR(leaveUntuned(model, importer, backends, claims));
    leaveUnread(model.subgraphs.front(), importer, claims);
    return claims;
}

}  // namespace halyard::vendor
