// SPDX-License-Identifier: Apache-2.0

#include "driver/ops/operation_view.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "driver/model/extensions.h"
#include "driver/ops/matching.h"

namespace halyard::driver {
namespace {

// Neither is ever destroyed: threads that prepare models may outlive main().
const Operand& absentOperand() {
    static const auto* const absent = [] {
        auto* const operand = new Operand;
        operand->lifetime = OperandLifeTime::NO_VALUE;
        return operand;
    }();
    return *absent;
}

const OperandView& absentView() {
    static const auto* const absent = new OperandView{.operand = &absentOperand()};
    return *absent;
}

// As forms name them.
std::vector<OperandType> typesOf(const Model& model, const Subgraph& subgraph,
                                 const std::vector<uint32_t>& indexes) {
    std::vector<OperandType> types;
    types.reserve(indexes.size());
    for (const uint32_t index : indexes) {
        const OperandType type = subgraph.operands[index].type;
        types.push_back(tabled(model, type).value_or(type));
    }
    return types;
}

std::vector<OperandView> viewsOf(const Subgraph& subgraph, const std::vector<uint32_t>& indexes,
                                 const OperandForms& forms, bool isOutput) {
    std::vector<OperandView> views;
    views.reserve(indexes.size());
    for (size_t i = 0; i < indexes.size(); ++i) {
        views.push_back({.operand = &subgraph.operands[indexes[i]],
                         .index = indexes[i],
                         .form = &formAt(forms, i, indexes.size()),
                         .isOutput = isOutput,
                         .position = i});
    }
    return views;
}

// Empty where the forms have no such name.
std::span<const OperandView> find(std::span<const OperandView> views, const OperandForms& forms,
                                  std::string_view name) {
    const std::optional<OperandRange> range = findRange(forms, name, views.size());
    return range.has_value() ? views.subspan(range->first, range->count)
                             : std::span<const OperandView>();
}

}  // namespace

Result<OperationView> OperationView::make(const Model& model, const Subgraph& subgraph,
                                          const Operation& operation,
                                          const OperationDefinition& definition,
                                          HalVersion version) {
    const OperandTypes types = {.inputs = typesOf(model, subgraph, operation.inputs),
                                .outputs = typesOf(model, subgraph, operation.outputs)};
    OperationView view(model, definition, version);
    view.mForm = findForm(definition, types, version);
    if (view.mForm == nullptr) {
        return explainMismatch(definition, operation, types, version);
    }
    view.mInputs = viewsOf(subgraph, operation.inputs, view.mForm->inputs, false);
    view.mOutputs = viewsOf(subgraph, operation.outputs, view.mForm->outputs, true);
    return view;
}

const OperandView& OperationView::input(std::string_view name) const {
    const std::span<const OperandView> found = inputs(name);
    return found.empty() ? absentView() : found.front();
}

const OperandView& OperationView::output(std::string_view name) const {
    const std::span<const OperandView> found = outputs(name);
    return found.empty() ? absentView() : found.front();
}

std::span<const OperandView> OperationView::inputs(std::string_view name) const {
    noteName(name, false);
    return find(mInputs, mForm->inputs, name);
}

std::span<const OperandView> OperationView::outputs(std::string_view name) const {
    noteName(name, true);
    return find(mOutputs, mForm->outputs, name);
}

const Subgraph* OperationView::referenced(std::string_view name) const {
    const Operand& operand = *input(name).operand;
    if (operand.lifetime != OperandLifeTime::SUBGRAPH ||
        operand.location.offset >= mModel->referenced.size()) {
        return nullptr;
    }
    return &mModel->referenced[operand.location.offset];
}

void OperationView::noteName(std::string_view name, bool isOutput) const {
    const bool known = std::ranges::any_of(mDefinition->forms, [&](const Form& form) {
        const OperandForms& forms = isOutput ? form.outputs : form.inputs;
        return std::ranges::find(forms, name, &OperandForm::name) != forms.end();
    });
    if (!known) {
        mUnknownName = name;
    }
}

Status OperationView::checkNames() const {
    if (mUnknownName.empty()) {
        return {};
    }
    return internalError("Halyard asks for the operand \"" + mUnknownName +
                         "\", which no form of the operation has");
}

}  // namespace halyard::driver
