// SPDX-License-Identifier: Apache-2.0
//
// Bytecode: what the compiler plugin makes of one island of operators, and the dispatch library
// runs. LiteRT keeps it in its cache and behind .tflite files, and hands it back at any address.
//
// 64 bytes (magic, version, the size of all), then a file of sections (section_file.h) with what
// stands in BytecodeInfo and either a saved program, whose constants are packed for a named
// processor, or a graph, which is compiled when it is loaded.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/base/aligned_buffer.h"
#include "engine/base/section_file.h"
#include "engine/base/status.h"
#include "engine/base/version.h"
#include "engine/graph/graph.h"
#include "engine/plan/program.h"
#include "litert/vendor_abi.h"

namespace halyard::vendor {

// An input or output of the island, as LiteRT counts them.
struct BytecodePort {
    static constexpr uint32_t kUnused = UINT32_MAX;

    std::string name;
    int32_t elementType = 0;     // tflite::ElementType
    std::vector<int32_t> shape;  // as the model declares it, with 1 where an extent is not known
    uint32_t open = 0;           // of an input: a bit for each axis that may have other extents
    uint32_t place = kUnused;    // among the graph's inputs or outputs
};

struct BytecodeInfo {
    std::string version = HALYARD_VERSION;  // of Halyard, that wrote it
    bool isProgram = false;
    std::string processor;   // its name (processor.h)
    uint32_t threads = 1;    // that it was compiled for
    uint32_t operators = 0;  // of the model
    bool fastMath = false;
    bool resizable = false;  // a graph: open axes of inputs may get other extents
    std::string reason;      // why it is a graph; empty: it is a program
    std::vector<BytecodePort> inputs;
    std::vector<BytecodePort> outputs;
};

// Both return bytes at a multiple of 64.
Result<AlignedBuffer> bytecodeOf(const BytecodeInfo& info, const engine::Program& program);
Result<AlignedBuffer> bytecodeOf(const BytecodeInfo& info, const engine::Graph& graph);

struct Bytecode {
    BytecodeInfo info;
    SectionFile file;                // of a program: as Program::load() takes it
    std::span<const uint8_t> graph;  // serialized; of a graph
    engine::SavedBytes trust = engine::SavedBytes::PRIVATE;
};

// The bytes in LiteRT's buffer. Those of a file are mapped again, and used where they lie if that
// is at a multiple of 64; others are copied. INVALID_ARGUMENT where they are no bytecode, whole and
// as it was written; UNSUPPORTED for another version.
Result<Bytecode> openBytecode(const abi::MemBuffer& buffer);

}  // namespace halyard::vendor
