#include "absl/log/check.h"
#include "absl/log/log.h"
#include "runtime/graph/print.h"
#include "runtime/graph/verify.h"
#include "tests/fuzz/targets.h"
#include "tests/random/ways.h"

namespace onnx_cudnn {

void FuzzGraphs(std::string_view bytes) {
  static const std::vector<Way> kWays = AllWays();
  if (bytes.empty()) return;
  const Way& way = kWays[static_cast<uint8_t>(bytes[0]) % kWays.size()];
  const RandomCase c = MakeRandomCase(/*seed=*/0, way.lowest, bytes.substr(1));
  CHECK_OK(Verify(c.graph));
  const auto difference = [&](const RandomCase& of) { return DifferenceOf(of, way.run(of)); };
  if (difference(c).empty()) return;
  const RandomCase smallest = Shrink(MakeRandomCase(0, way.lowest, bytes.substr(1)),
                                     [&](const RandomCase& of) { return !difference(of).empty(); });
  LOG(FATAL) << way.name << ": " << difference(smallest) << "\n" << Print(smallest.graph);
}

}  // namespace onnx_cudnn
