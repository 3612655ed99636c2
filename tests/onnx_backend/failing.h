// The vectors that are expected to be refused, by name, with the message of each.
#pragma once

#include <map>
#include <string>

namespace onnx_cudnn {

// The start of the reason with which a test is skipped after the vector was refused as expected;
// tools/count_tests.py recognizes it.
inline constexpr char kExpectedRefusal[] = "expected refusal: ";

// Files of tests/onnx_backend, sorted lines of "name  reason": what every program refuses, and what
// programs without image decoders refuse beside it.
inline constexpr char kFailing[] = "failing.txt";
inline constexpr char kWithoutImageDecoders[] = "without_image_decoders.txt";

// Aborts if a line has another form.
std::map<std::string, std::string> ReadRefusals(const std::string& file);
void WriteRefusals(const std::string& file, const std::map<std::string, std::string>& refusals);

}  // namespace onnx_cudnn
