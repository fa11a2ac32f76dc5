// SPDX-License-Identifier: Apache-2.0
//
// TFLite models of a few operators, made by hand, and what CpuRef computes of them.

#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "importers/tflite/importer.h"
#include "importers/tflite/model.h"
#include "importers/tflite/operators.h"

namespace halyard::tflite {

using Bytes = std::vector<uint8_t>;
using Extents = std::vector<int32_t>;

template <typename T>
Bytes bytesOf(const std::vector<T>& values) {
    Bytes bytes(values.size() * sizeof(T));
    if (!bytes.empty()) {
        std::memcpy(bytes.data(), values.data(), bytes.size());
    }
    return bytes;
}

inline OptionValue integer(int64_t value) {
    return {.integer = value};
}
inline OptionValue real(float value) {
    return {.real = value};
}
inline OptionValue list(std::vector<int32_t> values) {
    return {.list = std::move(values)};
}

class ModelBuilder {
  public:
    ModelBuilder() { mModel.subgraphs.emplace_back(); }

    // What is added from here on belongs to a new subgraph, whose number is returned.
    int32_t begin();
    int32_t tensor(ElementType type, Extents shape, TensorQuantization quantization = {});
    int32_t input(ElementType type, Extents shape, TensorQuantization quantization = {});
    int32_t variable(ElementType type, Extents shape, TensorQuantization quantization = {});
    int32_t constant(ElementType type, Extents shape, Bytes bytes,
                     TensorQuantization quantization = {});
    int32_t floats(Extents shape, const std::vector<float>& values);
    int32_t ints(Extents shape, const std::vector<int32_t>& values);
    int32_t longs(Extents shape, const std::vector<int64_t>& values);
    // With the defaults of a file for all other options.
    Operator& add(OperatorCode code, std::vector<int32_t> inputs, std::vector<int32_t> outputs,
                  const std::map<size_t, OptionValue>& options = {});
    void output(int32_t tensor) { graph().outputs.push_back(tensor); }
    Subgraph& graph() { return mModel.subgraphs.back(); }
    const Model& model() const { return mModel; }

  private:
    Model mModel;
};

struct Value {
    Bytes bytes;
    Extents shape;

    template <typename T>
    std::vector<T> as() const {
        std::vector<T> values(bytes.size() / sizeof(T));
        if (!values.empty()) {
            std::memcpy(values.data(), bytes.data(), bytes.size());
        }
        return values;
    }
};

// By tensor: outputs, and what variables have become.
struct Outcome {
    Status status;
    std::map<int32_t, Value> values;

    const Value& operator[](int32_t tensor) const { return values.at(tensor); }
    std::vector<float> floats(int32_t tensor) const { return values.at(tensor).as<float>(); }
    std::vector<int32_t> ints(int32_t tensor) const { return values.at(tensor).as<int32_t>(); }
};

// Imports the main subgraph, and runs it. Inputs that are not given are zeros.
Outcome run(const Model& model, const std::map<int32_t, Bytes>& given = {});
// Of the first operator; empty where it is taken.
std::string reasonOf(const Model& model, const ImportOptions& options = {});
// Whether the first operator takes no node.
bool isFolded(const Model& model);

}  // namespace halyard::tflite
