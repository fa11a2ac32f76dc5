// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/programs/programs.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "engine/backends/gpu/programs/preamble.h"
#include "engine/backends/gpu/programs/program_build.h"
#include "engine/base/log.h"
#include "engine/numerics/fingerprint.h"

namespace halyard::engine::gpu {
namespace {

// Kernels differ by element types and little else, so that this is more than most processes ever
// need. Where it is not, some are built again.
constexpr size_t kMostPrograms = 1024;

std::string preambleFor(const DeviceFacts& facts) {
    std::string preamble;
    if (facts.hasDoubles) {
        preamble += "#define HAS_DOUBLES 1\n";
    }
    if (facts.type != CL_DEVICE_TYPE_CPU) {
        preamble += "#define UNROLLS 1\n";
    }
    if (facts.dividesExactly) {
        preamble += "#define DIVIDES_EXACTLY 1\n";
    }
    return preamble.append(kPreamble);
}

// How many blocks programs have: few kinds, so that few programs are built.
constexpr std::array<size_t, 5> kBlocks = {3, 4, 8, 16, 32};

// BLOCK_PARAMETERS and BLOCK(number), as the prelude wants them.
std::string blocksText(size_t blocks) {
    std::string parameters = "#define BLOCK_PARAMETERS __global uchar* block0";
    std::string chosen = "block0";
    for (size_t i = 1; i < blocks; ++i) {
        const std::string number = std::to_string(i);
        parameters += ", __global uchar* block" + number;
        chosen = "((number) == " + number + " ? block" + number + " : " + chosen + ")";
    }
    return parameters + "\n#define BLOCK(number) " + chosen + "\n";
}

std::string hexOf(uint64_t number) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (int shift = 60; shift >= 0; shift -= 4) {
        text += kDigits[number >> shift & 15U];
    }
    return text;
}

// The binary in a blob, which is what it was built for, ended by a zero, and what the driver gave.
std::span<const uint8_t> binaryIn(const std::optional<Blob>& blob, std::string_view identity) {
    if (!blob.has_value() || blob->bytes.size() <= identity.size() + 1 ||
        blob->bytes[identity.size()] != 0 ||
        std::memcmp(blob->bytes.data(), identity.data(), identity.size()) != 0) {
        return {};
    }
    return blob->bytes.subspan(identity.size() + 1);
}

Status keep(const Blobs& blobs, const std::string& name, std::string_view identity,
            std::span<const uint8_t> binary) {
    std::vector<uint8_t> bytes(identity.begin(), identity.end());
    bytes.push_back(0);
    bytes.insert(bytes.end(), binary.begin(), binary.end());
    return blobs.put(name, bytes);
}

}  // namespace

Programs::Programs(std::shared_ptr<const Device> device,
                   std::vector<std::unique_ptr<CompilerProcess>> compilers)
    : mDevice(std::move(device)),
      mCompilers(std::move(compilers)),
      mPreamble(preambleFor(mDevice->facts())) {}

std::string Programs::sourceOf(const KernelFamily& family, const std::string& defines,
                               size_t blocks) const {
    std::string source = blocksText(blocks) + defines + mPreamble;
    if (const MatrixUnit* const unit = mDevice->facts().matrixUnit;
        family.usesMatrixUnit && unit != nullptr) {
        source.append(unit->text);
    }
    for (const std::string_view shared : family.shared) {
        source.append(shared);
    }
    const size_t text = source.size();
    source.append(family.text);
    const std::string head = "void " + std::string(family.kernel) + "(";
    if (const size_t found = source.find(head, text); blocks > 0 && found != std::string::npos) {
        source.insert(found + head.size(), "BLOCK_PARAMETERS, ");
    }
    return source;
}

std::string Programs::identityOf(const std::string& source) const {
    return mDevice->facts().identity() + "\n" + compilerOptions(mDevice->facts()) + "\n" + source;
}

