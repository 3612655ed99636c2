#include "tests/support/padded.h"

#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "passes/build_program.h"
#include "runtime/exec/host_engine.h"
#include "runtime/graph/verify.h"
#include "runtime/import/expand_function.h"
#include "runtime/ops/evaluate.h"
#include "tests/support/graph_text.h"
#include "tests/support/run_program.h"

namespace onnx_cudnn {
namespace {

std::vector<Dims> DimsOf(const Graph& graph, const Numbers& numbers) {
  std::vector<Dims> dims;
  for (const Value* input : graph.inputs()) {
    Dims& of_input = dims.emplace_back();
    for (const Dim& dim : input->type().dims) {
      of_input.push_back(dim.value >= 0 ? dim.value : numbers.at(dim.symbol));
    }
  }
  return dims;
}

// Numbers in [0.25, 4.25), indices in [0, 3) and both bools.
HostTensor MakeInput(DType dtype, const Dims& dims, int seed) {
  HostTensor tensor = HostTensor::Allocate(dtype, dims);
  std::memset(tensor.mutable_raw(), 0, tensor.bytes());
  if (dtype == DType::kBool) {
    for (uint8_t& x : tensor.mutable_data<uint8_t>()) x = ++seed % 2;
  } else if (dtype == DType::kI64) {
    for (int64_t& x : tensor.mutable_data<int64_t>()) x = ++seed * 7 % 3;
  } else {
    for (float& x : tensor.mutable_data<float>()) {
      x = static_cast<float>(++seed * 7 % 17 + 1) / 4;
    }
  }
  return tensor;
}

// The elements of `from` whose indices are inside of `to`, or the other way round: the rest is 0.
void CopyPrefix(const HostTensor& from, HostTensor& to) {
  const size_t element = BitsOf(from.dtype()) / 8;
  Dims index(from.dims().size(), 0);
  const auto offset = [&](const Dims& dims) {
    int64_t at = 0;
    for (size_t i = 0; i < dims.size(); ++i) at = at * dims[i] + index[i];
    return at * element;
  };
  for (int64_t left = from.elements(); left > 0; --left) {
    bool is_in = true;
    for (size_t i = 0; i < index.size(); ++i) is_in &= index[i] < to.dims()[i];
    if (is_in) {
      std::memcpy(static_cast<char*>(to.mutable_raw()) + offset(to.dims()),
                  static_cast<const char*>(from.raw()) + offset(from.dims()), element);
    }
    for (size_t i = index.size(); i-- > 0;) {
      if (++index[i] < from.dims()[i]) break;
      index[i] = 0;
    }
  }
}

HostTensor Resized(const HostTensor& tensor, const Dims& dims) {
  HostTensor resized = HostTensor::Allocate(tensor.dtype(), dims);
  std::memset(resized.mutable_raw(), 0, resized.bytes());
  CopyPrefix(tensor, resized);
  return resized;
}

void ExpectClose(const HostTensor& want, const HostTensor& got, std::string_view what) {
  ASSERT_EQ(got.dims(), want.dims()) << what;
  if (want.dtype() != DType::kF32) {
    EXPECT_TRUE(SameContent(want, got)) << what;
    return;
  }
  for (int64_t i = 0; i < want.elements(); ++i) {
    const float x = want.data<float>()[i];
    EXPECT_NEAR(got.data<float>()[i], x, 1e-5 * (1 + std::fabs(x))) << what << " at " << i;
  }
}

std::vector<HostTensor> RunExactly(const Graph& graph, const std::vector<HostTensor>& inputs) {
  InputDims dims;
  for (size_t i = 0; i < inputs.size(); ++i) dims[graph.inputs()[i]->name()] = inputs[i].dims();
  const std::unique_ptr<Engine> host = MakeHostEngine(Space::kDevice);  // runs no functions of ONNX
  const Target target = TargetOf({host.get()});
  const absl::StatusOr<Graph> bound =
      BindShapes(graph, dims, {.functions = &kOnnxFunctions}, &target);
  EXPECT_TRUE(bound.ok()) << bound.status();
  const auto outputs = Evaluate(*bound, inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return *outputs;
}

std::vector<HostTensor> RunPadded(const PaddedGraph& padded, std::vector<HostTensor> inputs) {
  std::vector<Dims> dims;
  for (const HostTensor& input : inputs) dims.push_back(input.dims());
  const auto lengths = LengthsOf(padded, dims);
  EXPECT_TRUE(lengths.ok()) << lengths.status();
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs[i] = Resized(inputs[i], padded.graph.inputs()[i]->dims());
  }
  for (const int64_t length : *lengths) {
    inputs.push_back(HostTensor::Ints({length}).Reshaped({}));
  }
  std::vector<HostTensor> outputs = RunExactly(padded.graph, inputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    Dims extents;
    for (const Affine& extent : padded.output_extents[i]) extents.push_back(extent.At(*lengths));
    outputs[i] = Resized(outputs[i], extents);
  }
  return outputs;
}

}  // namespace

void ExpectPadded(std::string_view text, const std::vector<Numbers>& runs) {
  SCOPED_TRACE(text);
  const Graph graph = GraphFromText(text);
  const auto padded =
      PadLengths(graph, DimsOf(graph, runs[0]), kAllLengths, {.functions = &kOnnxFunctions});
  ASSERT_TRUE(padded.ok()) << padded.status();
  EXPECT_TRUE(Verify(padded->graph).ok()) << Verify(padded->graph);
  for (const Numbers& numbers : runs) {
    std::vector<HostTensor> inputs;
    const std::vector<Dims> dims = DimsOf(graph, numbers);
    for (size_t i = 0; i < dims.size(); ++i) {
      inputs.push_back(MakeInput(graph.inputs()[i]->dtype(), dims[i], static_cast<int>(i)));
    }
    const std::vector<HostTensor> want = RunExactly(graph, inputs),
                                  got = RunPadded(*padded, inputs);
    ASSERT_EQ(want.size(), got.size());
    for (size_t i = 0; i < want.size(); ++i) {
      ExpectClose(want[i], got[i], absl::StrCat("N ", numbers.at("N"), " output ", i));
    }
  }
}

void ExpectPaddedAfterNan(std::string_view body, std::string_view output) {
  ExpectPadded(absl::StrCat("g (float[3,N,4] x) => (", output,
                            ") <int64[1] one = {1}, int64[1] two = {2}> { q = Div(x, x) "
                            "a = Add(x, q) ",
                            body, " }"),
               {{{"N", 5}}, {{"N", 2}}, {{"N", 13}}, {{"N", 16}}});
}

void ExpectNotPadded(std::string_view text, const Numbers& numbers, std::string_view reason) {
  SCOPED_TRACE(text);
  const Graph graph = GraphFromText(text);
  const auto padded =
      PadLengths(graph, DimsOf(graph, numbers), kAllLengths, {.functions = &kOnnxFunctions});
  ASSERT_FALSE(padded.ok());
  EXPECT_EQ(padded.status().code(), absl::StatusCode::kUnimplemented) << padded.status();
  EXPECT_NE(padded.status().message().find(reason), std::string::npos) << padded.status();
}

}  // namespace onnx_cudnn
