#include "absl/log/check.h"
#include "absl/log/log.h"
#include "runtime/graph/print.h"
#include "runtime/graph/verify.h"
#include "tests/fuzz/targets.h"
#include "tests/random/executions.h"

namespace onnx_cudnn {

void FuzzGraphs(std::string_view bytes) {
  static const std::vector<Execution> kExecutions = AllExecutions();
  if (bytes.empty()) return;
  const Execution& execution = kExecutions[static_cast<uint8_t>(bytes[0]) % kExecutions.size()];
  const RandomCase c = MakeRandomCase(/*seed=*/0, execution.lowest, bytes.substr(1));
  CHECK_OK(Verify(c.graph));
  const auto difference = [&](const RandomCase& of) { return DifferenceOf(of, execution.run(of)); };
  if (difference(c).empty()) return;
  const RandomCase smallest = Shrink(MakeRandomCase(0, execution.lowest, bytes.substr(1)),
                                     [&](const RandomCase& of) { return !difference(of).empty(); });
  LOG(FATAL) << execution.name << ": " << difference(smallest) << "\n" << Print(smallest.graph);
}

}  // namespace onnx_cudnn
