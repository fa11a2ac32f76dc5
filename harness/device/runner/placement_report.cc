// SPDX-License-Identifier: Apache-2.0

#include "harness/device/runner/placement_report.h"

#include <charconv>
#include <cstdint>
#include <string>
#include <vector>

namespace halyard::runner {

namespace {

// Takes the part before `separator` off `text`.
std::string_view takePart(std::string_view& text, char separator) {
    const std::string_view part = text.substr(0, text.find(separator));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    return part;
}

template <typename T>
bool readNumber(std::string_view text, T& value) {
    return std::from_chars(text.data(), text.data() + text.size(), value).ptr ==
           text.data() + text.size();
}

// The fields after "node": operation, label, kind, backend, piece, then refusals.
void readNode(const std::vector<std::string_view>& fields, pb::CaseResult& result) {
    constexpr size_t kFixed = 6;
    constexpr std::string_view kColon = ": ";
    uint32_t operation = 0;
    uint32_t piece = 0;
    if (fields.size() < kFixed || !readNumber(fields[1], operation) ||
        !readNumber(fields[5], piece)) {
        return;
    }
    pb::Placement& placement = *result.add_placement();
    placement.set_operation(operation);
    placement.set_label(std::string(fields[2]));
    placement.set_node(std::string(fields[3]));
    placement.set_backend(std::string(fields[4]));
    placement.set_piece(piece);
    for (size_t i = kFixed; i < fields.size(); ++i) {
        const size_t colon = fields[i].find(kColon);
        if (colon != std::string_view::npos) {
            pb::Refusal& refusal = *placement.add_refusals();
            refusal.set_backend(std::string(fields[i].substr(0, colon)));
            refusal.set_reason(std::string(fields[i].substr(colon + kColon.size())));
        }
    }
}

}  // namespace

void readPlacement(std::string_view report, pb::CaseResult& result) {
    while (!report.empty()) {
        std::string_view line = takePart(report, '\n');
        std::vector<std::string_view> fields;
        while (!line.empty()) {
            fields.push_back(takePart(line, '\t'));
        }
        uint64_t bytes = 0;
        if (fields.size() == 2 && readNumber(fields[1], bytes)) {
            if (fields[0] == "constant_bytes") {
                result.mutable_memory()->set_constant_bytes(bytes);
            } else if (fields[0] == "arena_bytes") {
                result.mutable_memory()->set_arena_bytes(bytes);
            }
        } else if (!fields.empty() && fields[0] == "node") {
            readNode(fields, result);
        }
    }
}

}  // namespace halyard::runner
