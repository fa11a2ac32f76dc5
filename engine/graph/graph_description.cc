// SPDX-License-Identifier: Apache-2.0

#include "engine/graph/graph_description.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "engine/base/byte_format.h"
#include "engine/base/checked_math.h"
#include "engine/graph/verifier.h"

namespace halyard::engine {
namespace {

constexpr int8_t kUnknownRank = -1;

// Bytes that a tensor, and a node, without anything is written as. Vectors that grow as they are
// read have had up to three times their room when they are whole.
constexpr size_t kLeastTensor = 27;
constexpr size_t kLeastNode = 27;

// How a tensor's constant elements are stored.
enum class Elements : uint8_t {
    NONE,        // it is none
    THERE,       // offset and size in the block follow
    IDENTIFIED,  // and then its id
    PACKED_AWAY  // its id follows
};

// The type tag behind a field's name, so that a field that changed its type is noticed.
enum class Tag : uint8_t { BOOL, INT32, FLOAT, DOUBLE, ENUMERATOR, FIELDS, GRAPH };

template <typename T>
constexpr Tag tagOf() {
    if constexpr (std::is_same_v<T, bool>) {
        return Tag::BOOL;
    } else if constexpr (std::is_same_v<T, int32_t>) {
        return Tag::INT32;
    } else if constexpr (std::is_same_v<T, float>) {
        return Tag::FLOAT;
    } else if constexpr (std::is_same_v<T, double>) {
        return Tag::DOUBLE;
    } else if constexpr (std::is_enum_v<T>) {
        return Tag::ENUMERATOR;
    } else if constexpr (std::is_same_v<T, NestedGraph>) {
        return Tag::GRAPH;
    } else {
        static_assert(WithFields<T>);
        return Tag::FIELDS;
    }
}

size_t alignUp(size_t size) {
    return (size + kConstantAlignment - 1) & ~(kConstantAlignment - 1);
}

// Writes the description, and lists the constants, each once wherever it is read.
class Writer {
  public:
    explicit Writer(ConstantIds ids) : mIds(ids) {}

    SerializedGraph write(const Graph& graph) {
        writeGraph(graph);
        return {.description = mBytes.take(), .block = std::move(mBlock)};
    }

  private:
    void writeGraph(const Graph& graph) {
        mBytes.putFlag(graph.relaxedFloat());
        mBytes.putCount(graph.tensors().size());
        for (const Tensor& tensor : graph.tensors()) {
            writeTensor(tensor);
        }
        mBytes.putCount(graph.nodes().size());
        for (const Node& node : graph.nodes()) {
            writeNode(node);
        }
        mBytes.putList<uint32_t>(graph.inputs());
        mBytes.putList<uint32_t>(graph.outputs());
        mBytes.putCount(graph.vanished().size());
        for (const VanishedOperation& vanished : graph.vanished()) {
            mBytes.put(vanished.operation);
            mBytes.putText(vanished.fate);
        }
        writeNames(graph);
    }

    // Most tensors have none.
    void writeNames(const Graph& graph) {
        const auto isNamed = [](const Tensor& tensor) { return !tensor.name.empty(); };
        mBytes.putCount(static_cast<size_t>(std::ranges::count_if(graph.tensors(), isNamed)));
        for (TensorId id = 0; id < graph.tensors().size(); ++id) {
            if (isNamed(graph.tensor(id))) {
                mBytes.put(id);
                mBytes.putText(graph.tensor(id).name);
            }
        }
    }

    void writeTensor(const Tensor& tensor) {
        mBytes.putText(nameOfEnumerator(tensor.type.type));
        const Shape& shape = tensor.type.shape;
        mBytes.put(shape.hasKnownRank() ? static_cast<int8_t>(shape.rank()) : kUnknownRank);
        for (const int32_t extent : shape.extents()) {
            mBytes.put(extent);
        }
        const Quantization& quantization = tensor.type.quantization;
        mBytes.put(quantization.scale);
        mBytes.put(quantization.zeroPoint);
        mBytes.put(quantization.channelDim);
        mBytes.putList(
                std::span(quantization.channelScales.begin(), quantization.channelScales.size()));
        writeConstant(tensor);
    }

