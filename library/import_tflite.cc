// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "halyard/halyard.h"
#include "importers/tflite/flatbuffer.h"
#include "importers/tflite/importer.h"
#include "library/answer.h"
#include "library/graph_handle.h"
#include "library/memory.h"

namespace halyard::library {
namespace {

// What keeps the file's bytes, and where they are.
struct KeptFile {
    std::shared_ptr<const void> owner;
    std::span<const uint8_t> bytes;
    std::shared_ptr<LentBytes> lent;  // null: nothing has to be given back
};

Result<KeptFile> keep(const halyard_constant& file) {
    HALYARD_ASSIGN_OR_RETURN(
            const std::span<const uint8_t> bytes,
            readArray(static_cast<const uint8_t*>(file.data), file.size, "the file's data"));
    if (file.memory != nullptr) {
        HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<const Memory> memory, memoryNamedBy(file, bytes));
        return KeptFile{.owner = std::move(memory), .bytes = bytes, .lent = nullptr};
    }
    if (file.release != nullptr) {
        const auto lent = std::make_shared<LentBytes>(file.release, file.owner);
        return KeptFile{.owner = lent, .bytes = bytes, .lent = lent};
    }
    const auto copy = std::make_shared<const std::vector<uint8_t>>(bytes.begin(), bytes.end());
    return KeptFile{.owner = copy, .bytes = *copy, .lent = nullptr};
}

Result<engine::Graph> importFile(const halyard_constant& file) {
    HALYARD_ASSIGN_OR_RETURN(const KeptFile kept, keep(file));
    HALYARD_ASSIGN_OR_RETURN(const tflite::Model model,
                             tflite::readFlatbuffer(kept.bytes, kept.owner));
    HALYARD_ASSIGN_OR_RETURN(const tflite::Importer importer, tflite::Importer::create(model, 0));
    HALYARD_ASSIGN_OR_RETURN(tflite::ImportedGraph imported, importer.buildAll());
    if (kept.lent != nullptr) {
        kept.lent->take();
    }
    return std::move(imported.graph);
}

}  // namespace
}  // namespace halyard::library

using namespace halyard;  // NOLINT(google-build-using-namespace)

extern "C" halyard_status halyard_graph_import_tflite(const halyard_constant* file,
                                                      halyard_graph** graph,
                                                      halyard_message* message) {
    const auto import = [&]() -> Status {
        HALYARD_RETURN_IF_ERROR(library::present(graph, "graph"));
        HALYARD_ASSIGN_OR_RETURN(
                const halyard_constant read,
                library::readStruct(file, "the file", offsetof(halyard_constant, memory)));
        HALYARD_ASSIGN_OR_RETURN(engine::Graph imported, library::importFile(read));
        *graph = new halyard_graph{.graph = std::move(imported)};
        return {};
    };
    return library::answer(import(), message);
}
