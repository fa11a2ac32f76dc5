// SPDX-License-Identifier: Apache-2.0

#include "litert/vendor/plugin/plugin.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "engine/backends/ref/cpu_ref.h"
#include "engine/base/build_identity.h"
#include "engine/base/log.h"
#include "engine/base/version.h"
#include "litert/vendor/plugin/claims.h"
#include "litert/vendor/plugin/island.h"
#include "litert/vendor/plugin/subgraph_reader.h"
#include "litert/vendor/processor.h"
#include "litert/vendor/tables.h"

namespace halyard::vendor {
namespace {

std::string hexOf(std::span<const uint8_t> bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (const uint8_t byte : bytes) {
        text.append({kDigits[byte >> 4U], kDigits[byte & 0xFU]});
    }
    return text;
}

std::string sdkVersionOf(const Options& options) {
    return HALYARD_VERSION " " + hexOf(buildIdentity()) + " " + options.processor + " on " +
           hostIdentity() + " threads=" + std::to_string(threadCountOf(options)) +
           (options.fastMath ? " fast_math" : "") + (options.resizable ? " resizable" : "");
}

// The payload of opaque options; null where there are none.
const char* opaqueText(const abi::CompilerTable& litert, abi::Options options) {
    abi::OpaqueOptions opaque = nullptr;
    void* payload = nullptr;
    if (options == nullptr || litert.getOpaqueOptions(options, &opaque) != 0 || opaque == nullptr ||
        litert.findOpaqueOptionsData(opaque, kOpaqueIdentifier, &payload) != 0) {
        return nullptr;
    }
    return static_cast<const char*>(payload);
}

}  // namespace

Plugin::Plugin(const abi::CompilerTable& table, Options options)
    : mLiteRt(table), mOptions(std::move(options)), mSdkVersion(sdkVersionOf(mOptions)) {}

Result<std::unique_ptr<const Plugin>> Plugin::create(const abi::CompilerTable* table,
                                                     abi::Options options) {
    HALYARD_RETURN_IF_ERROR(checkTable(table, "table for compilers", abi::kCompilerTableMajor,
                                       abi::compilerTableSlots));
    HALYARD_ASSIGN_OR_RETURN(Options read, readOptions(opaqueText(*table, options)));
    HALYARD_RETURN_IF_ERROR(checkName(read.processor));
    setLogThreshold(read.log);
    return std::unique_ptr<const Plugin>(new Plugin(*table, std::move(read)));
}

Status Plugin::partition(const char* processor, abi::Subgraph subgraph, abi::OpList claimed) const {
    const std::string name = processor == nullptr ? mOptions.processor : processor;
    HALYARD_RETURN_IF_ERROR(checkName(name));
    HALYARD_ASSIGN_OR_RETURN(const ReadSubgraph read, readSubgraph(mLiteRt, subgraph));
    // Which nodes have tuned kernels does not depend on the processor.
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<const engine::Backend> tuned,
                             openProcessor(kHost));
    const std::unique_ptr<const engine::Backend> reference = engine::makeCpuRef();
    HALYARD_ASSIGN_OR_RETURN(const Claims claims,
                             claim(read.model, {tuned.get(), reference.get()}));
    const tflite::Subgraph& operators = read.model.subgraphs.front();
    if (!mOptions.report.empty()) {
        HALYARD_RETURN_IF_ERROR(writeReport(claims.report(operators, name)));
    }
    for (size_t op = 0; op < claims.reasons.size(); ++op) {
        if (!claims.reasons[op].empty()) {
            log(LogLevel::INFO, operators.label(op) + " is left to LiteRT: " + claims.reasons[op]);
            continue;
        }
        HALYARD_RETURN_IF_ERROR(
                calledStatus(mLiteRt.pushOp(claimed, read.handles[op], 0), "PushOp"));
    }
    if (claims.count() == 0) {
        return unsupported("none of the subgraph's " + std::to_string(claims.reasons.size()) +
                           " operators is taken" +
                           (claims.reasons.empty()
                                    ? ""
                                    : ": " + operators.label(0) + ": " + claims.reasons.front()));
    }
    return {};
}

Status Plugin::writeReport(const std::string& line) const {
    std::FILE* const file = std::fopen(mOptions.report.c_str(), "ae");
    const bool isWritten = file != nullptr && std::fprintf(file, "%s\n", line.c_str()) >= 0;
    if (file == nullptr || std::fclose(file) != 0 || !isWritten) {
        return invalidArgument("the report " + mOptions.report +
                               " can't be written: " + std::strerror(errno));
    }
    return {};
}

Result<std::unique_ptr<const CompiledIslands>> Plugin::compile(const char* processor,
                                                               abi::Model islands) const {
    size_t count = 0;
    HALYARD_RETURN_IF_ERROR(
            calledStatus(mLiteRt.getNumModelSubgraphs(islands, &count), "GetNumModelSubgraphs"));
    auto compiled = std::make_unique<CompiledIslands>();
    for (size_t i = 0; i < count; ++i) {
        abi::Subgraph subgraph = nullptr;
        HALYARD_RETURN_IF_ERROR(
                calledStatus(mLiteRt.getModelSubgraph(islands, i, &subgraph), "GetModelSubgraph"));
        HALYARD_ASSIGN_OR_RETURN(const ReadSubgraph read, readSubgraph(mLiteRt, subgraph));
        Result<AlignedBuffer> bytecode = compileIsland(
                read.model, processor == nullptr ? mOptions.processor : processor, mOptions);
        const std::string name = "halyard_" + std::to_string(i);
        HALYARD_RETURN_IF_ERROR(bytecode.status().withContext(name));
        compiled->islands.push_back({.name = name, .bytecode = *std::move(bytecode)});
    }
    return std::unique_ptr<const CompiledIslands>(std::move(compiled));
}

}  // namespace halyard::vendor
