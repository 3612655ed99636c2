#include "runtime/import/onnx_loader.h"

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/exception.h"
#include "runtime/base/file.h"
#include "runtime/base/status.h"
#include "runtime/import/external_data.h"
#include "runtime/import/import_model.h"
#include "runtime/import/names.h"
#include "runtime/import/parse_model.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kMostTextBytes = 64 << 20;

// Protobuf and ONNX throw exceptions, at least bad_alloc.
absl::StatusOr<Graph> CatchAll(absl::FunctionRef<absl::StatusOr<Graph>()> load) {
  try {
    return load();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory left to load it", LimitOfProcess()));
  } catch (const std::exception& e) {
    return absl::InvalidArgumentError(Clean(e.what()));
  }
}

absl::StatusOr<Graph> Import(absl::StatusOr<ParsedModel> parsed, const LoadOptions& options,
                             ExternalData& external) {
  RETURN_IF_ERROR(parsed.status());
  const ImportContext context{.limits = options.limits,
                              .external = &external,
                              .payloads = std::move(parsed->payloads),
                              .refusals = options.refusals};
  return ImportModel(std::move(parsed->proto), context);
}

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// A file named .onnxtxt holds ONNX's textual syntax.
absl::StatusOr<ParsedModel> Parse(const File& file, const std::string& path, const Limits& limits) {
  if (!absl::EndsWith(path, ".onnxtxt")) return ParseModel(file, limits);
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMostTextBytes));
  return ParseModelText(text);
}

}  // namespace

absl::StatusOr<Graph> LoadModelPart(std::shared_ptr<const PartsFile> file, std::string_view part,
                                    const LoadOptions& options) {
  ASSIGN_OR_RETURN(const std::string_view bytes, file->Read(part));
  absl::StatusOr<Graph> graph = CatchAll([&] {
    ExternalData external(file);
    return Import(ParseModel(bytes, options.limits), options, external);
  });
  if (!graph.ok()) return Annotate(graph.status(), BaseName(file->name()));
  return graph;
}

absl::StatusOr<Graph> LoadModel(const std::string& path, const LoadOptions& options) {
  absl::StatusOr<File> file = File::Open(path);
  RETURN_IF_ERROR(file.status());
  ASSIGN_OR_RETURN(const bool is_compiled, PartsFile::IsOne(*file));
  if (is_compiled) {
    ASSIGN_OR_RETURN(auto parts, PartsFile::Open(*file));
    return LoadModelPart(std::move(parts), kModelPart, options);
  }
  absl::StatusOr<Graph> graph = CatchAll([&]() -> absl::StatusOr<Graph> {
    ExternalData external(path, options);
    return Import(Parse(*file, path, options.limits), options, external);
  });
  if (!graph.ok()) return Annotate(graph.status(), BaseName(path));
  return graph;
}

absl::StatusOr<Graph> LoadModelBytes(std::string_view bytes, const LoadOptions& options) {
  if (PartsFile::StartsOne(bytes)) {
    return CatchAll([&]() -> absl::StatusOr<Graph> {
      ASSIGN_OR_RETURN(auto parts, PartsFile::Copy(bytes, "model"));
      return LoadModelPart(std::move(parts), kModelPart, options);
    });
  }
  absl::StatusOr<Graph> graph = CatchAll([&] {
    ExternalData external;
    return Import(ParseModel(bytes, options.limits), options, external);
  });
  if (!graph.ok()) return Annotate(graph.status(), "model");
  return graph;
}

}  // namespace onnx_cudnn
