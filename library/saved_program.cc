// SPDX-License-Identifier: Apache-2.0

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/aligned_buffer.h"
#include "engine/base/section_file.h"
#include "library/answer.h"
#include "library/program.h"

namespace halyard::library {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kPart = size_t{1} << 20;

class CountingSink : public ByteSink {
  public:
    Status write(std::span<const uint8_t> bytes) override {
        mSize += bytes.size();
        return {};
    }
    size_t size() const { return mSize; }

  private:
    size_t mSize = 0;
};

// Into memory that has room for all.
class MemorySink : public ByteSink {
  public:
    explicit MemorySink(uint8_t* to) : mTo(to) {}
    Status write(std::span<const uint8_t> bytes) override {
        mTo = std::ranges::copy(bytes, mTo).out;
        return {};
    }

  private:
    uint8_t* mTo;
};

class DescriptorSink : public ByteSink {
  public:
    explicit DescriptorSink(int fd) : mFd(fd) {}
    Status write(std::span<const uint8_t> bytes) override {
        while (!bytes.empty()) {
            const ssize_t count = ::write(mFd, bytes.data(), bytes.size());
            if (count < 0 && errno == EINTR) {
                continue;
            }
            if (count <= 0) {
                return internalError("writing to descriptor " + std::to_string(mFd) + ": " +
                                     std::strerror(count < 0 ? errno : ENOSPC));
            }
            bytes = bytes.subspan(static_cast<size_t>(count));
        }
        return {};
    }

  private:
    const int mFd;
};

// Without what backends keep beside the constants: that is executed, and its bytes come back from
// where others may have changed them.
SectionWriter writerOf(const halyard_program& program) {
    SectionWriter writer;
    program.shared->program->save(writer, engine::SavedBlobs::NONE);
    return writer;
}

Status saveTo(const halyard_program* program, void* data, size_t capacity, size_t* size) {
    HALYARD_RETURN_IF_ERROR(present(program, "program"));
    HALYARD_RETURN_IF_ERROR(present(size, "size"));
    if (capacity > 0) {
        HALYARD_RETURN_IF_ERROR(present(data, "data"));
    }
    const SectionWriter writer = writerOf(*program);
    CountingSink count;
    HALYARD_RETURN_IF_ERROR(writer.writeTo(count));
    *size = count.size();
    if (capacity < count.size()) {
        return {StatusCode::OUTPUT_TOO_SMALL, "the program takes " + std::to_string(count.size()) +
                                                      " bytes; there is room for " +
                                                      std::to_string(capacity)};
    }
    MemorySink memory(static_cast<uint8_t*>(data));
    return writer.writeTo(memory);
}

Result<std::vector<uint8_t>> readAll(int fd) {
    std::vector<uint8_t> bytes;
    while (true) {
        const size_t begin = bytes.size();
        bytes.resize(begin + kPart);
        const ssize_t count = read(fd, bytes.data() + begin, kPart);
        bytes.resize(begin + (count > 0 ? static_cast<size_t>(count) : 0));
        if (count == 0) {
            return bytes;
        }
        if (count < 0 && errno != EINTR) {
            return invalidArgument("reading from descriptor " + std::to_string(fd) + ": " +
                                   std::strerror(errno));
        }
    }
}

Status load(const halyard_runtime* runtime, std::span<const uint8_t> bytes,
            const halyard_compile_options* options, halyard_program** program, bool& stopped) {
    HALYARD_RETURN_IF_ERROR(present(runtime, "runtime"));
    HALYARD_RETURN_IF_ERROR(present(program, "program"));
    HALYARD_ASSIGN_OR_RETURN(const halyard_compile_options read, readCompileOptions(options));
    const Runtime& shared = *runtime->shared;
    const LogScope scope(&shared.lines);
    const CallerStop stop(read.should_stop, read.stop_context);
    const engine::BuildOptions build = buildOptions(shared, read, stop);
    const auto loaded = [&]() -> Result<std::shared_ptr<const engine::Program>> {
        HALYARD_ASSIGN_OR_RETURN(AlignedBuffer copy,
                                 AlignedBuffer::allocate(std::max(bytes.size(), size_t{1}),
                                                         kAlignment, build.memory));
        std::ranges::copy(bytes, reinterpret_cast<uint8_t*>(copy.data()));
        const auto owner = std::make_shared<const AlignedBuffer>(std::move(copy));
        HALYARD_ASSIGN_OR_RETURN(
                const SectionFile file,
                SectionFile::open(owner,
                                  {reinterpret_cast<const uint8_t*>(owner->data()), bytes.size()},
                                  build.memory, nullptr, build.checkpoint));
        return engine::Program::load(file, engine::SavedBytes::PRIVATE, shared.list, build);
    };
    Result<std::shared_ptr<const engine::Program>> result = loaded();
    stopped = stop.held();
    HALYARD_RETURN_IF_ERROR(result.status());
    *program = new halyard_program{
            .shared = std::make_shared<const Compiled>(
                    Compiled{.runtime = runtime->shared, .program = *std::move(result)})};
    return {};
}

}  // namespace
}  // namespace halyard::library

using namespace halyard;  // NOLINT(google-build-using-namespace)

extern "C" halyard_status halyard_program_save(const halyard_program* program, void* data,
                                               size_t capacity, size_t* size,
                                               halyard_message* message) {
    return library::answer(library::saveTo(program, data, capacity, size), message);
}

extern "C" halyard_status halyard_program_save_fd(const halyard_program* program, int fd,
                                                  halyard_message* message) {
    const auto save = [&]() -> Status {
        HALYARD_RETURN_IF_ERROR(library::present(program, "program"));
        library::DescriptorSink sink(fd);
        return library::writerOf(*program).writeTo(sink);
    };
    return library::answer(save(), message);
}

extern "C" halyard_status halyard_program_load(const halyard_runtime* runtime, const void* data,
                                               size_t size, const halyard_compile_options* options,
                                               halyard_program** program,
                                               halyard_message* message) {
    bool stopped = false;
    const auto load = [&]() -> Status {
        HALYARD_ASSIGN_OR_RETURN(
                const std::span<const uint8_t> bytes,
                library::readArray(static_cast<const uint8_t*>(data), size, "data"));
        return library::load(runtime, bytes, options, program, stopped);
    };
    const Status status = load();
    return library::answer(status, message, stopped);
}

extern "C" halyard_status halyard_program_load_fd(const halyard_runtime* runtime, int fd,
                                                  const halyard_compile_options* options,
                                                  halyard_program** program,
                                                  halyard_message* message) {
    bool stopped = false;
    const auto load = [&]() -> Status {
        HALYARD_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, library::readAll(fd));
        return library::load(runtime, bytes, options, program, stopped);
    };
    const Status status = load();
    return library::answer(status, message, stopped);
}
