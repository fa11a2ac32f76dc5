// SPDX-License-Identifier: Apache-2.0
//
// halyard_saved save|load FOLDER --bundle FILE [--workers N]: every case's model prepared, run and
// saved to the folder by one process, and mapped from there and run by another. Writes the counts
// as JSON.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/device/device.h"
#include "driver/execute/prepared_model.h"
#include "engine/base/byte_format.h"
#include "harness/device/cases/canonical_model.h"
#include "tests/validation/ledger.h"
#include "tests/validation/runs.h"
#include "tests/validation/work.h"

namespace halyard::validation {
namespace {

constexpr std::array<std::string_view, 2> kBackends = {"CpuRef", "CpuAcc"};
constexpr std::array<std::string_view, 2> kSaveRows = {"saved: CpuRef", "saved: CpuAcc"};

enum LoadRow : uint8_t { SAME, NOTHING_PACKED = 2, PACKED = 4, REPORTED = 5 };
constexpr std::array<std::string_view, 6> kLoadRows = {
        "same results when mapped: CpuRef",        "same results when mapped: CpuAcc",
        "nothing is packed again: CpuRef",         "nothing is packed again: CpuAcc",
        "  of these, those with packed constants", "the same placement: both",
};

// Writes to a file.
class FileSink : public ByteSink {
  public:
    explicit FileSink(const std::string& path) : mFile(std::fopen(path.c_str(), "wb")) {}
    ~FileSink() override {
        if (mFile != nullptr) {
            std::fclose(mFile);
        }
    }
    FileSink(const FileSink&) = delete;
    FileSink& operator=(const FileSink&) = delete;

    Status write(std::span<const uint8_t> bytes) override {
        return mFile != nullptr && std::fwrite(bytes.data(), 1, bytes.size(), mFile) == bytes.size()
                       ? Status()
                       : internalError("can't be written");
    }

  private:
    std::FILE* const mFile;
};

// A file that is mapped and can't be written to.
class MappedFile final : public driver::ResidentMemory {
  public:
    explicit MappedFile(const std::string& path) {
        const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
        struct stat about = {};
        if (fd < 0 || fstat(fd, &about) != 0) {
            return;
        }
        void* const at =
                mmap(nullptr, static_cast<size_t>(about.st_size), PROT_READ, MAP_SHARED, fd, 0);
        close(fd);
        if (at != MAP_FAILED) {
            mBytes = {static_cast<uint8_t*>(at), static_cast<size_t>(about.st_size)};
        }
    }
    ~MappedFile() override {
        if (!mBytes.empty()) {
            munmap(mBytes.data(), mBytes.size());
        }
    }
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    std::string_view name() const override { return "mmap_fd"; }
    bool writable() const override { return false; }

  private:
    std::span<uint8_t> all() const override { return mBytes; }

    std::span<uint8_t> mBytes;
};

void put(ByteWriter& to, const Outcome& outcome) {
    to.put(static_cast<uint8_t>(outcome.status));
    to.putCount(outcome.shapes.size());
    for (const driver::OutputShape& shape : outcome.shapes) {
        to.putList<uint32_t>(shape.dimensions);
        to.putFlag(shape.isSufficient);
    }
    to.putCount(outcome.outputs.size());
    for (const std::vector<uint8_t>& output : outcome.outputs) {
        to.putList<uint8_t>(output);
    }
}

Status get(ByteReader& from, Outcome& outcome) {
    uint8_t status = 0;
    HALYARD_RETURN_IF_ERROR(from.get(status));
    outcome.status = static_cast<StatusCode>(status);
    HALYARD_ASSIGN_OR_RETURN(const size_t shapes, from.getCount());
    for (size_t i = 0; i < shapes; ++i) {
        driver::OutputShape& shape = outcome.shapes.emplace_back();
        HALYARD_RETURN_IF_ERROR(from.getList(shape.dimensions));
        HALYARD_RETURN_IF_ERROR(from.getFlag(shape.isSufficient));
    }
    HALYARD_ASSIGN_OR_RETURN(const size_t outputs, from.getCount());
    for (size_t i = 0; i < outputs; ++i) {
        HALYARD_RETURN_IF_ERROR(from.getList(outcome.outputs.emplace_back()));
    }
    return {};
}

std::unique_ptr<const driver::Device> makeDevice(std::string_view backend) {
    driver::Options options;
    options.backends = {std::string(backend)};
    options.threads = 1;
    Result<std::unique_ptr<driver::Device>> device = driver::Device::create(options);
    if (!device.ok()) {
        std::fprintf(stderr, "%s\n", device.status().toString().c_str());
        std::abort();
    }
    return std::move(*device);
}

class Mover {
  public:
    Mover(const Cases& cases, std::string folder, bool saves)
        : mCases(cases),
          mFolder(std::move(folder)),
          mSaves(saves),
          mDevices{makeDevice(kBackends[0]), makeDevice(kBackends[1])} {}

