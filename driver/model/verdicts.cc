// SPDX-License-Identifier: Apache-2.0

#include "driver/model/verdicts.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "driver/model/extensions.h"

namespace halyard::driver {
namespace {

std::string shortened(std::string text) {
    constexpr std::string_view kMore = " ...";
    if (text.size() <= Verdicts::kLongestReason) {
        return text;
    }
    // Not within a letter of several bytes.
    size_t end = Verdicts::kLongestReason - kMore.size();
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) {
        --end;
    }
    text.resize(end);
    return text.append(kMore);
}

// Each failure, also as that of the subgraphs that refer to the failed one. No recursion: the
// client chooses the depth.
std::vector<Status> withReferrers(const Model& model, std::vector<Status> failures) {
    const size_t count = model.referenced.size();
    std::vector<std::vector<size_t>> referrers(count);
    std::vector<size_t> open;
    for (size_t i = 0; i < count; ++i) {
        for (const Operand& operand : model.referenced[i].operands) {
            if (operand.lifetime == OperandLifeTime::SUBGRAPH && operand.location.offset < count) {
                referrers[operand.location.offset].push_back(i);
            }
        }
        if (!failures[i].ok()) {
            open.push_back(i);
        }
    }
    while (!open.empty()) {
        const size_t next = open.back();
        open.pop_back();
        for (const size_t referrer : referrers[next]) {
            if (failures[referrer].ok()) {
                failures[referrer] = failures[next];
                open.push_back(referrer);
            }
        }
    }
    return failures;
}

}  // namespace

Status breaking(Rule rule, const Status& failure) {
    const bool isMemory = failure.code() == StatusCode::RESOURCE_EXHAUSTED;
    return failure.breaking(static_cast<int32_t>(isMemory ? Rule::MEMORY : rule));
}

Rule ruleOf(const Status& failure) {
    return static_cast<Rule>(failure.rule());
}

std::string Verdicts::reasonOf(size_t operation, const Status& failure) const {
    const std::string label = labelOf(mModel, mModel.main.operations[operation], operation) + ": ";
    std::string_view message = failure.message();
    while (message.starts_with(label)) {
        message.remove_prefix(label.size());
    }
    return std::string(message);
}

void Verdicts::add(size_t operation, const Status& failure) {
    if (has(operation)) {
        return;
    }
    mRefused.resize(mModel.main.operations.size());
    mRefused[operation] = true;
    if (mVerdicts.size() == kMostVerdicts) {
        ++mLeftOut;
        return;
    }
    mVerdicts.push_back({.operation = static_cast<uint32_t>(operation),
                         .name = describe(mModel, mModel.main.operations[operation].type),
                         .rule = ruleOf(failure),
                         .reason = shortened(reasonOf(operation, failure))});
}

void Verdicts::addToUsers(const std::map<uint32_t, Status>& failures) {
    for (size_t i = 0; i < mModel.main.operations.size(); ++i) {
        const Operation& operation = mModel.main.operations[i];
        for (const std::vector<uint32_t>* operands : {&operation.inputs, &operation.outputs}) {
            for (const uint32_t operand : *operands) {
                if (const auto found = failures.find(operand); found != failures.end()) {
                    add(i, found->second);
                }
            }
        }
    }
}

void Verdicts::addToReferrers(const std::vector<Status>& failures) {
    const std::vector<Status> reached = withReferrers(mModel, failures);
    const std::vector<Operand>& operands = mModel.main.operands;
    for (size_t i = 0; i < mModel.main.operations.size(); ++i) {
        for (const uint32_t input : mModel.main.operations[i].inputs) {
            if (input >= operands.size() || operands[input].lifetime != OperandLifeTime::SUBGRAPH) {
                continue;
            }
            const uint64_t subgraph = operands[input].location.offset;
            if (subgraph < reached.size() && !reached[subgraph].ok()) {
                // The failure inside is the reason; the operation's own rule is another.
                add(i, Status(reached[subgraph].code(), std::string(reached[subgraph].message()))
                               .breaking(static_cast<int32_t>(Rule::INVALID_SUBGRAPH)));
            }
        }
    }
}

bool Verdicts::has(size_t operation) const {
    return operation < mRefused.size() && mRefused[operation];
}

std::vector<Verdict> Verdicts::take() {
    std::ranges::sort(mVerdicts, {}, &Verdict::operation);
    return std::exchange(mVerdicts, {});
}

}  // namespace halyard::driver
