// A file of parts with one part changed.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "runtime/base/file.h"
#include "runtime/base/parts_file.h"

namespace onnx_cudnn {

// Writes the file `from` to `to`; `edit` changes the bytes of a part, or returns false to leave it
// out.
inline void EditParts(const std::string& from, const std::string& to,
                      absl::FunctionRef<bool(std::string_view name, std::string& bytes)> edit) {
  const absl::StatusOr<File> file = File::Open(from);
  ASSERT_TRUE(file.ok()) << file.status();
  const auto parts = PartsFile::Open(*file);
  ASSERT_TRUE(parts.ok()) << parts.status();
  PartsWriter writer;
  for (const std::string_view name : (*parts)->parts()) {
    std::string bytes((*parts)->Read(name).value());
    if (edit(name, bytes)) writer.Add(std::string(name), std::move(bytes));
  }
  ASSERT_TRUE(writer.WriteTo(to).ok());
}

}  // namespace onnx_cudnn
