// What fuzzers feed with any bytes, and where they start. libFuzzer's programs (preset `fuzz`) and
// the replay in every test run share it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"

namespace onnx_cudnn {

// Each aborts when an answer breaks its contract: another Status than it promises, a Graph that
// does not verify, bytes that a model may not read, what does not come back as it was written.
void FuzzLoad(std::string_view bytes);
// A byte of options, one of elements, the entries of two tensors (KEY=VALUE a line, "--" between
// them), an empty line, the data file.
void FuzzExternalData(std::string_view bytes);
void FuzzPins(std::string_view text);
void FuzzPlanCache(std::string_view bytes);
void FuzzArrays(std::string_view bytes);  // .npz when it starts as a zip file does, else .npy
void FuzzImages(std::string_view bytes);
// A byte that picks how the Graph is rewritten and run, then the choices by which it grows
// (tests/random): its outputs are those of the ops' references.
void FuzzGraphs(std::string_view bytes);

struct FuzzTarget {
  const char* name;  // of its program and its corpus
  void (*run)(std::string_view bytes);
  std::vector<std::string> (*corpus)();  // small valid inputs that reach far
};
absl::Span<const FuzzTarget> FuzzTargets();

}  // namespace onnx_cudnn
