// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/graph_mutation.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace halyard::fuzz {
namespace {

using engine::ConstantData;
using engine::DataType;
using engine::Graph;
using engine::Node;
using engine::NodeDescriptor;
using engine::Shape;
using engine::TensorId;
using engine::TensorType;

constexpr size_t kMostNodes = 24;
constexpr size_t kMostConstantBytes = size_t{1} << 14;

template <typename T>
constexpr bool kIsVector = false;
template <typename T>
constexpr bool kIsVector<std::vector<T>> = true;

// The descriptor of each kind as it is declared.
template <size_t... I>
NodeDescriptor descriptorOfKind(size_t kind, std::index_sequence<I...> /*kinds*/) {
    NodeDescriptor made;
    ((kind == I ? static_cast<void>(made.emplace<I>()) : static_cast<void>(0)), ...);
    return made;
}

class Mutation {
  public:
    Mutation(Graph& graph, SeededChoices& choices) : mGraph(graph), mChoices(choices) {}

    void run() {
        switch (mChoices.below(12)) {
            case 0:
            case 1:
            case 2:
                changeNode();
                break;
            case 3:
            case 4:
                changeExtents();
                break;
            case 5:
                changeTypes();
                break;
            case 6:
                changeTensor();
                break;
            case 7:
                changeConstant();
                break;
            case 8:
                changeEnds();
                break;
            case 9:
                repeatNode();
                break;
            case 10:
                repeatConstant();
                break;
            default:
                changeBoundary();
        }
        if (!mChoices.oneIn(8)) {
            repairConstants();
        }
    }

  private:
    int32_t number() { return static_cast<int32_t>(mChoices.number()); }
    float real() {
        return mChoices.oneIn(6) ? mChoices.anyFloat() : static_cast<float>(number()) / 4;
    }

    // One that has a name: what has none can't be written down.
    template <typename E>
    E enumerator() {
        size_t count = 0;
        while (!nameOfEnumerator(static_cast<E>(count)).empty()) {
            ++count;
        }
        return static_cast<E>(mChoices.below(count));
    }

    // ---- Fields of a descriptor -----------------------------------------------------------------

    // Of all of them the one is changed that mCountdown counts to.
    template <typename T>
    void visit(T& field) {
        if constexpr (WithFields<T>) {
            forEachField(field, [&](std::string_view /*name*/, auto& inner) { visit(inner); });
        } else if constexpr (kIsVector<T>) {
            for (auto& element : field) {
                visit(element);
            }
            if (mCountdown-- == 0) {
                field.resize(mChoices.below(field.size() + 2));
            }
        } else if constexpr (std::is_same_v<T, engine::NestedGraph>) {
            if (mCountdown-- == 0 && field.graph != nullptr) {
                auto changed = std::make_shared<Graph>(*field.graph);
                Mutation(*changed, mChoices).run();
                field.graph = std::move(changed);
            }
        } else if (mCountdown-- == 0) {
            if constexpr (std::is_enum_v<T>) {
                field = enumerator<T>();
            } else if constexpr (std::is_same_v<T, bool>) {
                field = !field;
            } else if constexpr (std::is_same_v<T, float>) {
                field = real();
            } else if constexpr (std::is_integral_v<T>) {
                field = static_cast<T>(number());
            }
        }
    }

    void changeNode() {
        if (mGraph.nodes().empty()) {
            return;
        }
        Node& node = mGraph.mutableNode(
                static_cast<engine::NodeId>(mChoices.below(mGraph.nodes().size())));
        if (mChoices.oneIn(8)) {
            constexpr size_t kKinds = std::variant_size_v<engine::AnyDescriptor>;
            node.descriptor = descriptorOfKind(mChoices.below(kKinds - 1),
                                               std::make_index_sequence<kKinds>());
            return;
        }
        mCountdown = mChoices.below(12);
        std::visit(
                [&](auto& descriptor) {
                    if constexpr (WithFields<std::remove_reference_t<decltype(descriptor)>>) {
                        visit(descriptor);
                    }
                },
                static_cast<engine::AnyDescriptor&>(node.descriptor));
    }

    // ---- Tensors --------------------------------------------------------------------------------

    TensorId anyTensor() { return static_cast<TensorId>(mChoices.below(mGraph.tensors().size())); }

    void changeExtents() {
        if (mGraph.tensors().empty()) {
            return;
        }
        const Shape chosen = mGraph.tensor(anyTensor()).type.shape;
        if (!chosen.hasKnownRank() || chosen.rank() == 0) {
            return;
        }
        const size_t axis = mChoices.below(chosen.rank());
        const bool anyAxis = mChoices.oneIn(2);
        const int32_t after = mChoices.oneIn(6) ? -1 : mChoices.below(13);
        for (TensorId id = 0; id < mGraph.tensors().size(); ++id) {
            Shape& shape = mGraph.mutableTensor(id).type.shape;
            for (size_t i = 0; shape.hasKnownRank() && i < shape.rank(); ++i) {
                if (shape[i] == chosen[axis] && (anyAxis || i == axis)) {
                    shape[i] = after;
                }
            }
        }
    }

