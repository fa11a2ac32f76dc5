// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/nvidia/cuda/kernel_image.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

namespace halyard::engine::gpu {
namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr std::string_view kLastParameter = "_halyard_begin";

// ---- PTX ----------------------------------------------------------------------------------------

Status unportable(std::string_view line) {
    return unsupported("CUDA has nothing for \"" + std::string(line) + "\"");
}

std::string_view trimmed(std::string_view text) {
    const size_t first = text.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// The number between two marks.
std::optional<uint32_t> numberBetween(std::string_view text, std::string_view before, char after) {
    const size_t mark = text.find(before);
    if (mark == std::string_view::npos) {
        return std::nullopt;
    }
    const char* const first = text.data() + mark + before.size();
    const char* const last = text.data() + text.size();
    uint32_t number = 0;
    const auto [end, error] = std::from_chars(first, last, number);
    if (error != std::errc() || (after != '\0' && (end == last || *end != after))) {
        return std::nullopt;
    }
    return number;
}

// ".param .u64 .ptr .global .align 1 add_param_0," or ".param .align 4 .b8 add_param_5[16]".
Result<KernelParameter> parseParameter(std::string_view line) {
    if (line.find(".ptr") != std::string_view::npos) {
        if (line.find(".ptr .global") == std::string_view::npos) {
            return unportable(line);
        }
        return KernelParameter{.bytes = sizeof(uint64_t), .isMemory = true};
    }
    for (const std::string_view type : {" .u", " .s", " .b", " .f"}) {
        const std::optional<uint32_t> bits = numberBetween(line, type, ' ');
        if (!bits.has_value()) {
            continue;
        }
        const bool isArray = line.find('[') != std::string_view::npos;
        const std::optional<uint32_t> count =
                isArray ? numberBetween(line, "[", ']') : std::optional<uint32_t>(1);
        if (*bits == 0 || *bits % 8 != 0 || !count.has_value() || *count > 4096) {
            return unportable(line);
        }
        return KernelParameter{.bytes = *bits / 8 * *count, .isMemory = false};
    }
    return unportable(line);
}

// OpenCL's compiler reads what it knows of a launch from registers that CUDA's driver leaves as
// they are: "mov.b32 %r18, %envreg3;".
Result<std::string> portRegister(std::string_view line, std::string_view kernel) {
    const std::optional<uint32_t> number = numberBetween(line, "%envreg", ';');
    const std::string_view statement = trimmed(line);
    const size_t comma = statement.find(',');
    if (!number.has_value() || !statement.starts_with("mov.") || comma == std::string_view::npos) {
        return unportable(line);
    }
    const size_t blank = statement.find_first_of(kBlanks);
    const std::string result(trimmed(statement.substr(blank, comma - blank)));
    constexpr std::array<std::string_view, 3> kAxes = {"x", "y", "z"};
    const uint32_t axis = *number % 3;
    switch (*number / 3) {
        case 0:  // where the work-groups of a part begin: a launch has all of its work-groups
            return "\tmov.u32 \t" + result + ", 0;";
        case 1:  // where the work-items begin
            return "\tld.param.u32 \t" + result + ", [" + std::string(kernel) +
                   std::string(kLastParameter) + "+" + std::to_string(axis * 4) + "];";
        case 2:  // how many work-groups there are
            return "\tmov.u32 \t" + result + ", %nctaid." + std::string(kAxes[axis]) + ";";
        default:
            return unportable(line);
    }
}

// ---- Bytes --------------------------------------------------------------------------------------

constexpr std::array<uint8_t, 8> kMagic = {'H', 'Y', 'C', 'U', 'D', 'A', '0', '1'};
constexpr uint32_t kMost = 1024;  // kernels, parameters, letters: more than any text has
constexpr uint32_t kMemoryMark = uint32_t{1} << 31;
// Of a launch, the most that any device's code takes (CUDA 12.1; before, 4,096).
constexpr uint64_t kMostParameterBytes = 32764;

// Whether a launch can hand these to a kernel. Values are stored by these sizes, and addresses
// where a parameter is said to be memory.
bool canBeHanded(const KernelSignature& kernel) {
    uint64_t bytes = sizeof(RangeBegin);
    for (const KernelParameter& parameter : kernel.parameters) {
        if (parameter.bytes == 0 || (parameter.isMemory && parameter.bytes != sizeof(uint64_t))) {
            return false;
        }
        bytes += parameter.bytes;
    }
    return bytes <= kMostParameterBytes;
}

class Writer {
  public:
    explicit Writer(std::vector<uint8_t>& bytes) : mBytes(bytes) {}
    void number(uint32_t value) {
        std::array<uint8_t, sizeof value> bytes = {};
        std::memcpy(bytes.data(), &value, sizeof value);
        mBytes.insert(mBytes.end(), bytes.begin(), bytes.end());
    }
    void text(std::string_view text) {
        number(static_cast<uint32_t>(text.size()));
        mBytes.insert(mBytes.end(), text.begin(), text.end());
    }

  private:
    std::vector<uint8_t>& mBytes;
};

class Reader {
  public:
    explicit Reader(std::span<const uint8_t> bytes) : mLeft(bytes) {}
    // Zeros behind the end.
    uint32_t number() {
        uint32_t value = 0;
        const std::span<const uint8_t> bytes = take(sizeof value);
        if (!bytes.empty()) {
            std::memcpy(&value, bytes.data(), sizeof value);
        }
        return value;
    }
    uint32_t count() {
        const uint32_t value = number();
        mIsWhole = mIsWhole && value <= kMost;
        return mIsWhole ? value : 0;
    }
    std::span<const uint8_t> take(size_t size) {
        if (!mIsWhole || size > mLeft.size()) {
            mIsWhole = false;
            return {};
        }
        const std::span<const uint8_t> taken = mLeft.first(size);
        mLeft = mLeft.subspan(size);
        return taken;
    }
    std::span<const uint8_t> rest() const { return mLeft; }
    bool isWhole() const { return mIsWhole; }

  private:
    std::span<const uint8_t> mLeft;
    bool mIsWhole = true;
};

}  // namespace

Result<PortedPtx> portPtx(std::string_view openClPtx) {
    PortedPtx ported;
    const size_t end = std::min(openClPtx.find('\0'), openClPtx.size());
    std::string_view left = openClPtx.substr(0, end);
    bool isInHead = false;  // between a kernel's name and its body
    while (!left.empty()) {
        const size_t length = std::min(left.find('\n'), left.size());
        const std::string_view line = left.substr(0, length);
        left.remove_prefix(std::min(length + 1, left.size()));
        const std::string_view statement = trimmed(line);
        const size_t entry = statement.find(".entry ");
        if (entry != std::string_view::npos && !statement.starts_with("//")) {
            const std::string_view name = trimmed(statement.substr(entry + 7));
            if (!name.ends_with('(')) {
                return unportable(line);
            }
            ported.kernels.push_back({.name = std::string(trimmed(name.substr(0, name.size() - 1))),
                                      .parameters = {}});
            isInHead = true;
        } else if (isInHead && statement.starts_with(".param")) {
            HALYARD_ASSIGN_OR_RETURN(const KernelParameter parameter, parseParameter(statement));
            ported.kernels.back().parameters.push_back(parameter);
            if (!statement.ends_with(',')) {
                ported.text.append(line).append(",\n");
                continue;
            }
        } else if (isInHead && statement == ")") {
            ported.text.append("\t.param .align 4 .b8 " + ported.kernels.back().name)
                    .append(kLastParameter)
                    .append("[" + std::to_string(sizeof(RangeBegin)) + "]\n");
            isInHead = false;
        } else if (statement.starts_with(".target")) {
            // How textures are bound, of which there are none.
            ported.text.append(statement.substr(0, statement.find(','))).append("\n");
            continue;
        } else if (line.find("%envreg") != std::string_view::npos) {
            if (ported.kernels.empty()) {
                return unportable(line);
            }
            HALYARD_ASSIGN_OR_RETURN(const std::string moved,
                                     portRegister(line, ported.kernels.back().name));
            ported.text.append(moved).append("\n");
            continue;
        }
        ported.text.append(line).append("\n");
    }
    if (ported.kernels.empty() || isInHead) {
        return unsupported("the OpenCL compiler's binary is not PTX with kernels");
    }
    return ported;
}

std::vector<uint8_t> KernelImage::toBytes() const {
    std::vector<uint8_t> bytes(kMagic.begin(), kMagic.end());
    Writer out(bytes);
    out.number(static_cast<uint32_t>(kernels.size()));
    for (const KernelSignature& kernel : kernels) {
        out.text(kernel.name);
        out.number(static_cast<uint32_t>(kernel.parameters.size()));
        for (const KernelParameter& parameter : kernel.parameters) {
            out.number(parameter.bytes | (parameter.isMemory ? kMemoryMark : 0));
        }
    }
    bytes.insert(bytes.end(), code.begin(), code.end());
    return bytes;
}

Result<KernelImage> KernelImage::fromBytes(std::span<const uint8_t> bytes) {
    Reader in(bytes);
    const bool isOurs = std::ranges::equal(in.take(kMagic.size()), kMagic);
    KernelImage image;
    bool isSound = true;
    for (uint32_t i = in.count(); i > 0; --i) {
        KernelSignature& kernel = image.kernels.emplace_back();
        const std::span<const uint8_t> name = in.take(in.count());
        kernel.name.assign(name.begin(), name.end());
        for (uint32_t j = in.count(); j > 0; --j) {
            const uint32_t number = in.number();
            kernel.parameters.push_back(
                    {.bytes = number & ~kMemoryMark, .isMemory = (number & kMemoryMark) != 0});
        }
        const auto others = std::span(image.kernels).first(image.kernels.size() - 1);
        isSound = isSound && !kernel.name.empty() && canBeHanded(kernel) &&
                  std::ranges::find(others, kernel.name, &KernelSignature::name) == others.end();
    }
    if (!isOurs || !in.isWhole() || !isSound || in.rest().empty()) {
        return invalidArgument("is no image of kernels for CUDA's driver");
    }
    image.code.assign(in.rest().begin(), in.rest().end());
    return image;
}

}  // namespace halyard::engine::gpu
