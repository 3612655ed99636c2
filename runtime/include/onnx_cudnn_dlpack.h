// The part of DLPack's version 1 that onnx_cudnn.h needs, for programs that do not include DLPack's
// own <dlpack/dlpack.h>: the same names, numbers and layouts. Included by onnx_cudnn.h alone.
#ifndef ONNX_CUDNN_DLPACK_H_
#define ONNX_CUDNN_DLPACK_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
typedef enum : int32_t {
#else
typedef enum {
#endif
  kDLCPU = 1,
  kDLCUDA = 2,
  kDLCUDAHost = 3,     // host memory that is pinned for CUDA
  kDLCUDAManaged = 13  // memory that CUDA moves between host and device
} DLDeviceType;

typedef struct {
  DLDeviceType device_type;
  int32_t device_id;  // from 0; 0 for the host
} DLDevice;

typedef enum {
  kDLInt = 0,
  kDLUInt = 1,
  kDLFloat = 2,
  kDLOpaqueHandle = 3,
  kDLBfloat = 4,
  kDLComplex = 5,
  kDLBool = 6,
  kDLFloat8_e4m3fn = 10,
  kDLFloat8_e4m3fnuz = 11,
  kDLFloat8_e5m2 = 12,
  kDLFloat8_e5m2fnuz = 13,
  kDLFloat8_e8m0fnu = 14,
  kDLFloat4_e2m1fn = 17
} DLDataTypeCode;

typedef struct {
  uint8_t code;    // a DLDataTypeCode
  uint8_t bits;    // of an element
  uint16_t lanes;  // 1
} DLDataType;

typedef struct {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;        // `ndim` extents; may be NULL if ndim is 0
  int64_t* strides;      // `ndim` of them, in elements; NULL: row-major
  uint64_t byte_offset;  // of the first element from `data`
} DLTensor;

typedef struct {
  uint32_t major;
  uint32_t minor;
} DLPackVersion;

// A tensor with its owner.
struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;  // the owner's
  // Frees the tensor and this struct; called once by the last user. May be NULL.
  void (*deleter)(struct DLManagedTensorVersioned* self);
  uint64_t flags;
  DLTensor dl_tensor;
};

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // ONNX_CUDNN_DLPACK_H_