Result<std::shared_ptr<const Program>> Programs::get(const KernelFamily& family,
                                                     const std::string& defines, size_t needed,
                                                     const Blobs& blobs) {
    const auto* const blocks = std::ranges::lower_bound(kBlocks, needed);
    if (blocks == kBlocks.end()) {
        return unsupported("takes no kernel whose tensors lie in " + std::to_string(needed) +
                           " blocks of memory");
    }
    const std::string source = sourceOf(family, defines, *blocks);
    const std::string identity = identityOf(source);
    const std::string name = "program/" + hexOf(fingerprint64(std::as_bytes(std::span(identity))));
    const std::optional<Blob> blob = blobs.get(name);
    const std::span<const uint8_t> kept = binaryIn(blob, identity);
    if (!kept.empty() && !isBuilt(source)) {
        // A driver that does not take a binary leaves the source.
        std::string key = source;
        key.push_back('\0');
        key.append(kept.begin(), kept.end());
        if (Result<std::shared_ptr<const Program>> loaded =
                    find(mLoaded, std::move(key), [&] { return load(family, *blocks, kept); });
            loaded.ok()) {
            return loaded;
        }
    }
    Result<std::shared_ptr<const Program>> built =
            find(mBuilt, source, [&] { return make(family, source, *blocks); });
    if (!built.ok()) {
        return built.status().withContext("kernel " + std::string(family.kernel));
    }
    if (!std::ranges::equal((*built)->binary(), kept)) {
        HALYARD_RETURN_IF_ERROR(keep(blobs, name, identity, (*built)->binary()));
    }
    return built;
}

bool Programs::isBuilt(const std::string& source) {
    const std::lock_guard lock(mMutex);
    return mBuilt.contains(source);
}

template <typename Make>
Result<std::shared_ptr<const Program>> Programs::find(Built& built, std::string key,
                                                      const Make& make) {
    {
        const std::lock_guard lock(mMutex);
        if (const auto found = built.find(key); found != built.end()) {
            return found->second;
        }
    }
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<const Program> made, make());
    const std::lock_guard lock(mMutex);
    if (built.size() >= kMostPrograms) {
        built.erase(built.begin());
    }
    return built.emplace(std::move(key), std::move(made)).first->second;
}

int32_t Programs::attempt(const KernelFamily& family, const std::string& defines,
                          const Blobs& blobs) {
    const std::string source = sourceOf(family, defines, 0);
    const std::string identity = identityOf(source);
    const std::string name = "attempt/" + hexOf(fingerprint64(std::as_bytes(std::span(identity))));
    const std::optional<Blob> blob = blobs.get(name);
    int32_t number = -1;
    if (const std::span<const uint8_t> kept = binaryIn(blob, identity);
        kept.size() == sizeof number) {
        std::memcpy(&number, kept.data(), sizeof number);
        return number;
    }
    if (mCompilers.empty()) {
        return number;
    }
    const auto known = [&]() -> std::optional<int32_t> {
        const std::lock_guard lock(mMutex);
        const auto found = mAttempts.find(source);
        return found == mAttempts.end() ? std::nullopt : std::optional(found->second);
    }();
    if (known.has_value()) {
        number = *known;
    } else {
        // Requests for programs that are built already do not wait for this; two may try the same.
        const Result<int32_t> attempted = mCompilers.front()->attempt(source);
        number = attempted.ok() ? *attempted : -1;
        const std::lock_guard lock(mMutex);
        mAttempts.emplace(source, number);
    }
    std::array<uint8_t, sizeof number> bytes = {};
    std::memcpy(bytes.data(), &number, sizeof number);
    // Without a place to keep it the next process tries again.
    if (const Status kept = keep(blobs, name, identity, bytes); !kept.ok()) {
        log(LogLevel::WARNING, "what a trial has shown is not kept: " + kept.toString());
    }
    return number;
}

Result<std::shared_ptr<const Program>> Programs::load(const KernelFamily& family, size_t blocks,
                                                      std::span<const uint8_t> kept) const {
    HALYARD_ASSIGN_OR_RETURN(ProgramHandle program, buildFromBinary(*mDevice, kept));
    return std::make_shared<const Program>(
            std::move(program), std::vector<uint8_t>(kept.begin(), kept.end()), family, blocks);
}

// A driver that gives no binary leaves the source.
Result<std::shared_ptr<const Program>> Programs::make(const KernelFamily& family,
                                                      const std::string& source,
                                                      size_t blocks) const {
    if (!mCompilers.empty()) {
        HALYARD_ASSIGN_OR_RETURN(std::vector<uint8_t> binary,
                                 CompilerProcess::build(mCompilers, source));
        if (!binary.empty()) {
            if (Result<std::shared_ptr<const Program>> loaded = load(family, blocks, binary);
                loaded.ok()) {
                return loaded;
            }
        }
    }
    HALYARD_ASSIGN_OR_RETURN(ProgramHandle program, buildFromSource(*mDevice, source));
    std::vector<uint8_t> binary = binaryOf(*mDevice, program.get());
    return std::make_shared<const Program>(std::move(program), std::move(binary), family, blocks);
}

}  // namespace halyard::engine::gpu
