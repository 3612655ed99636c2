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

// The results of a Step.
struct StepResult {
  std::vector<HostTensor> outputs;  // row-major, parallel to the Candidate's
  // Lanes without an element: padding was written as zeros, foreign lanes were not changed.
  bool padding_is_zero = true;
  bool foreign_is_kept = true;
};

// Runs one compiled Step alone on a Device, on operands of its own in the Candidate's Formats. Used
// by one thread at a time. For tests, benchmarks and measured prices.
class StepRunner {
 public:
  enum class Padding : uint8_t { kZero, kPoison };  // of inputs: zeros, or NaN in every float type

  // Keeps the Step; reads the Candidate's Nodes only during this call.
  //   inputs  memory of the Device for each input, in the Candidate's Formats; empty: allocated
  //           here
  //   errors  ResourceExhausted; those of the Step's Derived constants
  static absl::StatusOr<std::unique_ptr<StepRunner>> Create(
      const Candidate& candidate, std::shared_ptr<const Step> step, Device& device,
      ConstantStore& constants, absl::Span<const std::shared_ptr<std::byte>> inputs = {});
  ~StepRunner();

  // Runs the Step on `inputs` (row-major, parallel to the Candidate's); outputs and workspace are
  // filled with NaN first. Returns the Step's error or that of its fault word.
  absl::StatusOr<StepResult> Run(absl::Span<const HostTensor> inputs, Padding padding);
  // Runs it on the current content of the inputs' memory. Only for Steps whose operands need not
  // alias.
  absl::Status RunInPlace();
  static bool RunsInPlace(const Step& step);
  // The inputs' memory, in the Candidate's Formats.
  std::vector<std::shared_ptr<std::byte>> inputs() const;
  const std::shared_ptr<std::byte>& output(int i) const { return outputs_[i].memory; }
  // Fills the inputs, padding included, with numbers that suit timing only.
  absl::Status FillInputs();
  // kCold: constants that would stay in the L2 cache between launches, which they do not in a
  // network, are read from several copies alternately. Operands larger than L2 are cold anyway.
  enum class Constants : uint8_t { kAsTheyAre, kCold };
  // Microseconds of one launch: the median of five replays of a captured graph of `repeats`
  // launches; by the host's clock if the Device cannot capture. Uses the inputs of the last Run or
  // FillInputs.
  absl::StatusOr<double> MeasureUs(int repeats, Constants constants = Constants::kAsTheyAre);

 private:
  struct Tensor {
    DType dtype;
    Dims dims;
    Placement placement;
    std::shared_ptr<std::byte> memory;
    // In `memory`, or in another operand's memory if the Step aliases it.
    std::byte* address = nullptr;
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
  // Pinned, kept until the streams are synchronized.
  std::vector<std::shared_ptr<std::byte>> staged_;
  bool on_host_ = false;
};

}  // namespace onnx_cudnn
