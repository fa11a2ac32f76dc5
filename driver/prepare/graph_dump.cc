// SPDX-License-Identifier: Apache-2.0

#include "driver/prepare/graph_dump.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "driver/execute/device_state.h"
#include "engine/graph/dot.h"
#include "engine/graph/text.h"

namespace halyard::driver {
namespace {

constexpr std::string_view kFirstFile = "-lowered.txt";

// The lines that are in the sorted list `a` more often than in `b`, behind a sign.
std::string missing(char sign, const std::vector<std::string>& a,
                    const std::vector<std::string>& b) {
    std::vector<std::string> lines;
    std::ranges::set_difference(a, b, std::back_inserter(lines));
    std::string text;
    for (const std::string& line : lines) {
        text.append(1, sign).append(" ").append(line).append("\n");
    }
    return text;
}

}  // namespace

std::optional<GraphDump> GraphDump::begin(DeviceState& state) {
    std::optional<NumberedDump> files = NumberedDump::begin(state.options.graphDumpDirectory,
                                                            "model", kFirstFile, state.graphDumps);
    if (!files.has_value()) {
        return std::nullopt;
    }
    return GraphDump(*std::move(files));
}

void GraphDump::came(const engine::Graph& graph) {
    mFiles.write(kFirstFile, engine::toText(graph));
    mFiles.write("-lowered.dot", engine::toDot(graph));
}

void GraphDump::ran(std::string_view pass, const engine::Graph& before,
                    const engine::Graph& after) {
    if (mPasses.size() >= NumberedDump::kMostFileBytes) {
        return;
    }
    std::vector<std::string> was = engine::nodeLines(before);
    std::vector<std::string> is = engine::nodeLines(after);
    mPasses.append(pass).append(": ").append(std::to_string(was.size())).append(" nodes, then ");
    mPasses.append(std::to_string(is.size())).append("\n");
    std::ranges::sort(was);
    std::ranges::sort(is);
    mPasses += missing('-', was, is) + missing('+', is, was);
}

void GraphDump::optimized(const engine::Graph& graph) {
    mFiles.write("-passes.txt", mPasses);
    mFiles.write("-optimized.txt", engine::toText(graph));
    mFiles.write("-optimized.dot", engine::toDot(graph));
}

}  // namespace halyard::driver
