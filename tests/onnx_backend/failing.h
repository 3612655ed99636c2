// The vectors that are expected to be refused, by name, with the message each gives.
#pragma once

#include <map>
#include <string>

namespace onnx_cudnn {

// How a test begins the reason for which it is skipped, once the vector was refused so: what
// tools/count_tests.py knows it by.
inline constexpr char kExpectedRefusal[] = "expected refusal: ";

// Reads tests/onnx_backend/failing.txt, lines of "name  reason", sorted. Aborts when a line is not
// so.
std::map<std::string, std::string> ReadFailing();
void WriteFailing(const std::map<std::string, std::string>& failing);

}  // namespace onnx_cudnn
