// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/tuning/tuning.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include "engine/base/log.h"
#include "engine/numerics/fingerprint.h"

namespace halyard::engine::gpu {
namespace {

constexpr size_t kMeasuredRapidly = 4;
constexpr size_t kMeasuredNormally = 12;
constexpr std::chrono::milliseconds kAskAgain{10};
// Subjects that are remembered, so that each is warned of once.
constexpr size_t kMostWarned = 256;

std::string numberOf(std::string_view text) {
    return std::to_string(fingerprint64(std::as_bytes(std::span(text))));
}

}  // namespace

Tuning::Tuning(TuningSettings settings, std::string_view device)
    : mSettings(std::move(settings)), mDevice(device) {
    if (!mSettings.file.empty()) {
        read();
    }
}

void Tuning::read() {
    const bool updates = mSettings.mode == TuningMode::UPDATE;
    const Result<std::string> text = readTuningFile(mSettings.file);
    Status status = text.status();
    // A file that some other program wrote is not replaced.
    mCanWrite = updates && (text.ok() ? text->empty() || beginsAsTuning(*text)
                                      : status.code() == StatusCode::UNAVAILABLE);
    if (text.ok()) {
        Result<TunedChoices> choices = parseTuning(*text, mDevice);
        if (choices.ok()) {
            mChoices = *std::move(choices);
            mContent = numberOf(*text);
            log(LogLevel::INFO, "GpuAcc is tuned by " + std::to_string(mChoices.size()) +
                                        " choices in " + mSettings.file);
            return;
        }
        status = choices.status();
    }
    const bool begins = mCanWrite && (!text.ok() || text->empty());
    log(begins ? LogLevel::INFO : LogLevel::WARNING,
        "GpuAcc takes no tuning from " + mSettings.file + ": " + std::string(status.message()) +
                (!updates    ? ""
                 : mCanWrite ? "; it will be written"
                             : "; it will not be written either"));
}

bool Tuning::isOff() const {
    const std::lock_guard lock(mMutex);
    return mSettings.mode == TuningMode::USE && !mSettings.always.has_value() && mChoices.empty();
}

size_t Tuning::measuredOf(size_t variants) const {
    {
        const std::lock_guard lock(mMutex);
        // A choice that can't be recorded would be measured again for every layer.
        if (mSettings.mode == TuningMode::USE || mChoices.size() >= kMostTunedChoices) {
            return 0;
        }
    }
    switch (mSettings.level) {
        case TuningLevel::RAPID:
            return std::min(variants, kMeasuredRapidly);
        case TuningLevel::NORMAL:
            return std::min(variants, kMeasuredNormally);
        case TuningLevel::EXHAUSTIVE:
            break;
    }
    return variants;
}

std::string Tuning::keyOf(std::string_view text) {
    // Blanks become one.
    std::string key;
    for (const char c : text) {
        const bool isBlank = c <= ' ' || c > '~';
        if (!isBlank || (!key.empty() && key.back() != ' ')) {
            key += isBlank ? ' ' : c;
        }
    }
    while (key.ends_with(' ')) {
        key.pop_back();
    }
    if (key.size() > kMostTunedKeyBytes) {
        const std::string rest = "..." + numberOf(key);
        key.replace(kMostTunedKeyBytes - rest.size(), std::string::npos, rest);
    }
    return key;
}

std::optional<std::string> Tuning::find(std::string_view key) const {
    const std::lock_guard lock(mMutex);
    const auto found = mChoices.find(key);
    return found == mChoices.end() ? std::nullopt : std::optional(found->second);
}

void Tuning::record(const std::string& key, const std::string& name) {
    const std::lock_guard lock(mMutex);
    const bool isKnown = mChoices.contains(key);
    if (canBeTuned(key, name) && (isKnown || mChoices.size() < kMostTunedChoices)) {
        mChoices.insert_or_assign(key, name);
        mIsChanged = true;
    }
}

void Tuning::save() {
    if (!mCanWrite) {
        return;
    }
    const std::lock_guard saving(mSaving);
    TunedChoices choices;
    {
        const std::lock_guard lock(mMutex);
        if (!std::exchange(mIsChanged, false)) {
            return;
        }
        choices = mChoices;
    }
    const Status written = writeTuningFile(mSettings.file, tuningText(choices, mDevice));
    if (!written.ok()) {
        warnOnce(mSettings.file,
                 "GpuAcc's tuning is not written: " + std::string(written.message()));
    }
}

Result<std::unique_lock<std::timed_mutex>> Tuning::startMeasuring(const Checkpoint& checkpoint) {
    std::unique_lock<std::timed_mutex> lock(mMeasuring, std::defer_lock);
    while (!lock.try_lock_for(kAskAgain)) {
        HALYARD_RETURN_IF_ERROR(checkpoint.check("while others measured kernels"));
    }
    return lock;
}

void Tuning::warnOnce(const std::string& subject, const std::string& line) {
    {
        const std::lock_guard lock(mMutex);
        if (mWarned.size() >= kMostWarned || !mWarned.insert(subject).second) {
            return;
        }
    }
    log(LogLevel::WARNING, line);
}

std::string Tuning::identity() const {
    std::string text;
    if (mSettings.mode == TuningMode::UPDATE) {
        constexpr std::string_view kLevels[] = {"rapid", "normal", "exhaustive"};
        text.append(" measured ").append(kLevels[static_cast<size_t>(mSettings.level)]);
    }
    if (!mContent.empty()) {
        text += " tuned " + mContent;
    }
    if (mSettings.always.has_value()) {
        text += " variant " + std::to_string(*mSettings.always);
    }
    return text;
}

}  // namespace halyard::engine::gpu
