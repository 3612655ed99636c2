// The vectors that are expected to be refused, by name, with the message of each.
#pragma once

#include <map>
#include <string>

namespace onnx_cudnn {

// The start of the reason with which a test is skipped after the vector was refused as expected;
// tools/count_tests.py recognizes it.
inline constexpr char kExpectedRefusal[] = "expected refusal: ";

// Reads tests/onnx_backend/failing.txt, sorted lines of "name  reason". Aborts if a line has
// another form.
std::map<std::string, std::string> ReadFailing();
void WriteFailing(const std::map<std::string, std::string>& failing);

}  // namespace onnx_cudnn
