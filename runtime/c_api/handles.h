// What the handles of the C API point to.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "onnx_cudnn.h"
#include "onnx_cudnn/session.h"

struct onnx_cudnn_arena {
  std::shared_ptr<onnx_cudnn::SharedArena> arena;
};

struct onnx_cudnn_cancel_token {
  std::atomic<bool> cancelled = false;
};

struct onnx_cudnn_value_list {
  explicit onnx_cudnn_value_list(std::vector<onnx_cudnn::ValueInfo> infos);
  // Parts point to one another.
  onnx_cudnn_value_list(const onnx_cudnn_value_list&) = delete;

  struct Dims {
    std::vector<int64_t> values;
    std::vector<const char*> symbols;
  };
  const std::vector<onnx_cudnn::ValueInfo> infos;
  std::vector<Dims> dims;  // parallel to infos
};

struct onnx_cudnn_session {
  explicit onnx_cudnn_session(onnx_cudnn::Session loaded);

  onnx_cudnn::Session session;
  const onnx_cudnn_value_list inputs, outputs;
  const onnx_cudnn::DeviceFacts facts;
  const std::string device, device_note;
};

struct onnx_cudnn_binding {
  onnx_cudnn::Binding binding;
  // Of the bound inputs that are strings.
  std::vector<std::unique_ptr<std::vector<std::string>>> strings;
  std::string graph_note;
};
