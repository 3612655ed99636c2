// Class 5 of refused models: graphs that break ONNX's rules.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/support/hostile.h"

namespace onnx_cudnn {
namespace {

using Proto = onnx::TensorProto;
using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::NodeProto;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kUnimplemented = absl::StatusCode::kUnimplemented;

// x f32[1,4,8,8] and w f32[4,4,3,3] → op → y; `change` edits the node.
auto Window(const std::string& op, std::function<void(NodeProto&)> change) {
  return EmptyGraph([=](GraphProto& g) {
    AddInput(g, "x", {1, 4, 8, 8});
    AddFloats(g, "w", {4, 4, 3, 3});
    Names inputs = {"x"};
    if (op.starts_with("Conv")) inputs.push_back("w");
    change(AddNode(g, op, inputs, {"y"}));
    AddOutput(g, "y");
  });
}

auto WindowInts(const std::string& op, const std::string& attribute, std::vector<int64_t> values) {
  return Window(op, [=](NodeProto& n) {
    if (op != "Conv" && attribute != "kernel_shape") SetInts(n, "kernel_shape", {3, 3});
    SetInts(n, attribute, values);
  });
}

// x f32[2,3,4], then `ints` as further inputs → op → y.
auto Op(
    const std::string& op, std::vector<std::vector<int64_t>> ints = {},
    std::function<void(NodeProto&)> change = [](NodeProto&) {}) {
  return EmptyGraph([=](GraphProto& g) {
    AddInput(g, "x", {2, 3, 4});
    Names inputs = {"x"};
    for (const std::vector<int64_t>& values : ints) {
      inputs.push_back(absl::StrCat("i", inputs.size()));
      AddInts(g, inputs.back(), values);
    }
    change(AddNode(g, op, inputs, {"y"}));
    AddOutput(g, "y");
  });
}

auto Axis(int64_t axis) {
  return [=](NodeProto& n) { SetInt(n, "axis", axis); };
}

auto Equation(const std::string& text) {
  return [=](NodeProto& n) { AddAttribute(n, "equation", AttributeProto::STRING).set_s(text); };
}

auto Binary(const std::string& op, std::vector<int64_t> a, std::vector<int64_t> b,
            int b_type = Proto::FLOAT) {
  return EmptyGraph([=](GraphProto& g) {
    AddInput(g, "a", a);
    AddInput(g, "b", b, b_type);
    AddNode(g, op, {"a", "b"}, {"y"});
    AddOutput(g, "y");
  });
}

// The Relu model with its node edited.
auto Relu(std::function<void(NodeProto&)> change) {
  return Model([=](onnx::ModelProto& m) { change(*m.mutable_graph()->mutable_node(0)); });
}
auto ReluGraph(std::function<void(GraphProto&)> change) {
  return Model([=](onnx::ModelProto& m) { change(*m.mutable_graph()); });
}

// Inputs x f32[1,4] and c bool[]; an If with bodies filled by the callback.
auto If(std::function<void(GraphProto& then_branch, GraphProto& else_branch)> fill) {
  return EmptyGraph([=](GraphProto& g) {
    AddInput(g, "x", {1, 4});
    AddInput(g, "c", {}, Proto::BOOL);
    NodeProto& node = AddNode(g, "If", {"c"}, {"y"});
    GraphProto then_branch, else_branch;
    fill(then_branch, else_branch);
    SetGraph(node, "then_branch") = then_branch;
    SetGraph(node, "else_branch") = else_branch;
    AddOutput(g, "y");
  });
}

void Body(GraphProto& g, const std::string& input, const std::string& output) {
  AddNode(g, "Relu", {input}, {output});
  AddOutput(g, output);
}

const HostileCase kNameCases[] = {
    {"InitializerTwice", ReluGraph([](GraphProto& g) {
       AddFloats(g, "w", {1});
       AddFloats(g, "w", {1});
     }),
     kInvalid, "\"w\" is defined twice"},
    {"InputTwice", ReluGraph([](GraphProto& g) { AddInput(g, "x", {1}); }), kInvalid,
     "\"x\" is defined twice"},
    {"DefaultTwice", ReluGraph([](GraphProto& g) {
       AddFloats(g, "x", {1, 4});
       AddFloats(g, "x", {1, 4});
     }),
     kInvalid, "\"x\" is defined twice"},
    {"ResultTwice", ReluGraph([](GraphProto& g) { AddNode(g, "Abs", {"x"}, {"y"}); }), kInvalid,
     "\"y\" is defined twice"},
    {"ResultIsAnInput", ReluGraph([](GraphProto& g) { AddNode(g, "Abs", {"y"}, {"x"}); }), kInvalid,
     "\"x\" is defined twice"},
    {"OutputTwice", ReluGraph([](GraphProto& g) { AddOutput(g, "y"); }), kInvalid,
     "output \"y\" is given twice"},
    {"InputUndefined", Relu([](NodeProto& n) { n.set_input(0, "none"); }), kInvalid,
     "node \"n1\" (Relu): reads \"none\", which nothing defines"},
    {"OutputUndefined", ReluGraph([](GraphProto& g) { AddOutput(g, "none"); }), kInvalid,
     "\"none\" is defined by nothing"},
    {"OutputUnnamed", ReluGraph([](GraphProto& g) { AddOutput(g, ""); }), kInvalid,
     "defined by nothing"},
    {"InputUnnamed", ReluGraph([](GraphProto& g) { AddInput(g, "", {1}); }), kInvalid, "no name"},
    {"InitializerUnnamed", ReluGraph([](GraphProto& g) { AddFloats(g, "", {1}); }), kInvalid,
     "no name"},
    {"CycleOfOne", Relu([](NodeProto& n) { n.set_input(0, "y"); }), kInvalid, "a cycle"},
    {"CycleOfTwo", ReluGraph([](GraphProto& g) {
       g.mutable_node(0)->set_input(0, "z");
       AddNode(g, "Abs", {"y"}, {"z"});
     }),
     kInvalid, "a cycle"},
    {"CycleThroughABody", ReluGraph([](GraphProto& g) {
       AddInput(g, "c", {}, Proto::BOOL);
       NodeProto& node = AddNode(g, "If", {"c"}, {"z"});
       Body(SetGraph(node, "then_branch"), "z", "t");
       Body(SetGraph(node, "else_branch"), "x", "e");
     }),
     kInvalid, "a cycle"},
    {"UnsortedIsSorted", EmptyGraph([](GraphProto& g) {
       AddInput(g, "x", {1});
       AddNode(g, "Abs", {"a"}, {"b"});
       AddNode(g, "Relu", {"x"}, {"a"});
       AddOutput(g, "b");
     }),
     absl::StatusCode::kOk},
    {"InputWithoutType", ReluGraph([](GraphProto& g) { g.mutable_input(0)->clear_type(); }),
     kInvalid, "input \"x\" has no type"},
    {"InputOfSequencesOfNoType", EmptyGraph([](GraphProto& g) {
       g.add_input()->set_name("s");
       g.mutable_input(0)->mutable_type()->mutable_sequence_type()->mutable_elem_type();
       AddInput(g, "i", {});
       AddNode(g, "SequenceAt", {"s", "i"}, {"y"});
       AddOutput(g, "y");
     }),
     kInvalid, "input \"s\" has no type"},
    {"ElementOfATensor", EmptyGraph([](GraphProto& g) {
       AddInput(g, "x", {2});
       AddInput(g, "i", {}, Proto::INT64);
       AddNode(g, "SequenceAt", {"x", "i"}, {"y"});
       AddOutput(g, "y");
     }),
     kInvalid, "input 0: expected a sequence, found f32[2]"},
    {"InputOfUnknownType", ReluGraph([](GraphProto& g) {
       g.mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(77);
     }),
     kInvalid, "77"},
    {"InputOfNegativeDim", ReluGraph([](GraphProto& g) { AddInput(g, "z", {-5}); }), kInvalid,
     "an extent is -5"},
    {"InputBeyondMemory", ReluGraph([](GraphProto& g) {
       AddInput(g, "z", {int64_t{1} << 40, int64_t{1} << 40});
     }),
     kInvalid, "more elements than memory can"},
    {"OutputOfOtherType", ReluGraph([](GraphProto& g) {
       AddTensorInfo(g.mutable_output(0), "y", Proto::INT64, {1, 4});
     }),
     kInvalid, "is declared i64[1,4], and is f32[1,4]"},
};

const HostileCase kNodeCases[] = {
    {"TooManyInputs", Relu([](NodeProto& n) { n.add_input("x"); }), kInvalid, "2 inputs"},
    {"TooFewInputs", Relu([](NodeProto& n) { n.clear_input(); }), kInvalid, "0 inputs"},
    {"RequiredInputAbsent", Relu([](NodeProto& n) { n.set_input(0, ""); }), kInvalid, "is missing"},
    {"TooManyOutputs", Relu([](NodeProto& n) { n.add_output("z"); }), kInvalid, "2 outputs"},
    {"NoOutputs", ReluGraph([](GraphProto& g) { AddNode(g, "Abs", {"x"}, {}); }), kInvalid,
     "0 outputs"},
    {"ManyInputs", ReluGraph([](GraphProto& g) { AddNode(g, "Abs", Names(100'000, "x"), {"z"}); }),
     kInvalid, "100000 inputs"},
    {"OpUnnamed", Relu([](NodeProto& n) { n.clear_op_type(); }), kInvalid, "no such op"},
    {"AttributeUnknown", Relu([](NodeProto& n) { SetInt(n, "slope", 1); }), kInvalid, "\"slope\""},
    {"AttributeTwice",
     Op("Softmax", {},
        [](NodeProto& n) {
          SetInt(n, "axis", 0);
          SetInt(n, "axis", 1);
        }),
     kInvalid, "attribute \"axis\" is given twice"},
    {"AttributeOfOtherType", Op("Softmax", {}, [](NodeProto& n) { SetInts(n, "axis", {1}); }),
     kInvalid, "attribute \"axis\""},
    {"AttributeHoldsOtherType",
     Op("Softmax", {}, [](NodeProto& n) { AddAttribute(n, "axis", AttributeProto::INT).set_f(1); }),
     kInvalid, "is of type INT and holds FLOAT"},
    {"AttributeWithoutType",
     Op("Softmax", {},
        [](NodeProto& n) { AddAttribute(n, "axis", AttributeProto::UNDEFINED).set_i(1); }),
     kInvalid, "has no type"},
    {"AttributeMissing", Op("Cast"), kInvalid, "\"to\" is missing"},
    {"AttributeOfAFunction",
     Op("Softmax", {},
        [](NodeProto& n) {
          AddAttribute(n, "axis", AttributeProto::INT).set_ref_attr_name("axis");
        }),
     kInvalid, "refers to an attribute of a function"},
    {"GraphsAttribute",
     Relu([](NodeProto& n) { AddAttribute(n, "bodies", AttributeProto::GRAPHS).add_graphs(); }),
     kUnimplemented, "GRAPHS"},
    {"StrideZero", WindowInts("Conv", "strides", {1, 0}), kInvalid, "strides holds 0, at least 1"},
    {"StrideNegative", WindowInts("MaxPool", "strides", {-1, 1}), kInvalid, "strides holds -1"},
    {"DilationZero", WindowInts("Conv", "dilations", {0, 1}), kInvalid, "dilations holds 0"},
    {"KernelZero", WindowInts("AveragePool", "kernel_shape", {0, 3}), kInvalid,
     "kernel_shape holds 0"},
    {"GroupZero", Window("Conv", [](NodeProto& n) { SetInt(n, "group", 0); }), kInvalid,
     "group holds 0"},
    {"GroupNegative", Window("ConvTranspose", [](NodeProto& n) { SetInt(n, "group", -4); }),
     kInvalid, "group holds -4"},
    {"PadsNegative", WindowInts("Conv", "pads", {0, 0, -9, 0}), kInvalid, "pads holds -9"},
    {"PadsLeast", WindowInts("MaxPool", "pads", {INT64_MIN, 0, 0, 0}), kInvalid, "pads holds"},
    {"StridesTooFew", WindowInts("Conv", "strides", {1}), kInvalid,
     "strides has 1 elements, 2 are expected"},
    {"DilationsTooMany", WindowInts("Conv", "dilations", {1, 1, 1}), kInvalid,
     "dilations has 3 elements"},
    {"PadsTooFew", WindowInts("MaxPool", "pads", {1, 1}), kInvalid,
     "pads has 2 elements, 4 are expected"},
    {"BlockSizeZero", Window("DepthToSpace", [](NodeProto& n) { SetInt(n, "blocksize", 0); }),
     kInvalid, "blocksize holds 0"},
    {"CropBeyondTheExtent", Op("Pad", {{0, -2, 0, 0, -2, 0}}), kInvalid,
     "pads -2 and -2 on axis 1 of f32[2,3,4]"},
    {"CropOverflows", Op("Pad", {{0, INT64_MIN, 0, 0, INT64_MIN, 0}}), kInvalid, "on axis 1"},
    {"PadOverflows", Op("Pad", {{0, INT64_MAX, 0, 0, INT64_MAX, 0}}), kInvalid, "on axis 1"},
    {"PadsOfOtherRank", Op("Pad", {{0, 0, 0, 0}}), kInvalid, "has 4 pads, 6 are expected"},
    {"AxisBeyondTheRank", Op("Softmax", {}, Axis(3)), kInvalid, "axis is 3, -3 to 2 are expected"},
    {"AxisBelowTheRank", Op("Concat", {}, Axis(-4)), kInvalid, "axis is -4"},
    {"AxisLeast", Op("ArgMax", {}, Axis(INT64_MIN)), kInvalid, "axis is"},
    {"AxisOfGather", Op("Gather", {{0}}, Axis(7)), kInvalid, "axis is 7"},
    {"AxisOfFlatten", Op("Flatten", {}, Axis(4)), kInvalid, "axis is 4, -3 to 3 are expected"},
    {"AxisOfFlattenAtTheEnd", Op("Flatten", {}, Axis(3)), absl::StatusCode::kOk},
    {"AxesOfReduce", Op("ReduceMean", {{5}}), kInvalid, "(ReduceMean)"},
    {"AxesOfSqueeze", Op("Squeeze", {{-9}}), kInvalid, "(Squeeze)"},
    {"AxesOfUnsqueeze", Op("Unsqueeze", {{0, 0}}), kInvalid, "(Unsqueeze)"},
    {"PermNotAPermutation",
     Op("Transpose", {},
        [](NodeProto& n) {
          SetInts(n, "perm", {0, 0, 1});
        }),
     kInvalid, "(Transpose)"},
    {"PermOutOfRange",
     Op("Transpose", {},
        [](NodeProto& n) {
          SetInts(n, "perm", {0, 1, 900});
        }),
     kInvalid, "(Transpose)"},
    {"PermTooShort",
     Op("Transpose", {},
        [](NodeProto& n) {
          SetInts(n, "perm", {1, 0});
        }),
     kInvalid, "(Transpose)"},
    {"ReshapeToTwoUnknowns", Op("Reshape", {{-1, -1}}), kInvalid, "(Reshape)"},
    {"ReshapeToOtherCount", Op("Reshape", {{-1, 5}}), kInvalid, "(Reshape)"},
    {"ReshapeBeyondMemory", Op("Reshape", {{int64_t{1} << 40, int64_t{1} << 40}}), kInvalid,
     "(Reshape)"},
    {"ExpandBeyondMemory", Op("Expand", {{int64_t{1} << 40, int64_t{1} << 40, 1, 1, 1}}), kInvalid,
     "(Expand)"},
    {"TileBeyondMemory", Op("Tile", {{INT64_MAX, 2, 2}}), kInvalid, "(Tile)"},
    {"TileNegative", Op("Tile", {{-1, 1, 1}}), kInvalid, "(Tile)"},
    {"CastToNothing", Op("Cast", {}, [](NodeProto& n) { SetInt(n, "to", 99); }), kInvalid,
     "(Cast)"},
    {"CastTo6Bits", Op("Cast", {}, [](NodeProto& n) { SetInt(n, "to", Proto::FLOAT6E3M2); }),
     kUnimplemented, "6-bit"},
    {"SplitOfOtherSum", Op("Split", {{1, 9}}, Axis(2)), kInvalid, "(Split)"},
    {"MatMulOfOtherDims", Binary("MatMul", {2, 3}, {4, 5}), kInvalid, "(MatMul)"},
    {"AddOfOtherDims", Binary("Add", {2, 3}, {2, 4}), kInvalid, "(Add)"},
    {"AddOfOtherTypes", Binary("Add", {2}, {2}, Proto::INT64), kInvalid, "(Add)"},
    {"EinsumOfSpaces", Op("Einsum", {}, Equation(" i j k -> k ")), absl::StatusCode::kOk},
    {"EinsumOfDots", Op("Einsum", {}, Equation(std::string(100'000, '.'))), kInvalid, "(Einsum)"},
    {"EinsumOfOneDot", Op("Einsum", {}, Equation("ij.")), kInvalid, "(Einsum)"},
    {"EinsumOfDigits", Op("Einsum", {}, Equation("1jk->k")), kInvalid, "(Einsum)"},
    {"EinsumOfTwoEllipses", Op("Einsum", {}, Equation("...i...->i")), kInvalid, "(Einsum)"},
    {"EinsumOfOtherRank", Op("Einsum", {}, Equation("ij->i")), kInvalid, "(Einsum)"},
    {"ConstantWithoutValue", ReluGraph([](GraphProto& g) { AddNode(g, "Constant", {}, {"z"}); }),
     kInvalid, "has 0 attributes"},
    {"ConstantWithTwoValues", ReluGraph([](GraphProto& g) {
       NodeProto& node = AddNode(g, "Constant", {}, {"z"});
       SetInt(node, "value_int", 1);
       SetInts(node, "value_ints", {1});
     }),
     kInvalid, "has 2 attributes"},
    {"ConstantWithInput",
     ReluGraph([](GraphProto& g) { SetInt(AddNode(g, "Constant", {"x"}, {"z"}), "value_int", 1); }),
     kInvalid, "a Constant has no input"},
    {"ConstantOfOtherType",
     ReluGraph([](GraphProto& g) { SetInt(AddNode(g, "Constant", {}, {"z"}), "value_float", 1); }),
     kInvalid, "not a value of a Constant"},
};

const HostileCase kBodyCases[] = {
    {"Valid", If([](GraphProto& t, GraphProto& e) {
       Body(t, "x", "t");
       Body(e, "x", "e");
     }),
     absl::StatusCode::kOk},
    {"ReadsUndefined", If([](GraphProto& t, GraphProto& e) {
       Body(t, "x", "t");
       Body(e, "none", "e");
     }),
     kInvalid, "(If): reads \"none\", which nothing defines"},
    {"ReadsTheOtherBody", If([](GraphProto& t, GraphProto& e) {
       Body(t, "x", "t");
       Body(e, "t", "e");
     }),
     kInvalid, "reads \"t\", which nothing defines"},
    {"OtherNumberOfOutputs", If([](GraphProto& t, GraphProto& e) {
       Body(t, "x", "t");
       Body(e, "x", "e");
       AddOutput(e, "e");
     }),
     kInvalid, "(If)"},
    {"OtherTypeOfOutputs", If([](GraphProto& t, GraphProto& e) {
       Body(t, "x", "t");
       AddInts(e, "e", {1});
       AddOutput(e, "e");
     }),
     kInvalid, "(If)"},
    {"InputsOfIf", If([](GraphProto& t, GraphProto& e) {
       AddInput(t, "i", {1});
       Body(t, "i", "t");
       Body(e, "x", "e");
     }),
     kInvalid, "(If)"},
    {"InputWithInitializer", If([](GraphProto& t, GraphProto& e) {
       AddInput(t, "i", {1});
       AddFloats(t, "i", {1});
       Body(t, "i", "t");
       Body(e, "x", "e");
     }),
     kInvalid, "\"i\" is defined twice"},
    {"BodyMissing", ReluGraph([](GraphProto& g) {
       AddInput(g, "c", {}, Proto::BOOL);
       Body(SetGraph(AddNode(g, "If", {"c"}, {"z"}), "then_branch"), "x", "t");
     }),
     kInvalid, "\"else_branch\" is missing"},
    {"BodyEmpty", ReluGraph([](GraphProto& g) {
       AddInput(g, "c", {}, Proto::BOOL);
       NodeProto& node = AddNode(g, "If", {"c"}, {"z"});
       AddAttribute(node, "then_branch", AttributeProto::GRAPH);
       Body(SetGraph(node, "else_branch"), "x", "e");
     }),
     kInvalid, "holds no graph"},
    {"BodyOfAnotherOp", Relu([](NodeProto& n) { Body(SetGraph(n, "body"), "x", "t"); }), kInvalid,
     "\"body\""},
    {"InputsOfLoop", ReluGraph([](GraphProto& g) {
       AddInts(g, "trips", {3});
       Body(SetGraph(AddNode(g, "Loop", {"trips", "", "x"}, {"z"}), "body"), "x", "t");
     }),
     kInvalid, "(Loop)"},
    {"NoOutputsOfSequenceMap", ReluGraph([](GraphProto& g) {
       AddNode(g, "SequenceConstruct", {"x"}, {"s"});
       GraphProto& body = SetGraph(AddNode(g, "SequenceMap", {"s"}, {"z"}), "body");
       body.set_name("b");
       AddInput(body, "i", {1, 4});
     }),
     kInvalid, "body \"b\" has no outputs"},
};

HOSTILE_SUITE(HostileGraphTest)
INSTANTIATE_TEST_SUITE_P(Name, HostileGraphTest, testing::ValuesIn(kNameCases), NameOfHostile);
INSTANTIATE_TEST_SUITE_P(Node, HostileGraphTest, testing::ValuesIn(kNodeCases), NameOfHostile);
INSTANTIATE_TEST_SUITE_P(Body, HostileGraphTest, testing::ValuesIn(kBodyCases), NameOfHostile);

}  // namespace
}  // namespace onnx_cudnn
