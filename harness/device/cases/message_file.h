// SPDX-License-Identifier: Apache-2.0
//
// Files of messages: one, or several that are length-delimited (a varint byte count before each).

#pragma once

#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "engine/base/status.h"
#include "harness/device/cases/messages.h"

namespace halyard::runner {

struct FileCloser {
    void operator()(FILE* file) const { fclose(file); }
};
using File = std::unique_ptr<FILE, FileCloser>;

Result<pb::RunOptions> readOptions(const std::string& path);

// Reads one case at a time, so that a bundle need not fit in memory.
class BundleReader {
  public:
    static Result<BundleReader> open(const std::string& path);
    // Nothing at the end of the file. INVALID_ARGUMENT if the file is cut short or no bundle.
    Result<std::optional<pb::TestCase>> next();
    // The same without reading the message: where it begins, for readAt().
    Result<std::optional<uint64_t>> skip();
    // The case that begins there.
    Result<pb::TestCase> readAt(uint64_t offset);

  private:
    BundleReader(File file, std::string path) : mFile(std::move(file)), mPath(std::move(path)) {}

    File mFile;
    std::string mPath;
};

// Each result is in the file when append() returns, whatever happens to the runner afterwards.
class ResultWriter {
  public:
    // Empties the file.
    static Result<ResultWriter> create(const std::string& path);
    Status append(const pb::CaseResult& result);

  private:
    ResultWriter(File file, std::string path) : mFile(std::move(file)), mPath(std::move(path)) {}

    File mFile;
    std::string mPath;
};

}  // namespace halyard::runner
