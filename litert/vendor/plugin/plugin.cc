// SPDX-License-Identifier: Apache-2.0

#include "litert/vendor/plugin/plugin.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "engine/backends/ref/cpu_ref.h"
#include "engine/base/build_identity.h"
#include "engine/base/checked_math.h"
#include "engine/base/log.h"
#include "engine/base/version.h"
#include "importers/tflite/operators.h"
#include "litert/vendor/plugin/claims.h"
#include "litert/vendor/plugin/island.h"
#include "litert/vendor/plugin/subgraph_reader.h"
#include "litert/vendor/processor.h"
#include "litert/vendor/tables.h"

namespace halyard::vendor {
namespace {

using tflite::OperatorCode;

std::string sdkVersionOf(const Options& options) {
    return HALYARD_VERSION " " + buildIdentityText() + " " + options.processor + " on " +
           hostIdentity() + " threads=" + std::to_string(threadCountOf(options)) +
           (options.fastMath ? " fast_math" : "") + (options.resizable ? " resizable" : "");
}

// What keeps values from run to run by a name. Where LiteRT writes a model again, they are others.
constexpr std::array kVariableOperators = {OperatorCode::CALL_ONCE, OperatorCode::VAR_HANDLE,
                                           OperatorCode::READ_VARIABLE,
                                           OperatorCode::ASSIGN_VARIABLE};

Status checkNoVariables(const tflite::Subgraph& subgraph) {
    for (size_t op = 0; op < subgraph.operators.size(); ++op) {
        const auto code = static_cast<OperatorCode>(subgraph.operators[op].code);
        if (std::ranges::count(kVariableOperators, code) > 0) {
            return unsupported(subgraph.label(op) +
                               " is of a variable, which LiteRT spoils where it writes a model "
                               "again");
        }
    }
    return {};
}

// LiteRT writes the model again with what is claimed, and without what it does not know of it: that
// constants are sparse. Then they have fewer bytes than elements, and nothing runs it any more.
Status checkWholeConstants(const tflite::Subgraph& subgraph) {
    for (const tflite::Tensor& tensor : subgraph.tensors) {
        if (!tensor.isConstant()) {
            continue;
        }
        std::optional<uint64_t> bits = tflite::bitsOf(tensor.type);
        for (const int32_t extent : tensor.shape) {
            bits = checkedMultiply<uint64_t>(*bits, static_cast<uint64_t>(std::max(extent, 0)));
            if (!bits.has_value()) {
                return invalidArgument("the constant '" + tensor.name + "' has no size");
            }
        }
        if (tensor.constant.bytes.size() < *bits / 8) {
            return unsupported("the constant '" + tensor.name +
                               "' is sparse, which LiteRT forgets where it writes a model again");
        }
    }
    return {};
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
    HALYARD_RETURN_IF_ERROR(checkWholeConstants(operators));
    HALYARD_RETURN_IF_ERROR(checkNoVariables(operators));
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
