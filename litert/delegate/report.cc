// SPDX-License-Identifier: Apache-2.0

#include "litert/delegate/report.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "engine/base/file_descriptor.h"
#include "engine/base/json_text.h"
#include "engine/base/log.h"
#include "engine/base/version.h"
#include "engine/base/write_all.h"

namespace halyard::litert {
namespace {

template <typename Items, typename Write>
std::string listOf(const Items& items, std::string_view ends, Write write) {
    std::string text(1, ends[0]);
    for (const auto& item : items) {
        text.append(text.size() > 1 ? ", " : "").append(write(item));
    }
    return text.append(1, ends[1]);
}

std::string namesOf(const std::vector<std::string>& names) {
    return listOf(names, "[]", jsonString);
}

std::string jsonOf(const ReportedPart& part) {
    std::string text = "{\"runs_on\": ";
    text.append(part.isTaken ? "\"Halyard\"" : "\"host\"");
    text.append(", \"inputs\": ").append(namesOf(part.inputs));
    text.append(", \"outputs\": ").append(namesOf(part.outputs));
    text.append(", \"operations\": ").append(namesOf(part.operators));
    if (part.isTaken) {
        text.append(", \"nodes\": ").append(listOf(part.nodes, "{}", [](const auto& backend) {
            return jsonString(backend.first) + ": " + std::to_string(backend.second);
        }));
        text.append(", \"copied_bytes\": ")
                .append(part.copiedBytes.has_value() ? std::to_string(*part.copiedBytes) : "null");
    }
    return text + "}";
}

std::string jsonOf(const ReportedGraph& graph) {
    std::string text = "{\"operators\": " + std::to_string(graph.operators);
    text.append(", \"taken\": ").append(std::to_string(graph.taken));
    text.append(", \"backends\": ").append(namesOf(graph.backends));
    text.append(",\n  \"parts\": ").append(listOf(graph.parts, "[]", [](const auto& part) {
        return "\n   " + jsonOf(part);
    }));
    text.append(",\n  \"unmapped\": ").append(listOf(graph.left, "[]", [](const auto& left) {
        return "\n   {\"operator\": " + jsonString(left.label) +
               ", \"reason\": " + jsonString(left.reason) + "}";
    }));
    return text.append(",\n  \"notes\": ").append(namesOf(graph.notes)).append("}");
}

std::string counted(size_t count, std::string_view what) {
    return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

std::string textOf(const ReportedGraph& graph) {
    const auto partitions = std::ranges::count_if(
            graph.parts, [](const ReportedPart& part) { return part.isTaken; });
    std::string text = std::to_string(graph.taken) + " of " + counted(graph.operators, "operator") +
                       " in " + counted(static_cast<size_t>(partitions), "partition") + "\n";
    for (size_t i = 0; i < graph.parts.size(); ++i) {
        const ReportedPart& part = graph.parts[i];
        text.append("  part ").append(std::to_string(i + 1));
        text.append(part.isTaken ? "  Halyard: " : "  the host: ");
        text.append(counted(part.operators.size(), "operator"));
        for (const auto& [backend, count] : part.nodes) {
            text.append(", ").append(counted(count, "node")).append(" on ").append(backend);
        }
        if (part.copiedBytes.has_value()) {
            text.append(", ").append(counted(*part.copiedBytes, "byte")).append(" copied by a run");
        }
        text.append("\n");
    }
    for (const ReportedGraph::Left& left : graph.left) {
        text.append("  left  ").append(left.label).append(": ").append(left.reason).append("\n");
    }
    for (const std::string& note : graph.notes) {
        text.append("  note  ").append(note).append("\n");
    }
    return text;
}

void writeFile(const std::string& path, std::string_view text) {
    const FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!file.valid() || !writeAll(file.get(), text)) {
        log(LogLevel::WARNING, path + " can't be written: " + std::strerror(errno));
    }
}

}  // namespace

std::string jsonOf(const std::list<ReportedGraph>& graphs) {
    return "{\"halyard\": " + jsonString(HALYARD_VERSION) + ", \"graphs\": " +
           listOf(graphs, "[]", [](const ReportedGraph& graph) { return "\n " + jsonOf(graph); }) +
           "}\n";
}

std::string textOf(const std::list<ReportedGraph>& graphs) {
    std::string text = "Halyard " HALYARD_VERSION "\n";
    for (const ReportedGraph& graph : graphs) {
        text += textOf(graph);
    }
    return text;
}

void Report::set(ReportedGraph graph) {
    const std::scoped_lock lock(mMutex);
    mGraphs.remove_if([&](const ReportedGraph& each) { return each.context == graph.context; });
    mGraphs.push_back(std::move(graph));
    if (mGraphs.size() > kMostGraphs) {
        mGraphs.pop_front();
    }
    write();
}

void Report::setCopied(const void* context, uint32_t firstOperator, uint64_t bytes) {
    const std::scoped_lock lock(mMutex);
    for (ReportedGraph& graph : mGraphs) {
        for (ReportedPart& part : graph.parts) {
            if (graph.context == context && part.isTaken && part.firstOperator == firstOperator) {
                part.copiedBytes = bytes;
            }
        }
    }
    write();
}

void Report::write() const {
    writeFile(mPath, mPath.ends_with(".json") ? jsonOf(mGraphs) : textOf(mGraphs));
}

void ProfileReport::add(const engine::Program& program, const engine::Profile& profile,
                        size_t runs) {
    const std::vector<engine::NodeProfile> nodes = profile.nodes();
    std::chrono::nanoseconds all{0};
    for (const engine::NodeProfile& node : nodes) {
        all += node.medianTime;
    }
    std::string table = counted(runs, "run") + ", " + std::to_string(all.count() / 1000) +
                        " us in " + counted(nodes.size(), "node") + "\n";
    for (const engine::NodeProfile& node : nodes) {
        const engine::NodePlacement& placed = program.placement()[node.placement.front()];
        std::array<char, 64> numbers = {};
        std::snprintf(numbers.data(), numbers.size(), "%10.1f us %5.1f %%  ",
                      static_cast<double>(node.medianTime.count()) / 1e3,
                      all.count() == 0 ? 0.0
                                       : 100.0 * static_cast<double>(node.medianTime.count()) /
                                                 static_cast<double>(all.count()));
        table.append(numbers.data()).append(placed.backend).append(" ").append(node.kernel);
        table.append("  ").append(placed.label).append("\n");
    }
    const std::scoped_lock lock(mMutex);
    mTables.push_back(std::move(table));
    if (mTables.size() > kMostPrograms) {
        mTables.pop_front();
    }
    std::string text;
    for (const std::string& each : mTables) {
        text += each;
    }
    writeFile(mPath, text);
}

}  // namespace halyard::litert
