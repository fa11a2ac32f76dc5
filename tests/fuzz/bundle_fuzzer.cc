// SPDX-License-Identifier: Apache-2.0
//
// The runner's inputs: bundles of cases, options, and their conversion.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>

#include "driver/model/expressible.h"
#include "driver/ops/lowest_version.h"
#include "hal/client/sendable.h"
#include "harness/device/cases/canonical_model.h"
#include "harness/device/cases/message_file.h"
#include "tests/fuzz/finding.h"
#include "tests/fuzz/target.h"

namespace halyard::fuzz {
namespace {

constexpr uint64_t kMostOutputBytes = uint64_t{1} << 24;

// So much shared memory is asked for and filled.
bool small(const runner::pb::Example& example) {
    uint64_t bytes = 0;
    for (const runner::pb::OutputBuffer& output : example.outputs()) {
        if (output.byte_size() > kMostOutputBytes) {
            return false;
        }
        bytes += output.byte_size();
    }
    return bytes <= kMostOutputBytes;
}

void convert(const runner::pb::TestCase& testCase) {
    Result<driver::Model> model = runner::toCanonical(testCase.model());
    if (model.ok()) {
        for (const driver::HalVersion version : driver::allVersions()) {
            (void)driver::checkExpressible(*model, version);
        }
        (void)driver::lowestVersion(*model);
        (void)hal::moveConstantsToPool(*model);
    }
    for (const runner::pb::Example& example : testCase.examples()) {
        if (small(example)) {
            (void)runner::toCanonical(example);
        }
    }
}

void readBundle(const std::string& path) {
    Result<runner::BundleReader> reader = runner::BundleReader::open(path);
    require(reader.ok(), "a file that is there opens", reader.status().toString());
    for (;;) {
        const Result<std::optional<runner::pb::TestCase>> next = reader->next();
        if (!next.ok() || !next->has_value()) {
            break;
        }
        convert(**next);
    }
    reader = runner::BundleReader::open(path);
    for (;;) {
        const Result<std::optional<uint64_t>> offset = reader->skip();
        if (!offset.ok() || !offset->has_value()) {
            break;
        }
    }
}

}  // namespace

void run(std::span<const uint8_t> bytes) {
    static const int file = memfd_create("bundle", MFD_CLOEXEC);
    if (ftruncate(file, 0) != 0 ||
        pwrite(file, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
        std::abort();
    }
    const std::string path = "/proc/self/fd/" + std::to_string(file);
    readBundle(path);
    (void)runner::readOptions(path);
}

}  // namespace halyard::fuzz
