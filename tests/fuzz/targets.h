// What fuzzers feed with any bytes, and where they start. libFuzzer's programs (preset `fuzz`) and
// the replay in every test run share it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace onnx_cudnn {

// Each aborts when an answer breaks its contract: another Status than it promises, a Graph that
// does not verify.
void FuzzLoad(std::string_view bytes);
void FuzzPins(std::string_view text);

// Small valid inputs that reach far: models of all kinds, pin files.
std::vector<std::string> ModelCorpus();
std::vector<std::string> PinCorpus();
// The models of at most 4 KiB among ONNX's test vectors in `folder`, sorted by path; none where
// there is no such folder.
std::vector<std::string> VectorCorpus(const std::string& folder);

}  // namespace onnx_cudnn