    void writeConstant(const Tensor& tensor) {
        const ConstantData& constant = tensor.constant;
        const bool identified = mIds == ConstantIds::KEEP && constant.id != ConstantId::NONE;
        const Elements elements = tensor.isPackedAway()  ? Elements::PACKED_AWAY
                                  : !tensor.isConstant() ? Elements::NONE
                                  : identified           ? Elements::IDENTIFIED
                                                         : Elements::THERE;
        mBytes.put(static_cast<uint8_t>(elements));
        if (elements == Elements::THERE || elements == Elements::IDENTIFIED) {
            mBytes.put(static_cast<uint64_t>(placeOf(constant.bytes)));
            mBytes.put(static_cast<uint64_t>(constant.bytes.size()));
        }
        if (elements == Elements::IDENTIFIED || elements == Elements::PACKED_AWAY) {
            mBytes.put(static_cast<uint32_t>(constant.id));
        }
    }

    // In the block.
    size_t placeOf(std::span<const uint8_t> bytes) {
        const auto [place, isNew] =
                mPlaces.emplace(std::pair(bytes.data(), bytes.size()), alignUp(mBlock.size()));
        if (isNew) {
            mBlock.alignTo(kConstantAlignment);
            mBlock.addView(bytes);
        }
        return place->second;
    }

    void writeNode(const Node& node) {
        mBytes.putText(toString(node.kind()));
        std::visit(
                [&]<typename Descriptor>(const Descriptor& descriptor) {
                    if constexpr (!std::is_same_v<Descriptor, std::monostate>) {
                        putValue(descriptor);
                    }
                },
                node.descriptor);
        mBytes.putList<uint32_t>(node.inputs);
        mBytes.putList<uint32_t>(node.outputs);
        mBytes.putText(node.label);
        mBytes.putList<uint32_t>(node.sources);
    }

    template <typename T>
    void putValue(const T& value) {
        mBytes.put(static_cast<uint8_t>(tagOf<T>()));
        if constexpr (std::is_same_v<T, bool>) {
            mBytes.putFlag(value);
        } else if constexpr (std::is_enum_v<T>) {
            mBytes.putText(nameOfEnumerator(value));
        } else if constexpr (std::is_same_v<T, NestedGraph>) {
            mBytes.putFlag(value.graph != nullptr);
            if (value.graph != nullptr) {
                writeGraph(*value.graph);
            }
        } else if constexpr (WithFields<T>) {
            mBytes.putCount(std::tuple_size_v<decltype(value.fields())>);
            forEachField(value, [&](std::string_view name, const auto& field) {
                mBytes.putText(name);
                putValue(field);
            });
        } else {
            mBytes.put(value);
        }
    }

    const ConstantIds mIds;
    ByteWriter mBytes;
    ByteParts mBlock;
    std::map<std::pair<const uint8_t*, size_t>, size_t> mPlaces;
};

std::optional<NodeDescriptor> descriptorNamed(std::string_view kind) {
#define HALYARD_NODE_KIND(Descriptor) \
    if (kind == #Descriptor) {        \
        return Descriptor();          \
    }
#include "engine/graph/node_kinds.inc"
#undef HALYARD_NODE_KIND
    return std::nullopt;
}

class Reader {
  public:
    Reader(std::span<const uint8_t> description, const ConstantData& block)
        : mBytes(description, "the graph"), mBlock(block) {}

    Result<Graph> read() {
        Graph graph;
        HALYARD_RETURN_IF_ERROR(readGraph(graph, 0));
        HALYARD_RETURN_IF_ERROR(mBytes.finish());
        return graph;
    }

  private:
    template <typename E>
    Status getEnumerator(E& value) {
        HALYARD_ASSIGN_OR_RETURN(const std::string_view name, mBytes.getText());
        const std::optional<E> found = enumeratorNamed<E>(name);
        if (!found.has_value()) {
            return unsupported("'" + std::string(name) + "' is not known");
        }
        value = *found;
        return {};
    }

