// Small valid inputs with high coverage, for each fuzzer.
#pragma once

#include <string>
#include <vector>

namespace onnx_cudnn {

std::vector<std::string> ModelCorpus();  // models of all kinds
std::vector<std::string> ExternalDataCorpus();
std::vector<std::string> PinCorpus();
std::vector<std::string> PlanCacheCorpus();
std::vector<std::string> ArrayCorpus();
std::vector<std::string> ImageCorpus();
std::vector<std::string> GraphCorpus();

// The models of at most 4 KiB among ONNX's test vectors in `folder`, sorted by path; none if the
// folder does not exist.
std::vector<std::string> VectorCorpus(const std::string& folder);

}  // namespace onnx_cudnn