    void changeTypes() {
        if (mGraph.tensors().empty()) {
            return;
        }
        const DataType before = mGraph.tensor(anyTensor()).type.type;
        const auto after = static_cast<DataType>(mChoices.below(10));
        for (TensorId id = 0; id < mGraph.tensors().size(); ++id) {
            TensorType& type = mGraph.mutableTensor(id).type;
            if (type.type == before) {
                type.type = after;
                if (isQuantized(after) && type.quantization.scale == 0) {
                    type.quantization.scale = 0.5F;
                } else if (!isQuantized(after)) {
                    type.quantization = {};
                }
            }
        }
    }

    void changeTensor() {
        if (mGraph.tensors().empty()) {
            return;
        }
        TensorType& type = mGraph.mutableTensor(anyTensor()).type;
        switch (mChoices.below(6)) {
            case 0:
                type.type = static_cast<DataType>(mChoices.below(10));
                break;
            case 1:
                type.quantization.scale = real();
                break;
            case 2:
                type.quantization.zeroPoint = number();
                break;
            case 3:
                type.quantization.channelDim = static_cast<uint32_t>(number());
                type.quantization.channelScales = std::vector<float>(mChoices.below(6), 0.5F);
                break;
            case 4:
                type.shape = Shape::unknownRank();
                break;
            default: {
                std::array<int32_t, engine::kMaxRank> extents = {};
                const size_t rank = mChoices.below(6);
                for (size_t i = 0; i < rank; ++i) {
                    extents[i] = mChoices.oneIn(8) ? number() & 0x7fffffff : mChoices.below(5);
                }
                type.shape = Shape(std::span<const int32_t>(extents.data(), rank));
            }
        }
    }

    void setConstant(TensorId id, std::vector<uint8_t> bytes) {
        // Aligned to every element.
        const auto owner = std::make_shared<std::vector<uint64_t>>(bytes.size() / 8 + 1);
        if (!bytes.empty()) {
            std::memcpy(owner->data(), bytes.data(), bytes.size());
        }
        mGraph.replaceConstant(
                id, {.owner = owner,
                     .bytes = {reinterpret_cast<const uint8_t*>(owner->data()), bytes.size()},
                     .shared = mChoices.oneIn(2)});
    }

    void changeConstant() {
        for (int tries = 0; tries < 4 && !mGraph.tensors().empty(); ++tries) {
            const TensorId id = anyTensor();
            const engine::Tensor& tensor = mGraph.tensor(id);
            if (!tensor.isConstant() || tensor.constant.bytes.empty()) {
                continue;
            }
            std::vector<uint8_t> bytes(tensor.constant.bytes.begin(), tensor.constant.bytes.end());
            const size_t width = std::min(engine::elementSize(tensor.type.type), bytes.size());
            const size_t at = mChoices.below(bytes.size() / width) * width;
            const int32_t whole = number();
            const float value = real();
            const bool isFloat = tensor.type.type == DataType::FLOAT32;
            std::memcpy(bytes.data() + at, isFloat ? static_cast<const void*>(&value) : &whole,
                        width);
            setConstant(id, std::move(bytes));
            return;
        }
    }

    // Gives a constant what another one holds, or a part of it, perhaps as other rows:
    // shareConstants() then lets them lie in the same memory.
    void repeatConstant() {
        std::vector<TensorId> constants;
        for (TensorId id = 0; id < mGraph.tensors().size(); ++id) {
            if (mGraph.tensor(id).isConstant() && !mGraph.tensor(id).constant.bytes.empty()) {
                constants.push_back(id);
            }
        }
        if (constants.size() < 2) {
            return;
        }
        const TensorId from = constants[mChoices.below(constants.size())];
        const TensorId to = constants[mChoices.below(constants.size())];
        Shape& shape = mGraph.mutableTensor(to).type.shape;
        if (mChoices.oneIn(3) && shape.hasKnownRank() && shape.rank() > 1) {
            std::swap(shape[0], shape[shape.rank() - 1]);
        }
        const std::span<const uint8_t> source = mGraph.tensor(from).constant.bytes;
        const size_t width = engine::elementSize(mGraph.tensor(to).type.type);
        const size_t most = std::min<size_t>(source.size(), 8 * width);
        const size_t begin = mChoices.oneIn(2) ? 0 : mChoices.below(most) / width * width;
        std::vector<uint8_t> bytes(mGraph.tensor(to).constant.bytes.size());
        for (size_t i = 0; i < bytes.size(); ++i) {
            bytes[i] = source[(begin + i) % source.size()];
        }
        setConstant(to, std::move(bytes));
    }

