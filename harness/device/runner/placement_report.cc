// SPDX-License-Identifier: Apache-2.0

#include "harness/device/runner/placement_report.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <utility>
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

// "0,3": no operation at all is valid too.
bool readOperations(std::string_view text, pb::Placement& placement) {
    while (!text.empty()) {
        uint32_t operation = 0;
        if (!readNumber(takePart(text, ','), operation)) {
            return false;
        }
        placement.add_operations(operation);
    }
    return true;
}

// The fields after "node": operations, label, kind, backend, partition, kernel, then refusals.
void readNode(const std::vector<std::string_view>& fields, pb::CaseResult& result) {
    constexpr size_t kFixed = 7;
    constexpr std::string_view kColon = ": ";
    uint32_t partition = 0;
    pb::Placement placement;
    if (fields.size() < kFixed || !readOperations(fields[1], placement) ||
        !readNumber(fields[5], partition)) {
        return;
    }
    if (placement.operations_size() > 0) {
        placement.set_operation(placement.operations(0));
    }
    placement.set_label(std::string(fields[2]));
    placement.set_node(std::string(fields[3]));
    placement.set_backend(std::string(fields[4]));
    placement.set_partition(partition);
    placement.set_kernel(std::string(fields[6]));
    for (size_t i = kFixed; i < fields.size(); ++i) {
        const size_t colon = fields[i].find(kColon);
        if (colon != std::string_view::npos) {
            pb::Refusal& refusal = *placement.add_refusals();
            refusal.set_backend(std::string(fields[i].substr(0, colon)));
            refusal.set_reason(std::string(fields[i].substr(colon + kColon.size())));
        }
    }
    *result.add_placement() = std::move(placement);
}

// The fields after "lost": operations, label, and the forms, of the node before.
void readLost(const std::vector<std::string_view>& fields, pb::CaseResult& result) {
    constexpr size_t kFields = 4;
    if (fields.size() == kFields && result.placement_size() > 0 &&
        result.placement().rbegin()->label() == fields[2]) {
        result.mutable_placement()->rbegin()->set_lost_forms(std::string(fields[3]));
    }
}

void readDeviceBytes(const std::vector<std::string_view>& fields, pb::Memory& memory) {
    uint64_t constants = 0;
    uint64_t workspace = 0;
    uint64_t tables = 0;
    if (fields.size() == 4 && readNumber(fields[1], constants) &&
        readNumber(fields[2], workspace) && readNumber(fields[3], tables)) {
        memory.set_device_constant_bytes(constants);
        memory.set_device_workspace_bytes(workspace);
        memory.set_device_table_bytes(tables);
    }
}

}  // namespace

void readPlacement(std::string_view report, pb::CaseResult& result) {
    result.clear_placement();
    result.clear_copies();
    result.clear_vanished();
    while (!report.empty()) {
        std::string_view line = takePart(report, '\n');
        // The last field may be empty.
        const auto count = static_cast<size_t>(std::ranges::count(line, '\t')) + 1;
        std::vector<std::string_view> fields;
        while (fields.size() < count) {
            fields.push_back(takePart(line, '\t'));
        }
        uint64_t bytes = 0;
        if (fields.size() == 2 && readNumber(fields[1], bytes)) {
            if (fields[0] == "constant_bytes") {
                result.mutable_memory()->set_constant_bytes(bytes);
            } else if (fields[0] == "arena_bytes") {
                result.mutable_memory()->set_arena_bytes(bytes);
            } else if (fields[0] == "partitions") {
                result.set_partitions(static_cast<uint32_t>(bytes));
            } else if (fields[0] == "bytes_between_partitions") {
                result.set_bytes_between_partitions(bytes);
            }
        } else if (fields[0] == "device_bytes") {
            readDeviceBytes(fields, *result.mutable_memory());
        } else if (fields.size() == 5 && fields[0] == "copy" && readNumber(fields[4], bytes)) {
            pb::Copy& copy = *result.add_copies();
            copy.set_tensor(std::string(fields[1]));
            copy.set_source(std::string(fields[2]));
            copy.set_target(std::string(fields[3]));
            copy.set_bytes(bytes);
        } else if (fields[0] == "node") {
            readNode(fields, result);
        } else if (fields[0] == "lost") {
            readLost(fields, result);
        } else if (uint32_t operation = 0; fields.size() == 3 && fields[0] == "vanished" &&
                                           readNumber(fields[1], operation)) {
            pb::VanishedOperation& vanished = *result.add_vanished();
            vanished.set_operation(operation);
            vanished.set_fate(std::string(fields[2]));
        }
    }
}

}  // namespace halyard::runner
