// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/kernels/map.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/numerics/elements.h"

namespace halyard::engine::gpu {

namespace {

constexpr KernelFamily kMap = {.kernel = "map",
                               .shared = {kMapNumbersText},
                               .text = R"(

#if RANK > 0
typedef struct {
    int extent[RANK];
    int stride[OPERANDS][RANK];
} Walk;
#endif

__kernel __attribute__((reqd_work_group_size(128, 1, 1))) void map(
#ifdef A
        IN(pa),
#endif
#ifdef B
        IN(pb),
#endif
#ifdef C
        IN(pc),
#endif
#ifdef TABLE
        IN(table),
#endif
        OUT(pr),
#if RANK > 0
        const Walk walk,
#endif
        const MapNumbers n, const int count) {
    const int at = (int)get_global_id(0);
    if (at >= count) {
        return;
    }
    int index[OPERANDS];
#if RANK > 0
    for (int i = 0; i < OPERANDS; ++i) {
        index[i] = 0;
    }
    int rest = at;
    for (int axis = RANK - 1; axis >= 0; --axis) {
        const int outer = rest / walk.extent[axis];
        const int along = rest - outer * walk.extent[axis];
        rest = outer;
        for (int i = 0; i < OPERANDS; ++i) {
            index[i] += along * walk.stride[i][axis];
        }
    }
#else
    for (int i = 0; i < OPERANDS; ++i) {
        index[i] = at;
    }
#endif
    BIND_OUT(R, pr);
    VALUE(R) r;
#ifdef TABLE
    BIND_IN(TABLE, table);
#endif
#ifdef A
    BIND_IN(A, pa);
    const VALUE(A) a = LOAD(A, pa, index[0]);
#endif
#ifdef B
    BIND_IN(B, pb);
    const VALUE(B) b = LOAD(B, pb, index[1]);
#endif
#ifdef C
    BIND_IN(C, pc);
    const VALUE(C) c = LOAD(C, pc, index[2]);
#endif
    BODY
    STORE(R, pr, index[OPERANDS - 1], r);
}
)",
                               .local = {128, 1, 1}};

// An axis of the walk, with the strides of all operands.
struct Axis {
    int64_t extent = 1;
    std::vector<int64_t> strides;
};

// As few axes as walk over the same elements.
std::vector<Axis> axesOf(const Map& map) {
    std::vector<Axis> axes;
    for (size_t i = 0; i < map.extents.size(); ++i) {
        Axis axis = {.extent = map.extents[i], .strides = {}};
        if (axis.extent == 1) {
            continue;
        }
        for (const MapOperand& input : map.inputs) {
            axis.strides.push_back(input.strides[i]);
        }
        axis.strides.push_back(map.output.strides[i]);
        const auto continues = [&](const Axis& outer) {
            for (size_t k = 0; k < axis.strides.size(); ++k) {
                if (outer.strides[k] != axis.strides[k] * axis.extent) {
                    return false;
                }
            }
            return true;
        };
        if (!axes.empty() && continues(axes.back())) {
            axis.extent *= axes.back().extent;
            axes.back() = std::move(axis);
        } else {
            axes.push_back(std::move(axis));
        }
    }
    const bool isDense =
            axes.size() == 1 &&
            std::ranges::all_of(axes[0].strides, [](int64_t stride) { return stride == 1; });
    if (isDense) {
        axes.clear();
    }
    return axes;
}

}  // namespace

Extents extentsOf(const Shape& shape) {
    return {shape.extents().begin(), shape.extents().end()};
}

Extents denseStrides(const Extents& extents) {
    Extents strides(extents.size());
    int64_t stride = 1;
    for (size_t axis = extents.size(); axis-- > 0;) {
        strides[axis] = stride;
        stride *= extents[axis];
    }
    return strides;
}

Extents stridesAlong(const Strides& strides, size_t rank) {
    return {strides.begin(), strides.begin() + static_cast<ptrdiff_t>(rank)};
}

std::string_view storageOf(DataType type) {
    switch (type) {
        case DataType::FLOAT32:
            return "F32";
        case DataType::FLOAT16:
            return "F16";
        case DataType::INT32:
            return "I32";
        case DataType::BOOL8:
            return "B8";
        case DataType::QUANT8_ASYMM:
            return "U8";
        case DataType::QUANT8_ASYMM_SIGNED:
        case DataType::QUANT8_SYMM:
        case DataType::QUANT8_SYMM_PER_CHANNEL:
            return "S8";
        case DataType::QUANT16_SYMM:
            return "S16";
        case DataType::QUANT16_ASYMM:
            return "U16";
    }
    return "F32";
}

std::string_view movedStorageOf(DataType type) {
    switch (elementSize(type)) {
        case 1:
            return "U8";
        case 2:
            return "U16";
        default:
            return "I32";
    }
}

Status addMap(StepPlan& step, const Map& map) {
    int64_t count = 1;
    for (const int64_t extent : map.extents) {
        count *= extent;
    }
    if (count == 0) {
        return {};
    }
    const std::vector<Axis> axes = axesOf(map);
    const size_t operands = map.inputs.size() + 1;
    std::string defines;
    const auto define = [&defines](std::string_view name, std::string_view value) {
        defines.append("#define ").append(name).append(" ").append(value).append("\n");
    };
    constexpr std::array<std::string_view, 3> kNames = {"A", "B", "C"};
    for (size_t i = 0; i < map.inputs.size(); ++i) {
        define(kNames[i], map.inputs[i].storage);
    }
    define("R", map.output.storage);
    define("RANK", std::to_string(axes.size()));
    define("OPERANDS", std::to_string(operands));
    if (map.table.has_value()) {
        define("TABLE", map.tableStorage);
    }
    define("BODY", map.body);
    HALYARD_ASSIGN_OR_RETURN(Launch* const launch, step.launch(kMap, defines));
    for (const MapOperand& input : map.inputs) {
        launch->with(input.operand);
    }
    if (map.table.has_value()) {
        launch->with(*map.table);
    }
    launch->with(map.output.operand);
    if (!axes.empty()) {
        std::vector<int32_t> walk;
        for (const Axis& axis : axes) {
            walk.push_back(static_cast<int32_t>(axis.extent));
        }
        for (size_t k = 0; k < operands; ++k) {
            for (const Axis& axis : axes) {
                walk.push_back(static_cast<int32_t>(axis.strides[k]));
            }
        }
        launch->withAll(walk);
    }
    launch->with(map.numbers).with(static_cast<int32_t>(count));
    launch->workItems = {static_cast<size_t>(count), 1, 1};
    launch->work = static_cast<uint64_t>(count) * 8;
    return {};
}

}  // namespace halyard::engine::gpu
