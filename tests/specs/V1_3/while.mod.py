# SPDX-License-Identifier: Apache-2.0
# Doubles a value until it is not less than a bound; subgraphs are converted by name.

VALUE = ["TENSOR_FLOAT32", [1]]


def condition():
    value, bound = Input("value", VALUE), Input("bound", VALUE)
    go_on = Output("go_on", ["TENSOR_BOOL8", [1]])
    model = Model().IdentifyInputs(value, bound).IdentifyOutputs(go_on)
    return model.Operation("LESS", value, bound).To(go_on)


def body():
    value, bound, doubled = Input("value", VALUE), Input("bound", VALUE), Output("doubled", VALUE)
    model = Model().IdentifyInputs(value, bound).IdentifyOutputs(doubled)
    model.Operation("ADD", value, value, 0).To(doubled)
    return model, value, bound, doubled


HALF = ("TENSOR_FLOAT16",)
doubling, value, bound_inside, doubled = body()
less = condition()
first, bound = Input("first", VALUE), Input("bound", VALUE).ShouldNeverBeInternal()
last = Output("last", VALUE)
go_on, double = SubgraphReference("go_on", less), SubgraphReference("double", doubling)
Model("doubling").Operation("WHILE", go_on, double, first, bound).To(last)
halves = DataTypeConverter(name="halves").Identify(
    {
        go_on: DataTypeConverter("float16"),
        double: DataTypeConverter().Identify({value: HALF, bound_inside: HALF, doubled: HALF}),
        first: HALF,
        bound: HALF,
        last: HALF,
    }
)
# 3, 6, 12, 24; and none of them where the first is large enough.
Example({first: [3], bound: [20], last: [24]}, {first: [5], bound: [5], last: [5]}).AddVariations(
    "relaxed", halves
)
