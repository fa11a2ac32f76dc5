// SPDX-License-Identifier: Apache-2.0
//
// Report: which operators the delegate took, why not the others, and what a run copies.
// ProfileReport: what each node takes. Both are files, written anew whenever there is more to say.

#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/plan/profile.h"
#include "engine/plan/program.h"

namespace halyard::litert {

// Operators that follow each other on one side.
struct ReportedPart {
    bool isTaken = false;
    uint32_t firstOperator = 0;
    std::vector<std::string> inputs;
    std::vector<std::string> outputs;
    std::vector<std::string> operators;        // "CONV_2D"
    std::map<std::string, size_t> nodes;       // of a taken one: the engine's, by backend
    std::optional<uint64_t> copiedBytes = {};  // by a run; nothing: there was none
};

struct ReportedGraph {
    struct Left {
        std::string label;  // "operator 3 (WHERE)"
        std::string reason;
    };
    const void* context = nullptr;  // by which the graph is known; not written
    size_t operators = 0;
    size_t taken = 0;
    std::vector<std::string> backends;
    std::vector<ReportedPart> parts;  // in order of their first operators
    std::vector<Left> left;
    std::vector<std::string> notes;
};

// As JSON, in the words of `halyard convert`, and as text for people.
std::string jsonOf(const std::list<ReportedGraph>& graphs);
std::string textOf(const std::list<ReportedGraph>& graphs);

// Thread-safe. What can't be written is a warning in the log.
class Report {
  public:
    // The graphs that were last prepared; older ones are forgotten.
    static constexpr size_t kMostGraphs = 64;

    // A file whose name ends in .json is JSON, any other text.
    explicit Report(std::string path) : mPath(std::move(path)) {}
    // In place of what was known of the same context.
    void set(ReportedGraph graph);
    // Of the part with that first operator.
    void setCopied(const void* context, uint32_t firstOperator, uint64_t bytes);

  private:
    void write() const;

    const std::string mPath;
    std::mutex mMutex;
    std::list<ReportedGraph> mGraphs;
};

// Thread-safe, as Report.
class ProfileReport {
  public:
    static constexpr size_t kMostPrograms = 64;

    explicit ProfileReport(std::string path) : mPath(std::move(path)) {}
    // What a program took in so many runs.
    void add(const engine::Program& program, const engine::Profile& profile, size_t runs);

  private:
    const std::string mPath;
    std::mutex mMutex;
    std::list<std::string> mTables;
};

}  // namespace halyard::litert
