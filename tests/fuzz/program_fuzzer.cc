// SPDX-License-Identifier: Apache-2.0
//
// Saved models as an attacker who can write to the file would have them: sections changed one
// decision at a time, with a checksum that is right, and in a compilation cache with digests that
// are right. Every file is refused as what it is, or loads and executes with some result, in time,
// and leaves nothing behind. A cache whose model file does not fit is refused.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/device/device.h"
#include "driver/prepare/sha256.h"
#include "engine/base/checksum.h"
#include "engine/base/section_file.h"
#include "tests/driver/model_builder.h"
#include "tests/driver/prepare/cache_files.h"
#include "tests/driver/sample_models.h"
#include "tests/engine/base/file_bytes.h"
#include "tests/fuzz/choices.h"
#include "tests/fuzz/finding.h"
#include "tests/fuzz/processor_time.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/tried_device.h"

namespace halyard::fuzz {
namespace {

using driver::HalVersion;

constexpr std::chrono::seconds kPatience{5};  // of processor time
constexpr std::chrono::milliseconds kDeadline{50};
constexpr size_t kMostEdits = 8;
constexpr size_t kMostInserted = 16;

struct Section {
    std::string_view name;
    bool isDescription = false;
    std::vector<uint8_t> bytes;
};
// The model's, those of its program, and one that a backend might have kept.
using Sections = std::array<Section, 6>;

// The sections of models that a device prepared.
std::vector<Sections> samples(const driver::Device& device) {
    std::vector<Sections> samples;
    for (const driver::Model& model :
         {driver::floatConvModel(), driver::quantConvModel(), openReluModel(),
          driver::loopModel(driver::OperationType::MAXIMUM)}) {
        const auto prepared = device.prepare(model, driver::kNewestVersion, {}).value();
        VectorSink sink;
        require(prepared->save(sink).ok(), "a sample can be saved");
        const FileBytes file(sink.bytes);
        const SectionFile opened = SectionFile::open(file.owner(), file.bytes()).value();
        Sections sections = {
                {{.name = "model", .isDescription = true, .bytes = {}},
                 {.name = "program", .isDescription = true, .bytes = {}},
                 {.name = "graph", .isDescription = true, .bytes = {}},
                 {.name = "constants", .isDescription = false, .bytes = {}},
                 {.name = "store", .isDescription = false, .bytes = {}},
                 {.name = "blob/CpuAcc/tuning", .isDescription = false, .bytes = {1, 2, 3, 4}}}};
        for (Section& section : std::span(sections).first(5)) {
            const std::span<const uint8_t> bytes =
                    (section.isDescription ? opened.description(section.name)
                                           : opened.mapped(section.name))
                            .value();
            section.bytes.assign(bytes.begin(), bytes.end());
        }
        samples.push_back(std::move(sections));
    }
    return samples;
}

void edit(Sections& sections, const std::vector<Sections>& all, Choices& choices) {
    const size_t which = choices.below(sections.size());
    std::vector<uint8_t>& bytes = sections[which].bytes;
    const size_t at = choices.below(bytes.size() + 1);
    const auto place = bytes.begin() + static_cast<ptrdiff_t>(at);
    switch (choices.below(6)) {
        case 0:
            if (at < bytes.size()) {
                bytes[at] ^= static_cast<uint8_t>(1U << choices.below(8));
            }
            break;
        case 1: {
            const std::span<const uint8_t> value = choices.take(1 + choices.below(8));
            std::ranges::copy(value.first(std::min(value.size(), bytes.size() - at)), place);
            break;
        }
        case 2: {
            const std::span<const uint8_t> value = choices.take(choices.below(kMostInserted));
            bytes.insert(place, value.begin(), value.end());
            break;
        }
        case 3:
            bytes.erase(place,
                        place + static_cast<ptrdiff_t>(choices.below(bytes.size() - at + 1)));
            break;
        case 4:
            bytes.resize(at);
            break;
        default:
            bytes = choices.of(all)[which].bytes;
            break;
    }
}

struct SavedFile {
    FileBytes bytes;
    size_t steering = 0;  // bytes before the constants
};

SavedFile fileOf(const Sections& sections) {
    SectionWriter writer;
    for (const Section& section : sections) {
        if (section.isDescription) {
            writer.addDescription(std::string(section.name), section.bytes);
        } else {
            ByteParts parts;
            parts.addView(section.bytes);
            writer.addMapped(std::string(section.name), std::move(parts));
        }
    }
    return {.bytes = FileBytes::of(writer),
            .steering = writer.bytesBefore(engine::kFirstOfConstants)};
}

// A file that a client may write to.
class FileMemory final : public driver::ResidentMemory {
  public:
    explicit FileMemory(FileBytes bytes) : mBytes(std::move(bytes)) {}
    std::string_view name() const override { return "mmap_fd"; }

