// SPDX-License-Identifier: Apache-2.0

#include "harness/device/runner/verdict_report.h"

#include <cstdint>
#include <optional>
#include <utility>

namespace halyard::runner {

void reportVerdicts(driver::Verdicts verdicts, pb::CaseResult& result) {
    for (driver::Verdict& verdict : verdicts.take()) {
        pb::Verdict& message = *result.add_verdicts();
        message.set_operation(verdict.operation);
        message.set_name(std::move(verdict.name));
        message.set_rule(static_cast<pb::Rule>(verdict.rule));
        message.set_reason(std::move(verdict.reason));
    }
    result.set_verdicts_left_out(static_cast<uint32_t>(verdicts.leftOut()));
}

void reportPreparation(const driver::Model& model, const Status& failure, pb::CaseResult& result) {
    const std::optional<uint32_t> operation = failure.operation();
    if (result.verdicts_size() > 0 || !operation.has_value() ||
        *operation >= model.main.operations.size()) {
        return;
    }
    driver::Verdicts verdicts(model);
    verdicts.add(*operation, breaking(driver::Rule::PREPARATION, failure));
    reportVerdicts(std::move(verdicts), result);
}

}  // namespace halyard::runner