    void move(size_t index, size_t worker, Ledger& ledger) const {
        for (size_t backend = 0; backend < kBackends.size(); ++backend) {
            const std::string what =
                    mCases[index].name() + " on " + std::string(kBackends[backend]);
            ledger.note(worker, what);
            const std::string path =
                    mFolder + "/" + std::to_string(index) + "." + std::string(kBackends[backend]);
            if (mSaves) {
                note(ledger, backend, what, save(index, backend, path));
            } else {
                load(index, backend, path, what, ledger);
            }
        }
    }

  private:
    static void note(Ledger& ledger, size_t row, const std::string& what, const Status& status) {
        if (status.ok()) {
            ledger.count(row, Verdict::HELD);
        } else {
            ledger.report(row, what + ": " + status.toString());
        }
    }

    // Saves the results of a model that prepares on each example, and the model.
    Status save(size_t index, size_t backend, const std::string& path) const {
        HALYARD_ASSIGN_OR_RETURN(const driver::Model canonical,
                                 runner::toCanonical(mCases[index].model()));
        HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<driver::PreparedModel> model,
                                 mDevices[backend]->prepare(canonical, driver::kNewestVersion, {}));
        ByteWriter outcomes;
        for (const runner::pb::Example& example : mCases[index].examples()) {
            put(outcomes, run(*model, example, driver::kNewestVersion, driver::allocateHeapMemory));
        }
        outcomes.put(static_cast<uint64_t>(model->program().constantsFilled()));
        outcomes.putText(placementOf(*model));
        FileSink to(path + ".outcome");
        HALYARD_RETURN_IF_ERROR(to.write(outcomes.take()));
        FileSink file(path);
        return model->save(file);
    }

    static std::string placementOf(const driver::PreparedModel& model) {
        const std::string text = model.report();
        const size_t begin = text.find("\npartitions\t");
        // The lines before tell of memory, which runs have taken.
        return begin == std::string::npos ? "a report without partitions: " + text
                                          : text.substr(begin);
    }

    void load(size_t index, size_t backend, const std::string& path, const std::string& what,
              Ledger& ledger) const {
        const auto model = mDevices[backend]->load(*std::make_shared<MappedFile>(path), {});
        const MappedFile expected(path + ".outcome");
        if (!model.ok()) {
            ledger.report(SAME + backend, what + ": " + model.status().toString());
            return;
        }
        const std::span<const uint8_t> bytes = *expected.map();
        ByteReader outcomes(bytes, "the outcome");
        for (const runner::pb::Example& example : mCases[index].examples()) {
            Outcome outcome;
            Status status = get(outcomes, outcome);
            const std::optional<std::string> wrong = difference(
                    outcome,
                    run(**model, example, driver::kNewestVersion, driver::allocateHeapMemory));
            status = status.ok() && wrong.has_value() ? internalError(*wrong) : status;
            note(ledger, SAME + backend, what, status);
        }
        uint64_t filled = 0;
        std::string placement;
        const bool read = outcomes.get(filled).ok() && outcomes.getText(placement).ok();
        const size_t again = (*model)->program().constantsFilled();
        note(ledger, NOTHING_PACKED + backend, what,
             again == 0 ? Status() : internalError(std::to_string(again) + " are packed again"));
        if (filled > 0) {
            note(ledger, PACKED, what,
                 again == 0 ? Status() : internalError("some are packed again"));
        }
        note(ledger, REPORTED, what,
             read && placement == placementOf(**model) ? Status()
                                                       : internalError("is placed otherwise"));
    }

    const Cases& mCases;
    const std::string mFolder;
    const bool mSaves;
    const std::array<std::unique_ptr<const driver::Device>, 2> mDevices;
};

Status moveAll(int argc, char** argv) {
    if (argc < 3 || (std::string_view(argv[1]) != "save" && std::string_view(argv[1]) != "load")) {
        return invalidArgument("halyard_saved save|load FOLDER --bundle FILE [--workers N]");
    }
    const bool saves = std::string_view(argv[1]) == "save";
    const std::string folder = argv[2];
    HALYARD_ASSIGN_OR_RETURN(const WorkOptions options, parseWorkOptions(argc - 2, argv + 2));
    const MakeWork makeWork = [&](const Cases& cases, uint64_t /*seed*/) -> CaseWork {
        const auto mover = std::make_shared<const Mover>(cases, folder, saves);
        return [mover](size_t index, size_t worker, Ledger& ledger) {
            mover->move(index, worker, ledger);
        };
    };
    return saves ? workThrough(options, kSaveRows, makeWork)
                 : workThrough(options, kLoadRows, makeWork);
}

}  // namespace
}  // namespace halyard::validation

int main(int argc, char** argv) {
    const halyard::Status done = halyard::validation::moveAll(argc, argv);
    if (!done.ok()) {
        std::fprintf(stderr, "%s\n", done.toString().c_str());
        return 1;
    }
    return 0;
}
