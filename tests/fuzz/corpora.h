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

// The folder of all fuzzers' Regressions.
std::string RegressionsFolder();
// Inputs that once made a fuzzer abort: the files in the folder of its name, sorted by path; none
// if there is no such folder. A finding is copied there before it is fixed.
std::vector<std::string> Regressions(const std::string& name);

}  // namespace onnx_cudnn
