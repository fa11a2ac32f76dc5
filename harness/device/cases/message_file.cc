// SPDX-License-Identifier: Apache-2.0

#include "harness/device/cases/message_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

namespace halyard::runner {

namespace {

constexpr int kLongestVarint = 10;

Status fileError(const std::string& path) {
    return invalidArgument(path + ": " + strerror(errno));
}

Result<File> openFile(const std::string& path, const char* mode) {
    File file(fopen(path.c_str(), mode));
    if (file == nullptr) {
        return fileError(path);
    }
    return file;
}

// Nothing at the end of the file.
Result<std::optional<uint64_t>> readVarint(FILE* file, const std::string& path) {
    uint64_t value = 0;
    for (int i = 0; i < kLongestVarint; ++i) {
        const int byte = fgetc(file);
        if (byte == EOF && i == 0 && feof(file) != 0) {
            return std::optional<uint64_t>();
        }
        if (byte == EOF) {
            return invalidArgument(path + ": ends within a message's length");
        }
        value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
        if ((byte & 0x80) == 0) {
            return std::optional<uint64_t>(value);
        }
    }
    return invalidArgument(path + ": a message's length is too long");
}

// Reads by and by: a wrong length is found at the end of the file and not by asking for memory.
Result<std::string> readBytes(FILE* file, uint64_t size, const std::string& path) {
    constexpr size_t kPart = size_t{1} << 20;
    std::string bytes;
    while (bytes.size() < size) {
        const size_t before = bytes.size();
        const auto wanted = static_cast<size_t>(std::min<uint64_t>(size - before, kPart));
        bytes.resize(before + wanted);
        if (fread(bytes.data() + before, 1, wanted, file) != wanted) {
            return invalidArgument(path + ": ends within a message");
        }
    }
    return bytes;
}

void appendVarint(std::string& bytes, uint64_t value) {
    while (value >= 0x80) {
        bytes.push_back(static_cast<char>(value | 0x80));
        value >>= 7;
    }
    bytes.push_back(static_cast<char>(value));
}

}  // namespace

Result<pb::RunOptions> readOptions(const std::string& path) {
    HALYARD_ASSIGN_OR_RETURN(const File file, openFile(path, "rb"));
    std::string bytes;
    char buffer[4096];
    size_t size = 0;
    while ((size = fread(buffer, 1, sizeof(buffer), file.get())) > 0) {
        bytes.append(buffer, size);
    }
    pb::RunOptions options;
    if (ferror(file.get()) != 0) {
        return fileError(path);
    }
    if (!options.ParseFromString(bytes)) {
        return invalidArgument(path + ": not a RunOptions message");
    }
    return options;
}

Result<BundleReader> BundleReader::open(const std::string& path) {
    HALYARD_ASSIGN_OR_RETURN(File file, openFile(path, "rb"));
    return BundleReader(std::move(file), path);
}

Result<std::optional<pb::TestCase>> BundleReader::next() {
    HALYARD_ASSIGN_OR_RETURN(const std::optional<uint64_t> size, readVarint(mFile.get(), mPath));
    if (!size.has_value()) {
        return std::optional<pb::TestCase>();
    }
    if (*size > std::numeric_limits<int>::max()) {
        return invalidArgument(mPath + ": a message is longer than protobuf allows");
    }
    HALYARD_ASSIGN_OR_RETURN(const std::string bytes, readBytes(mFile.get(), *size, mPath));
    std::optional<pb::TestCase> testCase(std::in_place);
    if (!testCase->ParseFromString(bytes)) {
        return invalidArgument(mPath + ": not a TestCase message");
    }
    return testCase;
}

Result<std::optional<uint64_t>> BundleReader::skip() {
    const off_t begin = ftello(mFile.get());
    HALYARD_ASSIGN_OR_RETURN(const std::optional<uint64_t> size, readVarint(mFile.get(), mPath));
    if (!size.has_value()) {
        return std::optional<uint64_t>();
    }
    struct stat status = {};
    const off_t message = ftello(mFile.get());
    if (begin < 0 || message < 0 || fstat(fileno(mFile.get()), &status) != 0) {
        return fileError(mPath);
    }
    if (*size > static_cast<uint64_t>(std::max<off_t>(status.st_size - message, 0))) {
        return invalidArgument(mPath + ": ends within a message");
    }
    if (fseeko(mFile.get(), message + static_cast<off_t>(*size), SEEK_SET) != 0) {
        return fileError(mPath);
    }
    return std::optional(static_cast<uint64_t>(begin));
}

Result<pb::TestCase> BundleReader::readAt(uint64_t offset) {
    if (fseeko(mFile.get(), static_cast<off_t>(offset), SEEK_SET) != 0) {
        return fileError(mPath);
    }
    HALYARD_ASSIGN_OR_RETURN(std::optional<pb::TestCase> testCase, next());
    if (!testCase.has_value()) {
        return invalidArgument(mPath + ": has become shorter");
    }
    return std::move(*testCase);
}

Result<ResultWriter> ResultWriter::create(const std::string& path) {
    HALYARD_ASSIGN_OR_RETURN(File file, openFile(path, "wb"));
    return ResultWriter(std::move(file), path);
}

Status ResultWriter::append(const pb::CaseResult& result) {
    const std::string message = result.SerializeAsString();
    std::string length;
    appendVarint(length, message.size());
    if (fwrite(length.data(), 1, length.size(), mFile.get()) != length.size() ||
        fwrite(message.data(), 1, message.size(), mFile.get()) != message.size() ||
        fflush(mFile.get()) != 0) {
        return fileError(mPath);
    }
    return {};
}

}  // namespace halyard::runner
