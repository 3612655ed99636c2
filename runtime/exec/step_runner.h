#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/exec/constant_store.h"
#include "runtime/exec/device.h"
#include "runtime/plan/engine.h"

namespace onnx_cudnn {

// What a Step wrote.
struct StepResult {
  std::vector<HostTensor> outputs;  // row-major, parallel to the Candidate's
  // Lanes that stand for no element: padding was written as zeros, foreign lanes were left alone.
  bool padding_is_zero = true;
  bool foreign_is_kept = true;
};

// One compiled Step alone on a Device, over operands of its own that lie as its Candidate says.
// Used by one thread at a time. For tests, benches and measured prices.
class StepRunner {
 public:
  enum class Padding : uint8_t { kZero, kPoison };  // of inputs: zeros, or NaN of any float type

  // Keeps the Step; the Candidate's Nodes are read here alone.
  //   inputs  memory of the Device where each input lies as the Candidate says; empty: they get
  //           memory here
  //   errors  ResourceExhausted; those of the Step's Derived constants
  static absl::StatusOr<std::unique_ptr<StepRunner>> Create(
      const Candidate& candidate, std::shared_ptr<const Step> step, Device& device,
      ConstantStore& constants, absl::Span<const std::shared_ptr<std::byte>> inputs = {});
  ~StepRunner();

  // Runs the Step over `inputs` (row-major, parallel to the Candidate's), with outputs and
  // workspace full of NaN before it. Its error, or that of its fault word.
  absl::StatusOr<StepResult> Run(absl::Span<const HostTensor> inputs, Padding padding);
  // The same over what lies in the inputs' memory. Of Steps whose operands may all lie apart.
  absl::Status RunInPlace();
  static bool RunsInPlace(const Step& step);
  // Where they lie, as the Candidate says.
  std::vector<std::shared_ptr<std::byte>> inputs() const;
  const std::shared_ptr<std::byte>& output(int i) const { return outputs_[i].memory; }
  // Fills the inputs, padding too, with numbers that are good for times alone.
  absl::Status FillInputs();
  // kCold: constants that would stay in the L2 cache from one launch to the next, as they do not in
  // a network, are read from several copies in turn. Operands larger than it are cold anyway.
  enum class Constants : uint8_t { kAsTheyAre, kCold };
  // Microseconds of one launch: the median of five recordings' replays of `repeats` launches each;
  // by the host's clock where the Device records nothing. Over what the last Run or FillInputs
  // left.
  absl::StatusOr<double> MeasureUs(int repeats, Constants constants = Constants::kAsTheyAre);

 private:
  struct Tensor {
    DType dtype;
    Dims dims;
    Placement placement;
    std::shared_ptr<std::byte> memory;
    std::byte* address = nullptr;  // in `memory`, or in another's where the Step aliases it
    int64_t bytes() const { return placement.format.bytes(dtype); }
  };
  StepRunner(std::shared_ptr<const Step> step, Device& device)
      : step_(std::move(step)), device_(device) {}
  absl::StatusOr<Tensor> MakeTensor(const Value& value, const Placement& placement,
                                    std::shared_ptr<std::byte> memory = nullptr) const;
  absl::Status TakeConstants(const Candidate& candidate, ConstantStore& constants);
  void ResolveAliases();
  absl::Status CopyConstants(int most_copies);
  absl::StatusOr<std::byte*> Stage(int64_t bytes);
  absl::Status Synchronize();
  absl::Status Repeat(std::byte* to, int64_t bytes, const std::byte* block, int64_t block_bytes);
  absl::Status PoisonWhatIsWritten();
  absl::Status WriteInput(const Tensor& tensor, const HostTensor& from, Padding padding);
  absl::Status Launch(size_t constant_set = 0);
  absl::Status LaunchAndWait();
  absl::Status Fault();
  absl::Status ReadOutput(const Tensor& tensor, StepResult& result);

  const std::shared_ptr<const Step> step_;
  Device& device_;
  std::unique_ptr<StreamSet> streams_;
  std::vector<Tensor> inputs_, outputs_;
  std::vector<std::shared_ptr<const std::byte>> constants_;
  std::vector<int64_t> constant_bytes_;
  std::vector<std::vector<const void*>> constant_sets_;  // the constants, then copies of them
  std::shared_ptr<std::byte> copies_;
  std::shared_ptr<std::byte> workspace_, fault_;
  std::vector<std::shared_ptr<std::byte>> staged_;  // pinned, until the streams are done
  bool on_host_ = false;
};

}  // namespace onnx_cudnn