    Status readGraph(Graph& graph, size_t depth) {
        if (depth > kMaxNesting) {
            return unsupported("graphs are nested more than " + std::to_string(kMaxNesting) +
                               " deep");
        }
        bool relaxed = false;
        HALYARD_RETURN_IF_ERROR(mBytes.getFlag(relaxed));
        graph.setRelaxedFloat(relaxed);
        HALYARD_ASSIGN_OR_RETURN(const size_t tensors, mBytes.getCount());
        graph.reserve(mBytes.roomFor(tensors, kLeastTensor), 0);
        for (size_t i = 0; i < tensors; ++i) {
            HALYARD_RETURN_IF_ERROR(readTensor(graph).withContext("tensor " + std::to_string(i)));
        }
        HALYARD_ASSIGN_OR_RETURN(const size_t nodes, mBytes.getCount());
        graph.reserve(0, mBytes.roomFor(nodes, kLeastNode));
        for (size_t i = 0; i < nodes; ++i) {
            HALYARD_RETURN_IF_ERROR(
                    readNode(graph, depth).withContext("node " + std::to_string(i)));
        }
        std::vector<TensorId> ids;
        HALYARD_RETURN_IF_ERROR(mBytes.getList(ids));
        graph.setInputs(std::exchange(ids, {}));
        HALYARD_RETURN_IF_ERROR(mBytes.getList(ids));
        graph.setOutputs(std::move(ids));
        HALYARD_ASSIGN_OR_RETURN(const size_t vanished, mBytes.getCount());
        for (size_t i = 0; i < vanished; ++i) {
            VanishedOperation operation;
            HALYARD_RETURN_IF_ERROR(mBytes.get(operation.operation));
            HALYARD_RETURN_IF_ERROR(mBytes.getText(operation.fate));
            graph.addVanished(std::move(operation));
        }
        return readNames(graph);
    }

    Status readNames(Graph& graph) {
        HALYARD_ASSIGN_OR_RETURN(const size_t names, mBytes.getCount());
        for (size_t i = 0; i < names; ++i) {
            TensorId id = kNoTensor;
            HALYARD_RETURN_IF_ERROR(mBytes.get(id));
            HALYARD_ASSIGN_OR_RETURN(const std::string_view name, mBytes.getText());
            if (id >= graph.tensors().size()) {
                return invalidArgument("there is no tensor " + std::to_string(id) + " to be named");
            }
            graph.setName(id, std::string(name));
        }
        return {};
    }

    Status readTensor(Graph& graph) {
        TensorType type;
        HALYARD_RETURN_IF_ERROR(getEnumerator(type.type));
        HALYARD_RETURN_IF_ERROR(readShape(type.shape));
        Quantization& quantization = type.quantization;
        HALYARD_RETURN_IF_ERROR(mBytes.get(quantization.scale));
        HALYARD_RETURN_IF_ERROR(mBytes.get(quantization.zeroPoint));
        HALYARD_RETURN_IF_ERROR(mBytes.get(quantization.channelDim));
        std::vector<float> scales;
        HALYARD_RETURN_IF_ERROR(mBytes.getList(scales));
        quantization.channelScales = std::move(scales);
        uint8_t elements = 0;
        HALYARD_RETURN_IF_ERROR(mBytes.get(elements));
        switch (static_cast<Elements>(elements)) {
            case Elements::NONE:
                graph.addTensor(std::move(type));
                return {};
            case Elements::THERE:
            case Elements::IDENTIFIED:
                return readElements(graph, std::move(type),
                                    static_cast<Elements>(elements) == Elements::IDENTIFIED);
            case Elements::PACKED_AWAY: {
                HALYARD_ASSIGN_OR_RETURN(const ConstantId id, readId());
                graph.addPackedConstant(std::move(type), id);
                return {};
            }
        }
        return invalidArgument("a flag is " + std::to_string(elements));
    }

    Result<ConstantId> readId() {
        uint32_t id = 0;
        HALYARD_RETURN_IF_ERROR(mBytes.get(id));
        const auto constant = static_cast<ConstantId>(id);
        return constant != ConstantId::NONE ? Result<ConstantId>(constant)
                                            : invalidArgument("a constant has no identity");
    }

    Status readElements(Graph& graph, TensorType type, bool identified) {
        uint64_t offset = 0;
        uint64_t size = 0;
        HALYARD_RETURN_IF_ERROR(mBytes.get(offset));
        HALYARD_RETURN_IF_ERROR(mBytes.get(size));
        if (!rangeFits<uint64_t>(offset, size, mBlock.bytes.size()) ||
            offset % kConstantAlignment != 0) {
            return invalidArgument("the elements of a constant lie outside their block");
        }
        ConstantData constant = mBlock;
        constant.bytes =
                mBlock.bytes.subspan(static_cast<size_t>(offset), static_cast<size_t>(size));
        if (identified) {
            HALYARD_ASSIGN_OR_RETURN(constant.id, readId());
        }
        return graph.addConstant(std::move(type), std::move(constant)).status();
    }

