// SPDX-License-Identifier: Apache-2.0

#include "tests/importers/tflite/model_builder.h"

#include <memory>
#include <span>

#include "engine/backends/ref/cpu_ref.h"
#include "engine/compile/compile.h"

namespace halyard::tflite {
namespace {

class Memory : public engine::OutputMemory {
  public:
    explicit Memory(size_t count) : mBytes(count) {}
    Result<std::span<uint8_t>> allocate(size_t output, const engine::Shape&, size_t bytes,
                                        size_t) override {
        mBytes[output].resize(bytes);
        return std::span<uint8_t>(mBytes[output]);
    }
    Bytes& operator[](size_t output) { return mBytes[output]; }

  private:
    std::vector<Bytes> mBytes;
};

Status runImported(ImportedGraph imported, const std::map<int32_t, Bytes>& given,
                   std::map<int32_t, Value>& values) {
    std::vector<Bytes> inputs;
    std::vector<engine::InputBinding> bindings;
    for (size_t i = 0; i < imported.inputs.size(); ++i) {
        const engine::TensorType& type = imported.graph.tensor(imported.graph.inputs()[i]).type;
        const auto found = given.find(imported.inputs[i]);
        HALYARD_ASSIGN_OR_RETURN(const size_t size, type.byteSize());
        inputs.push_back(found == given.end() ? Bytes(size) : found->second);
        bindings.push_back({.bytes = {}, .shape = type.shape, .isPrivate = true});
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
        bindings[i].bytes = inputs[i];
    }
    const std::unique_ptr<const engine::Backend> ref = engine::makeCpuRef();
    HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<const engine::Program> program,
                             engine::compile(std::move(imported.graph), {ref.get()}));
    HALYARD_ASSIGN_OR_RETURN(engine::Execution execution, engine::Execution::create(program));
    Memory memory(imported.outputs.size());
    engine::ExecutionReport report;
    const std::vector<engine::OutputBinding> outputs(imported.outputs.size());
    HALYARD_RETURN_IF_ERROR(execution.run(bindings, outputs, {.outputMemory = &memory}, &report));
    for (size_t i = 0; i < imported.outputs.size(); ++i) {
        const std::span<const int32_t> shape = report.outputs[i].shape.extents();
        values[imported.outputs[i]] = {.bytes = std::move(memory[i]),
                                       .shape = Extents(shape.begin(), shape.end())};
    }
    return {};
}

}  // namespace

int32_t ModelBuilder::begin() {
    mModel.subgraphs.emplace_back();
    return static_cast<int32_t>(mModel.subgraphs.size() - 1);
}

int32_t ModelBuilder::tensor(ElementType type, Extents shape, TensorQuantization quantization) {
    const auto index = static_cast<int32_t>(graph().tensors.size());
    graph().tensors.push_back({.type = type,
                               .shape = std::move(shape),
                               .name = "t" + std::to_string(index),
                               .quantization = std::move(quantization),
                               .constant = {},
                               .unreadable = {}});
    return index;
}

int32_t ModelBuilder::input(ElementType type, Extents shape, TensorQuantization quantization) {
    const int32_t index = tensor(type, std::move(shape), std::move(quantization));
    graph().inputs.push_back(index);
    return index;
}

int32_t ModelBuilder::variable(ElementType type, Extents shape, TensorQuantization quantization) {
    const int32_t index = tensor(type, std::move(shape), std::move(quantization));
    graph().tensors.back().isVariable = true;
    return index;
}

int32_t ModelBuilder::constant(ElementType type, Extents shape, Bytes bytes,
                               TensorQuantization quantization) {
    const int32_t index = tensor(type, std::move(shape), std::move(quantization));
    const auto owner = std::make_shared<const Bytes>(std::move(bytes));
    graph().tensors.back().constant = {.owner = owner, .bytes = *owner};
    return index;
}

int32_t ModelBuilder::floats(Extents shape, const std::vector<float>& values) {
    return constant(ElementType::FLOAT32, std::move(shape), bytesOf(values));
}

int32_t ModelBuilder::ints(Extents shape, const std::vector<int32_t>& values) {
    return constant(ElementType::INT32, std::move(shape), bytesOf(values));
}

int32_t ModelBuilder::longs(Extents shape, const std::vector<int64_t>& values) {
    return constant(ElementType::INT64, std::move(shape), bytesOf(values));
}

Operator& ModelBuilder::add(OperatorCode code, std::vector<int32_t> inputs,
                            std::vector<int32_t> outputs,
                            const std::map<size_t, OptionValue>& options) {
    Operator op;
    op.code = static_cast<int32_t>(code);
    op.inputs = std::move(inputs);
    op.outputs = std::move(outputs);
    for (const OptionField& field : findOperator(op.code)->fields) {
        op.options.push_back(defaultOf(field));
    }
    for (const auto& [place, value] : options) {
        op.options[place] = value;
    }
    graph().operators.push_back(std::move(op));
    return graph().operators.back();
}

Outcome run(const Model& model, const std::map<int32_t, Bytes>& given) {
    Outcome outcome;
    const Result<Importer> importer = Importer::create(model, 0);
    if (!importer.ok()) {
        outcome.status = importer.status();
        return outcome;
    }
    Result<ImportedGraph> imported = importer->buildAll();
    outcome.status = imported.ok() ? runImported(*std::move(imported), given, outcome.values)
                                   : imported.status();
    return outcome;
}

std::string reasonOf(const Model& model, const ImportOptions& options) {
    const Result<Importer> importer = Importer::create(model, 0, options);
    return importer.ok() ? importer->reason(0) : importer.status().toString();
}

bool isFolded(const Model& model) {
    const Result<Importer> importer = Importer::create(model, 0);
    return importer.ok() && importer->isFolded(0);
}

}  // namespace halyard::tflite