    // As many bytes as the type says, so that what was changed gets beyond the first checks.
    void repairConstants() {
        for (TensorId id = 0; id < mGraph.tensors().size(); ++id) {
            const engine::Tensor& tensor = mGraph.tensor(id);
            const Result<size_t> size = tensor.type.byteSize();
            if (!tensor.isConstant() || !size.ok() || *size > kMostConstantBytes ||
                *size == tensor.constant.bytes.size()) {
                continue;
            }
            const std::span<const uint8_t> before = tensor.constant.bytes;
            std::vector<uint8_t> bytes(*size);
            for (size_t i = 0; !before.empty() && i < bytes.size(); ++i) {
                bytes[i] = before[i % before.size()];
            }
            setConstant(id, std::move(bytes));
        }
    }

    // ---- What hangs together --------------------------------------------------------------------

    void changeList(std::vector<TensorId>& ids) {
        const size_t at = mChoices.below(ids.size());
        switch (mChoices.below(4)) {
            case 0:
                ids.push_back(mChoices.oneIn(4) ? engine::kNoTensor : anyTensor());
                break;
            case 1:
                if (!ids.empty()) {
                    ids.pop_back();
                }
                break;
            case 2:
                if (!ids.empty()) {
                    std::swap(ids[at], ids[mChoices.below(ids.size())]);
                }
                break;
            default:
                if (!ids.empty()) {
                    ids[at] = mChoices.oneIn(8) ? engine::kNoTensor : anyTensor();
                }
        }
    }

    void changeEnds() {
        if (!mGraph.nodes().empty()) {
            Node& node = mGraph.mutableNode(
                    static_cast<engine::NodeId>(mChoices.below(mGraph.nodes().size())));
            changeList(mChoices.oneIn(4) ? node.outputs : node.inputs);
        }
    }

    void changeBoundary() {
        const bool inputs = mChoices.oneIn(2);
        const std::span<const TensorId> before = inputs ? mGraph.inputs() : mGraph.outputs();
        std::vector<TensorId> ids(before.begin(), before.end());
        changeList(ids);
        if (inputs) {
            mGraph.setInputs(std::move(ids));
        } else {
            mGraph.setOutputs(std::move(ids));
        }
        if (mChoices.oneIn(8)) {
            mGraph.setRelaxedFloat(!mGraph.relaxedFloat());
        }
    }

    // A node once more at the end, which may read what the first one wrote.
    void repeatNode() {
        if (mGraph.nodes().empty() || mGraph.nodes().size() >= kMostNodes) {
            return;
        }
        Node again =
                mGraph.node(static_cast<engine::NodeId>(mChoices.below(mGraph.nodes().size())));
        std::vector<TensorId> outputs(mGraph.outputs().begin(), mGraph.outputs().end());
        for (TensorId& output : again.outputs) {
            if (output >= mGraph.tensors().size()) {
                return;
            }
            const TensorId first = output;
            output = mGraph.addTensor(mGraph.tensor(first).type);
            outputs.push_back(output);
            if (!again.inputs.empty() && mChoices.oneIn(2)) {
                again.inputs[mChoices.below(again.inputs.size())] = first;
            }
        }
        mGraph.addNode(std::move(again));
        mGraph.setOutputs(std::move(outputs));
    }

    Graph& mGraph;
    SeededChoices& mChoices;
    int mCountdown = 0;
};

// The part of a constant before it that holds the same bytes, as its elements are aligned.
std::optional<ConstantData> sameAs(const ConstantData& constant, size_t width,
                                   const std::vector<ConstantData>& places) {
    for (const ConstantData& place : places) {
        const std::span<const uint8_t> all = place.bytes;
        for (size_t at = 0; at + constant.bytes.size() <= all.size(); at += width) {
            const auto part = all.subspan(at, constant.bytes.size());
            if (std::ranges::equal(part, constant.bytes)) {
                return ConstantData{.owner = place.owner, .bytes = part, .shared = constant.shared};
            }
        }
    }
    return std::nullopt;
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as a graph that was read is nested
size_t share(Graph& graph, std::vector<ConstantData>& places) {
    size_t shared = 0;
    for (TensorId id = 0; id < graph.tensors().size(); ++id) {
        const engine::Tensor& tensor = graph.tensor(id);
        if (!tensor.isConstant() || tensor.constant.bytes.empty() ||
            tensor.constant.bytes.size() > kMostConstantBytes) {
            continue;
        }
        if (auto same = sameAs(tensor.constant, engine::elementSize(tensor.type.type), places)) {
            graph.replaceConstant(id, std::move(*same));
            ++shared;
        } else {
            places.push_back(tensor.constant);
        }
    }
    for (engine::NodeId id = 0; id < graph.nodes().size(); ++id) {
        for (engine::NestedGraph* nested : engine::nestedGraphs(graph.mutableNode(id))) {
            if (nested->graph != nullptr) {
                auto inside = std::make_shared<Graph>(*nested->graph);
                shared += share(*inside, places);
                nested->graph = std::move(inside);
            }
        }
    }
    return shared;
}

}  // namespace

void mutate(Graph& graph, SeededChoices& choices) {
    for (int times = 1 + choices.below(4); times > 0; --times) {
        Mutation(graph, choices).run();
    }
}

size_t shareConstants(Graph& graph) {
    std::vector<ConstantData> places;
    return share(graph, places);
}

}  // namespace halyard::fuzz
