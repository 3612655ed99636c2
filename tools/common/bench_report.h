// Benchmark records as JSON, CSV, a table, and advice.
#pragma once

#include <string>
#include <vector>

#include "tools/common/bench.h"

namespace onnx_cudnn {

// A JSON list. Unknown values are left out.
std::string RecordsJson(const std::vector<BenchRecord>& records);
// The same fields: a header line and one line per record, quoted as in RFC 4180. Unknown values are
// empty.
std::string RecordsCsv(const std::vector<BenchRecord>& records);

// For people: what was measured, the names of the columns, then one line per record.
std::string TableHeader(const BenchRecord& first);
std::string TableRow(const BenchRecord& record);

// What limits a configuration and what would help, one line each:
//   copies    take more than half as long as the run
//   launches  take longer than the run; without a CUDA graph, where the run includes them, 80 % of
//             it
//   noise     above 5 %
//   batch     the largest of a model and precision gives 10 % more images/s than the next smaller
std::vector<std::string> AdviceFor(const std::vector<BenchRecord>& records);

}  // namespace onnx_cudnn