    Status readShape(Shape& shape) {
        int8_t rank = 0;
        HALYARD_RETURN_IF_ERROR(mBytes.get(rank));
        if (rank == kUnknownRank) {
            shape = Shape::unknownRank();
            return {};
        }
        if (rank < 0 || rank > static_cast<int8_t>(kMaxRank)) {
            return unsupported("rank " + std::to_string(rank));
        }
        std::array<int32_t, kMaxRank> extents = {};
        for (int8_t axis = 0; axis < rank; ++axis) {
            HALYARD_RETURN_IF_ERROR(mBytes.get(extents[static_cast<size_t>(axis)]));
        }
        HALYARD_ASSIGN_OR_RETURN(
                shape,
                Shape::create(std::span<const int32_t>(extents).first(static_cast<size_t>(rank))));
        return {};
    }

    template <typename T>
    Status getValue(T& value, size_t depth) {
        uint8_t tag = 0;
        HALYARD_RETURN_IF_ERROR(mBytes.get(tag));
        if (tag != static_cast<uint8_t>(tagOf<T>())) {
            return unsupported("it has another type here");
        }
        if constexpr (std::is_same_v<T, bool>) {
            return mBytes.getFlag(value);
        } else if constexpr (std::is_enum_v<T>) {
            return getEnumerator(value);
        } else if constexpr (std::is_same_v<T, NestedGraph>) {
            return getNested(value, depth);
        } else if constexpr (WithFields<T>) {
            return getFields(value, depth);
        } else {
            return mBytes.get(value);
        }
    }

    Status getNested(NestedGraph& nested, size_t depth) {
        bool present = false;
        HALYARD_RETURN_IF_ERROR(mBytes.getFlag(present));
        if (present) {
            Graph graph;
            HALYARD_RETURN_IF_ERROR(readGraph(graph, depth + 1));
            nested.graph = std::make_shared<const Graph>(std::move(graph));
        }
        return {};
    }

    template <WithFields T>
    Status getFields(T& object, size_t depth) {
        HALYARD_ASSIGN_OR_RETURN(const size_t count, mBytes.getCount());
        for (size_t i = 0; i < count; ++i) {
            HALYARD_ASSIGN_OR_RETURN(const std::string_view wanted, mBytes.getText());
            bool found = false;
            Status status;
            forEachField(object, [&](std::string_view name, auto& field) {
                if (name == wanted) {
                    found = true;
                    status = getValue(field, depth).withContext(name);
                }
            });
            if (!found) {
                return unsupported("the field '" + std::string(wanted) + "' is not known");
            }
            HALYARD_RETURN_IF_ERROR(status);
        }
        return {};
    }

    Status readNode(Graph& graph, size_t depth) {
        HALYARD_ASSIGN_OR_RETURN(const std::string_view kind, mBytes.getText());
        std::optional<NodeDescriptor> descriptor = descriptorNamed(kind);
        if (!descriptor.has_value()) {
            return unsupported("the kind '" + std::string(kind) + "' is not known");
        }
        Node node;
        node.descriptor = *std::move(descriptor);
        const auto read = [&]<typename Descriptor>(Descriptor& fields) -> Status {
            if constexpr (std::is_same_v<Descriptor, std::monostate>) {
                return internalError("a kind without a descriptor");
            } else {
                return getValue(fields, depth);
            }
        };
        HALYARD_RETURN_IF_ERROR(std::visit(read, node.descriptor).withContext(kind));
        HALYARD_RETURN_IF_ERROR(mBytes.getList(node.inputs));
        HALYARD_RETURN_IF_ERROR(mBytes.getList(node.outputs));
        HALYARD_RETURN_IF_ERROR(mBytes.getText(node.label));
        HALYARD_RETURN_IF_ERROR(mBytes.getList(node.sources));
        graph.addNode(std::move(node));
        return {};
    }

    ByteReader mBytes;
    const ConstantData& mBlock;
};

}  // namespace

SerializedGraph describe(const Graph& graph, ConstantIds ids) {
    return Writer(ids).write(graph);
}

Result<Graph> deserialize(std::span<const uint8_t> description, const ConstantData& block) {
    if (reinterpret_cast<uintptr_t>(block.bytes.data()) % kConstantAlignment != 0) {
        return invalidArgument("the block of constants does not lie at a multiple of " +
                               std::to_string(kConstantAlignment));
    }
    return Reader(description, block).read();
}

}  // namespace halyard::engine
