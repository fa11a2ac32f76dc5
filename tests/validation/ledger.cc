// SPDX-License-Identifier: Apache-2.0

#include "tests/validation/ledger.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>

namespace halyard::validation {
namespace {

constexpr size_t kMaxRows = 64;
constexpr size_t kMaxWorkers = 64;
constexpr size_t kKept = 40;

}  // namespace

// Not in the unnamed namespace: Ledger::Shared, which is seen from elsewhere, has them.
struct Line {
    std::array<char, 1024> text = {};

    void set(std::string_view value) {
        const size_t length = std::min(value.size(), text.size() - 1);
        std::memcpy(text.data(), value.data(), length);
        text[length] = '\0';
    }
    std::string get() const { return text.data(); }
};

// Of any number of lines, the first.
struct Lines {
    std::atomic<size_t> count = 0;
    std::array<Line, kKept> kept;

    void add(std::string_view text) {
        if (const size_t place = count++; place < kKept) {
            kept[place].set(text);
        }
    }
};

namespace {

void appendQuoted(std::string& json, std::string_view text) {
    json += '"';
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            json += '\\';
        }
        json += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    json += '"';
}

void appendLines(std::string& json, const Lines& lines) {
    json += '[';
    for (size_t i = 0; i < std::min(lines.count.load(), kKept); ++i) {
        json += i == 0 ? "" : ", ";
        appendQuoted(json, lines.kept[i].get());
    }
    json += ']';
}

}  // namespace

struct Ledger::Shared {
    std::atomic<size_t> next = 0;
    std::array<std::array<std::atomic<uint64_t>, 3>, kMaxRows> counts = {};  // by row, verdict
    std::array<Line, kMaxWorkers> notes;
    Lines broken;
    Lines crashes;
};

Result<std::unique_ptr<Ledger>> Ledger::create(std::span<const std::string_view> rows,
                                               size_t workers) {
    if (rows.size() > kMaxRows || workers > kMaxWorkers) {
        return invalidArgument("too many rows or workers");
    }
    void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                        -1, 0);
    if (memory == MAP_FAILED) {
        return internalError(std::string("mmap: ") + std::strerror(errno));
    }
    return std::unique_ptr<Ledger>(new Ledger(new (memory) Shared(), rows));
}

Ledger::~Ledger() {
    mShared->~Shared();
    munmap(mShared, sizeof(Shared));
}

void Ledger::note(size_t worker, std::string_view what) {
    mShared->notes[worker].set(what);
}

void Ledger::count(size_t row, Verdict verdict) {
    ++mShared->counts[row][static_cast<size_t>(verdict)];
}

void Ledger::report(size_t row, std::string_view what) {
    count(row, Verdict::BROKEN);
    mShared->broken.add(std::string(mRows[row]) + ": " + std::string(what));
}

void Ledger::reportCrash(size_t worker, std::string_view how) {
    mShared->crashes.add(std::string(how) + " at " + mShared->notes[worker].get());
}

size_t Ledger::takeNext() {
    return mShared->next++;
}

size_t Ledger::crashes() const {
    return mShared->crashes.count.load();
}

std::string Ledger::toJson() const {
    std::string json = "{\"checks\": {";
    for (size_t row = 0; row < mRows.size(); ++row) {
        const auto counted = [&](Verdict verdict) {
            return mShared->counts[row][static_cast<size_t>(verdict)].load();
        };
        const uint64_t held = counted(Verdict::HELD);
        const uint64_t exempt = counted(Verdict::EXEMPT);
        const uint64_t broken = counted(Verdict::BROKEN);
        json += row == 0 ? "" : ", ";
        appendQuoted(json, mRows[row]);
        json += ": {\"tried\": " + std::to_string(held + exempt + broken) +
                ", \"held\": " + std::to_string(held) + ", \"exempt\": " + std::to_string(exempt) +
                ", \"broken\": " + std::to_string(broken) + "}";
    }
    json += "}, \"broken\": ";
    appendLines(json, mShared->broken);
    json += ", \"crashes\": ";
    appendLines(json, mShared->crashes);
    return json + "}";
}

}  // namespace halyard::validation
