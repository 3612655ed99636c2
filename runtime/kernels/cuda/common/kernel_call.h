// One launch as data: created once when a kernel is compiled, replayed by a Step with other
// addresses. Standard library only, so that .cu files compile fast.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace onnx_cudnn {

// An address that is known only when a Step is launched.
struct Slot {
  enum class Kind : uint8_t { kInput, kOutput, kConstant, kWorkspace, kFault };
  Kind kind;
  int index = 0;       // position among the Step's inputs, outputs or constants
  int64_t offset = 0;  // bytes

  static Slot Input(int index) { return {Kind::kInput, index}; }
  static Slot Output(int index) { return {Kind::kOutput, index}; }
  static Slot Constant(int index) { return {Kind::kConstant, index}; }
  static Slot Workspace(int64_t offset = 0) { return {Kind::kWorkspace, 0, offset}; }
  // A 64-bit word that is 0 until a thread of the kernel stores a fault (LaunchArgs::fault).
  static Slot Fault() { return {Kind::kFault}; }
};

struct LaunchShape {
  struct Extent {
    unsigned x = 1, y = 1, z = 1;
  };
  Extent grid, block;
  int shared_bytes = 0;  // dynamic
  int cluster = 1;       // blocks along x
};

// 128 bytes in a kernel's parameters that hold a CUtensorMap.
struct alignas(64) TensorMapBytes {
  std::byte bytes[128];
};

// Description of an operand for TMA (cuTensorMapEncodeTiled, cuTensorMapEncodeIm2col).
struct TensorMap {
  // kTf32: loads round f32 to TF32; stores do not round.
  enum class Element : uint8_t { kF16, kBF16, kF32, kTf32 };
  Element element;
  int rank;                   // ≤ 5
  uint64_t dims[5];           // innermost first
  uint64_t strides[4];        // bytes, for dims 1 and up; multiples of 16
  uint32_t box[5];            // elements; loads return zero outside dims, stores skip it
  bool swizzles_128 = false;  // 16-byte units are permuted within 1,024 bytes of shared memory
  bool promotes_256 = true;   // L2 fetches 256 bytes at once
  // im2col mode of an image [channels, columns, rows, images], for loads. A box is box[1] window
  // positions of box[0] channels each, ordered by columns, then rows, then images; a load names the
  // first position and the tap to load.
  struct Im2col {
    // Window corners for columns and rows, relative to the first and the last pixel.
    int first[2], last[2];
    uint32_t strides[2];  // between window positions; ≤ 8
  };
  std::optional<Im2col> im2col = std::nullopt;
};

// A launch, a copy or a fill on a stream.
struct KernelCall {
  enum class Kind : uint8_t { kLaunch, kCopy, kFill };
  // An address to be stored at byte `at` of the parameters.
  struct Address {
    size_t at;
    Slot slot;
  };

  Kind kind = Kind::kLaunch;
  // kLaunch: a __global__ function with one parameter, which waits for the preceding launch itself
  // (dependent_launch.cuh).
  const void* function = nullptr;
  LaunchShape shape;
  std::vector<std::byte> parameters;  // bytes of that parameter, without addresses
  // Offset of a bool in the parameters to be set to LaunchArgs::next_uses_pdl; nullopt: the next
  // launch starts only when this one has ended.
  std::optional<size_t> next_uses_pdl_at;
  std::vector<Address> addresses;
  // A TensorMapBytes at byte `at` of the parameters, encoded for the operand's address.
  struct Map {
    size_t at;
    Slot slot;
    TensorMap map;
  };
  std::vector<Map> maps;
  // kCopy: addresses are {to, from}; kFill: {to}.
  int64_t bytes = 0;
  uint8_t value = 0;  // kFill: value of every byte

  // A call of `kernel(Parameters)`. An empty grid launches nothing.
  template <typename Parameters>
  static KernelCall Of(void (*kernel)(Parameters), const LaunchShape& shape,
                       const Parameters& parameters) {
    static_assert(std::is_trivially_copyable_v<Parameters> && sizeof(Parameters) <= 4064);
    KernelCall call;
    call.function = reinterpret_cast<const void*>(kernel);
    call.shape = shape;
    call.parameters.resize(sizeof(Parameters));
    std::memcpy(call.parameters.data(), &parameters, sizeof(Parameters));
    return call;
  }
  static KernelCall Copy(Slot to, Slot from, int64_t bytes) {
    KernelCall call;
    call.kind = Kind::kCopy;
    call.addresses = {{0, to}, {0, from}};
    call.bytes = bytes;
    return call;
  }
  static KernelCall Fill(Slot to, uint8_t value, int64_t bytes) {
    KernelCall call;
    call.kind = Kind::kFill;
    call.addresses = {{0, to}};
    call.bytes = bytes;
    call.value = value;
    return call;
  }

  // Binds the pointer at byte `at` of the parameters (offsetof) to `slot`.
  KernelCall& Bind(size_t at, Slot slot) & {
    addresses.push_back({at, slot});
    return *this;
  }
  KernelCall Bind(size_t at, Slot slot) && { return std::move(Bind(at, slot)); }
};

}  // namespace onnx_cudnn
