// Records of a bench as JSON, CSV, a table, and advice.
#pragma once

#include <string>
#include <vector>

#include "tools/common/bench.h"

namespace onnx_cudnn {

// One JSON list. What is not known is left out.
std::string RecordsJson(const std::vector<BenchRecord>& records);
// The same fields: a line of their names and a line a record, as RFC 4180 quotes. What is not known
// is empty.
std::string RecordsCsv(const std::vector<BenchRecord>& records);

// For people: what was measured on and the columns' names, then a line a record.
std::string TableHeader(const BenchRecord& first);
std::string TableRow(const BenchRecord& record);

// What bounds a configuration and what would help, a line each:
//   copies    take more than half as long as the run
//   launches  take longer than the run; without a CUDA graph, whose time holds them, 80 % of it
//   noise     above 5 %
//   batch     the largest of a model and precision gives 10 % more images/s than the next smaller
std::vector<std::string> AdviceFor(const std::vector<BenchRecord>& records);

}  // namespace onnx_cudnn