  private:
    std::span<uint8_t> all() const override {
        const std::span<const uint8_t> bytes = mBytes.bytes();
        return {const_cast<uint8_t*>(bytes.data()), bytes.size()};
    }

    const FileBytes mBytes;
};

// With what the samples take, one after the other.
void execute(const driver::PreparedModel& model) {
    struct Input {
        size_t bytes = 0;
        std::vector<uint32_t> dimensions;
    };
    const std::vector<std::vector<Input>> requests = {
            {{36, {}}}, {{9, {}}}, {{16, {2, 2}}}, {{4, {}}, {4, {}}}};
    for (const std::vector<Input>& inputs : requests) {
        driver::RequestBuilder request;
        for (const Input& input : inputs) {
            request.input(std::vector<uint8_t>(input.bytes, 1), input.dimensions);
        }
        request.output(64);
        const auto deadline = std::chrono::steady_clock::now() + kDeadline;
        const Status status =
                model.execute(request.request(), driver::kNewestVersion, {.deadline = deadline})
                        .status;
        require(status.code() != StatusCode::INTERNAL,
                "a loaded model fails on what it is asked for", status.toString());
    }
}

// The files of a compilation cache: a model file that vouches for a model, and one that anybody
// could make for another.
class CacheFiles {
  public:
    explicit CacheFiles(const driver::Device& device) {
        driver::PrepareOptions options;
        options.cache = mFiles.cache();
        require(device.prepare(driver::floatConvModel(), driver::kNewestVersion, options).ok(),
                "a sample can be kept");
        mVouching = mFiles.model.bytes();
    }

    Result<std::shared_ptr<driver::PreparedModel>> load(const driver::Device& device,
                                                        const SavedFile& file) {
        const std::span<const uint8_t> data = file.bytes.bytes();
        mFiles.set({driver::forgedModelFile(mVouching, mFiles.token, data, file.steering),
                    {data.begin(), data.end()}});
        return find(device);
    }
    // One byte of the model file is changed since.
    Result<std::shared_ptr<driver::PreparedModel>> loadChanged(const driver::Device& device,
                                                               Choices& choices) {
        mFiles.model.flip(choices.below(mVouching.size()),
                          static_cast<uint8_t>(1U << choices.below(8)));
        return find(device);
    }

  private:
    Result<std::shared_ptr<driver::PreparedModel>> find(const driver::Device& device) const {
        return device.prepareFromCache(mFiles.options());
    }

    driver::TestCacheFiles mFiles;
    std::vector<uint8_t> mVouching;
};

}  // namespace

void run(std::span<const uint8_t> bytes) {
    // Never destroyed: their threads outlive the last run.
    static const auto& device = *new std::shared_ptr<driver::Device>(makeDevice(1));
    static const auto& all = *new std::vector<Sections>(samples(*device));
    static auto& cache = *new CacheFiles(*device);
    Choices choices(bytes);
    Sections sections = choices.of(all);
    for (size_t i = 0; i < kMostEdits && !choices.empty(); ++i) {
        edit(sections, all, choices);
    }
    const std::chrono::nanoseconds before = processorTime();
    {
        const SavedFile saved = fileOf(sections);
        const auto file = std::make_shared<FileMemory>(saved.bytes);
        const auto loaded = device->load(*file, {});
        require(loaded.ok() || loaded.status().code() != StatusCode::INTERNAL,
                "a file is refused for what it is", loaded.status().toString());
        require(loaded.ok() || !bytes.empty(), "what was saved comes back",
                loaded.status().toString());
        if (loaded.ok()) {
            execute(**loaded);
        }
        const auto kept = cache.load(*device, saved);
        require(kept.ok() || kept.status().code() != StatusCode::INTERNAL,
                "cache files are refused for what they are", kept.status().toString());
        require(kept.ok() || !bytes.empty(), "what vouches for a saved model is believed",
                kept.status().toString());
        if (kept.ok()) {
            execute(**kept);
        }
        require(!cache.loadChanged(*device, choices).ok(), "a changed model file is refused");
    }
    require(processorTime() - before < kPatience, "a file is done with in time");
    require(isIdle(*device), "no model stays alive and no memory taken", device->report());
}

}  // namespace halyard::fuzz
