// The fuzz targets and their seed inputs. Shared by libFuzzer's programs (preset `fuzz`) and the
// replay in every test run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"

namespace onnx_cudnn {

// Each aborts if a result violates its contract: an unexpected Status, a Graph that does not
// verify, bytes that a model must not read, data that does not survive a round trip.
void FuzzLoad(std::string_view bytes);
// A byte of options, one of elements, the entries of two tensors (one KEY=VALUE per line, "--"
// between them), an empty line, the data file.
void FuzzExternalData(std::string_view bytes);
void FuzzPins(std::string_view text);
void FuzzPlanCache(std::string_view bytes);
void FuzzArrays(std::string_view bytes);  // .npz if it starts like a zip file, else .npy
void FuzzImages(std::string_view bytes);
// A byte that selects how the Graph is rewritten and run, then the choices that grow it
// (tests/random): its outputs must equal those of the ops' references.
void FuzzGraphs(std::string_view bytes);

struct FuzzTarget {
  const char* name;  // of its program and its corpus
  void (*run)(std::string_view bytes);
  std::vector<std::string> (*corpus)();  // small valid inputs with high coverage
};
absl::Span<const FuzzTarget> FuzzTargets();

}  // namespace onnx_cudnn
