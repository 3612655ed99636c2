#include "tools/common/inputs.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "runtime/base/status.h"
#include "runtime/base/thread_pool.h"
#include "runtime/graph/float16.h"
#include "tools/common/numbers.h"

namespace onnx_cudnn {
namespace {

using TextByName = std::map<std::string, std::string, std::less<>>;

bool IsInput(std::string_view name, const std::vector<ValueInfo>& infos) {
  return std::any_of(infos.begin(), infos.end(),
                     [&](const ValueInfo& info) { return info.name == name; });
}

std::string NamesOf(const std::vector<ValueInfo>& infos) {
  return absl::StrJoin(
      infos, ", ", [](std::string* to, const ValueInfo& info) { absl::StrAppend(to, info.name); });
}

std::set<std::string> SymbolsOf(const std::vector<ValueInfo>& infos) {
  std::set<std::string> symbols;
  for (const ValueInfo& info : infos) {
    for (const ValueInfo::Extent& dim : info.dims) symbols.insert(dim.symbol);
  }
  symbols.erase("");
  return symbols;
}

// The number in `N=4`.
absl::StatusOr<int64_t> NumberOfSymbol(const NamedText& argument,
                                       const std::vector<ValueInfo>& infos) {
  const std::set<std::string> symbols = SymbolsOf(infos);
  if (!symbols.contains(argument.name)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--shape: no input or symbolic dim \"%s\"; inputs: %s; symbolic dims: %s", argument.name,
        NamesOf(infos), symbols.empty() ? "none" : absl::StrJoin(symbols, ", ")));
  }
  int64_t number = 0;
  if (absl::SimpleAtoi(argument.text, &number) && number >= 0) return number;
  return absl::InvalidArgumentError(absl::StrFormat(
      "--shape: dim \"%s\": expected a number, found \"%s\"", argument.name, argument.text));
}

absl::StatusOr<TextByName> ByInput(const std::vector<NamedText>& arguments,
                                   const std::vector<ValueInfo>& infos, std::string_view what) {
  TextByName by_name;
  for (const NamedText& argument : arguments) {
    if (argument.name.empty() && infos.size() != 1) {
      return absl::InvalidArgumentError(
          absl::StrFormat("%s \"%s\": expected name=%s, the model has %d inputs", what,
                          argument.text, what, infos.size()));
    }
    const std::string& name = argument.name.empty() ? infos[0].name : argument.name;
    if (!IsInput(name, infos)) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "%s: the model has no input \"%s\"; it has: %s", what, name, NamesOf(infos)));
    }
    if (!by_name.emplace(name, argument.text).second) {
      return absl::InvalidArgumentError(
          absl::StrFormat("%s: input \"%s\" is given twice", what, name));
    }
  }
  return by_name;
}

// The given dims: −1 where there is no number.
absl::StatusOr<Dims> SaidDims(const ValueInfo& info, const TextByName& shapes) {
  Dims model;
  for (const ValueInfo::Extent& extent : info.dims) model.push_back(extent.value);
  const auto it = shapes.find(info.name);
  if (it == shapes.end()) return model;
  ASSIGN_OR_RETURN(Dims asked, ParseDims(it->second));
  const bool fits =
      !info.ranked || std::equal(model.begin(), model.end(), asked.begin(), asked.end(),
                                 [](int64_t m, int64_t a) { return m < 0 || m == a; });
  if (!fits) {
    return absl::InvalidArgumentError(
        absl::StrFormat("expected %s, --shape says %s", ToString(info), ToString(asked)));
  }
  return asked;
}

// Elements per random generator, so that threads can share a large tensor.
constexpr int64_t kBlock = int64_t{1} << 20;

// make(bits): an element of 64 random bits
template <typename T, typename Make>
HostTensor Generated(DType dtype, const Dims& dims, uint64_t seed, Make make) {
  HostTensor tensor = HostTensor::Allocate(dtype, dims);
  const absl::Span<T> elements = tensor.mutable_data<T>();
  const auto blocks = (static_cast<int64_t>(elements.size()) + kBlock - 1) / kBlock;
  ThreadPool::Default().ParallelFor(blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      std::mt19937_64 bits(seed + (static_cast<uint64_t>(block) << 32));
      for (T& x : elements.subspan(block * kBlock, kBlock)) x = make(bits());
    }
  });
  return tensor;
}

// Floats uniform in [0, 1), from the top 24 bits of a portable generator; integers and bool 0 or 1.
absl::StatusOr<HostTensor> Random(DType dtype, const Dims& dims, uint64_t seed) {
  const auto uniform = [](uint64_t bits) { return static_cast<float>(bits >> 40) * 0x1p-24f; };
  switch (dtype) {
    case DType::kF32:
      return Generated<float>(dtype, dims, seed, uniform);
    case DType::kF64:
      return Generated<double>(dtype, dims, seed, uniform);
    case DType::kF16:
      return Generated<Float16>(dtype, dims, seed,
                                [&](uint64_t bits) { return ToFloat16(uniform(bits)); });
    case DType::kBF16:
      return Generated<BFloat16>(dtype, dims, seed,
                                 [&](uint64_t bits) { return ToBFloat16(uniform(bits)); });
    default:
      break;
  }
  const auto bit = [](uint64_t bits) { return static_cast<uint8_t>(bits >> 63); };
  switch (BitsOf(dtype)) {
    case 8:
      return Generated<uint8_t>(dtype, dims, seed, bit);
    case 16:
      return Generated<uint16_t>(dtype, dims, seed, bit);
    case 32:
      return Generated<uint32_t>(dtype, dims, seed, bit);
    case 64:
      return Generated<uint64_t>(dtype, dims, seed, bit);
    default:
      return absl::UnimplementedError(
          absl::StrCat("no random values of dtype ", NameOf(dtype), ", give a file"));
  }
}

absl::StatusOr<HostTensor> Zeros(DType dtype, const Dims& dims) {
  if (BitsOf(dtype) == 0)
    return absl::UnimplementedError(absl::StrCat("no zeros of dtype ", NameOf(dtype)));
  HostTensor tensor = HostTensor::Allocate(dtype, dims);
  std::fill_n(static_cast<char*>(tensor.mutable_raw()), tensor.bytes(), 0);
  return tensor;
}

// Larger generated inputs indicate a mistake in --shape.
constexpr int64_t kMaxGeneratedBytes = int64_t{16} << 30;

absl::StatusOr<ModelInput> Generate(const ValueInfo& info, FilledDims filled, std::string_view how,
                                    uint64_t seed) {
  const Dims& dims = filled.dims;
  std::string source(how);
  if (how == "random") absl::StrAppend(&source, ", seed ", seed);
  if (!info.ranked && dims.empty()) absl::StrAppend(&source, ", taken as a scalar");
  if (!filled.taken.empty()) absl::StrAppend(&source, ", ", filled.taken);
  ASSIGN_OR_RETURN(const int64_t bytes, CheckedBytes(info.dtype, dims));
  if (bytes > kMaxGeneratedBytes) {
    return absl::InvalidArgumentError(
        absl::StrFormat("expected at most %d bytes, found %d", kMaxGeneratedBytes, bytes));
  }
  ASSIGN_OR_RETURN(HostTensor tensor,
                   how == "zeros" ? Zeros(info.dtype, dims) : Random(info.dtype, dims, seed));
  return ModelInput{info.name, std::move(tensor), std::move(source), std::move(filled.taken)};
}

absl::StatusOr<ModelInput> FromImage(const ValueInfo& info, Dims dims, const std::string& path,
                                     const InputRequest& request) {
  ASSIGN_OR_RETURN(const Image image, ReadImage(path));
  ASSIGN_OR_RETURN(dims, FillImageDims(image, std::move(dims)));
  ImagePreset preset = request.image;
  if (info.dtype == DType::kU8 && !request.image_was_asked) preset = ImagePreset{.name = "raw"};
  ASSIGN_OR_RETURN(HostTensor tensor, ImageToTensor(image, preset, info.dtype, dims));
  return ModelInput{
      info.name, std::move(tensor),
      absl::StrFormat("%s, %d x %d, preset %s", path, image.width, image.height, preset.name)};
}

absl::StatusOr<ModelInput> FromSource(const ValueInfo& info, Dims dims, const std::string& source,
                                      const InputRequest& request) {
  const std::string lower = absl::AsciiStrToLower(source);
  if (absl::EndsWith(lower, ".npy")) {
    ASSIGN_OR_RETURN(HostTensor tensor, ReadNpy(source));
    return ModelInput{info.name, std::move(tensor), source};
  }
  if (absl::EndsWith(lower, ".png") || absl::EndsWith(lower, ".jpg") ||
      absl::EndsWith(lower, ".jpeg")) {
    return FromImage(info, std::move(dims), source, request);
  }
  if (source.find_first_of("0123456789-.") == 0) {
    ASSIGN_OR_RETURN(HostTensor tensor, NumbersToTensor(source, info, std::move(dims)));
    return ModelInput{info.name, std::move(tensor), source};
  }
  return absl::InvalidArgumentError(absl::StrFormat(
      "expected a .npy, .png or .jpg file, numbers, random or zeros, found \"%s\"", source));
}

// What --shape says.
struct GivenShapes {
  TextByName shapes;                                    // by input
  std::map<std::string, int64_t, std::less<>> symbols;  // numbers of symbolic dims
};

absl::StatusOr<GivenShapes> ShapesAndSymbols(const std::vector<NamedText>& arguments,
                                             const std::vector<ValueInfo>& infos) {
  GivenShapes given;
  std::vector<NamedText> of_inputs;
  for (const NamedText& argument : arguments) {
    if (argument.name.empty() || IsInput(argument.name, infos)) {
      of_inputs.push_back(argument);
      continue;
    }
    ASSIGN_OR_RETURN(const int64_t number, NumberOfSymbol(argument, infos));
    if (!given.symbols.emplace(argument.name, number).second) {
      return absl::InvalidArgumentError(
          absl::StrFormat("--shape: dim \"%s\" is given twice", argument.name));
    }
  }
  ASSIGN_OR_RETURN(given.shapes, ByInput(of_inputs, infos, "--shape"));
  return given;
}

// How an input is created.
struct Plan {
  const ValueInfo& info;
  Dims dims;           // −1 where there is no number
  std::string source;  // "" if none is given
  bool is_generated;
};

absl::StatusOr<Plan> PlanInput(const ValueInfo& info, const TextByName& sources,
                               const GivenShapes& given, const InputRequest& request) {
  ASSIGN_OR_RETURN(Dims dims, SaidDims(info, given.shapes));
  for (size_t i = 0; i < std::min(dims.size(), info.dims.size()); ++i) {
    const auto number = given.symbols.find(info.dims[i].symbol);
    if (dims[i] < 0 && number != given.symbols.end()) dims[i] = number->second;
  }
  if (request.batch.has_value() && !dims.empty() && dims[0] < 0) dims[0] = *request.batch;
  const auto source = sources.find(info.name);
  Plan plan{info, std::move(dims), source == sources.end() ? "" : source->second, false};
  plan.is_generated = plan.source.empty() ? !request.given.contains(info.name)
                                          : plan.source == "random" || plan.source == "zeros";
  return plan;
}

absl::StatusOr<ModelInput> MakeInput(const Plan& plan, const InputRequest& request,
                                     const DimFiller& filler) {
  const ValueInfo& info = plan.info;
  if (plan.is_generated) {
    return Generate(info, filler.Fill(info, plan.dims),
                    plan.source.empty() ? "random" : plan.source, request.seed);
  }
  if (!plan.source.empty()) return FromSource(info, plan.dims, plan.source, request);
  return ModelInput{info.name, request.given.find(info.name)->second,
                    "from the expected values' file"};
}

absl::Status At(const ValueInfo& info, const absl::Status& status) {
  return Annotate(status, absl::StrCat("input \"", info.name, "\""));
}

absl::StatusOr<std::vector<Plan>> PlanInputs(const std::vector<ValueInfo>& infos,
                                             const InputRequest& request) {
  ASSIGN_OR_RETURN(const TextByName sources, ByInput(request.sources, infos, "--input"));
  ASSIGN_OR_RETURN(const GivenShapes shapes, ShapesAndSymbols(request.shapes, infos));
  std::vector<Plan> plans;
  for (const ValueInfo& info : infos) {
    absl::StatusOr<Plan> plan = PlanInput(info, sources, shapes, request);
    if (!plan.ok()) return At(info, plan.status());
    plans.push_back(*std::move(plan));
  }
  return plans;
}

}  // namespace

NamedText SplitNamedText(std::string_view argument) {
  const size_t equals = argument.find('=');
  if (equals == std::string_view::npos) return {"", std::string(argument)};
  return {std::string(argument.substr(0, equals)), std::string(argument.substr(equals + 1))};
}

void Append(std::string_view argument, std::vector<NamedText>& arguments) {
  if (!argument.empty()) arguments.push_back(SplitNamedText(argument));
}

void AppendShape(std::string_view argument, std::vector<NamedText>& arguments) {
  const size_t colon = argument.rfind(':');
  const bool has_colon = absl::StrContains(argument, ':') && !absl::StrContains(argument, '=');
  if (has_colon && ParseDims(argument.substr(colon + 1)).ok()) {
    arguments.push_back(
        {std::string(argument.substr(0, colon)), std::string(argument.substr(colon + 1))});
  } else {
    Append(argument, arguments);
  }
}

InputRequest& GivenInputs() {
  static auto& given = *new InputRequest();
  return given;
}

absl::StatusOr<Dims> ParseDims(std::string_view text) {
  Dims dims;
  if (text.empty()) return dims;
  for (std::string_view part : absl::StrSplit(text, absl::ByAnyChar("x,"))) {
    int64_t dim;
    if (!absl::SimpleAtoi(part, &dim) || dim < 0) {
      return absl::InvalidArgumentError(
          absl::StrFormat("expected a shape like 1x3x224x224, found \"%s\"", text));
    }
    dims.push_back(dim);
  }
  return dims;
}

absl::StatusOr<std::map<std::string, FilledDims, std::less<>>> ShapesOf(
    const std::vector<ValueInfo>& infos, const std::vector<NamedText>& shapes) {
  ASSIGN_OR_RETURN(const std::vector<Plan> plans, PlanInputs(infos, {.shapes = shapes}));
  DimFiller filler;
  for (const Plan& plan : plans) filler.Give(plan.info, plan.dims);
  filler.TakeImages(infos);
  std::map<std::string, FilledDims, std::less<>> by_name;
  for (const Plan& plan : plans) by_name[plan.info.name] = filler.Fill(plan.info, plan.dims);
  return by_name;
}

absl::Status WithTakenDims(const absl::Status& status,
                           const std::map<std::string, std::string, std::less<>>& taken) {
  if (!absl::IsInvalidArgument(status) && !absl::IsUnimplemented(status)) return status;
  std::string message(status.message());
  for (const auto& [name, words] : taken) {
    if (!words.empty()) absl::StrAppend(&message, "; of input \"", name, "\" ", words);
  }
  return {status.code(), message};
}

absl::StatusOr<std::vector<ModelInput>> MakeInputs(const std::vector<ValueInfo>& infos,
                                                   const InputRequest& request) {
  ASSIGN_OR_RETURN(const std::vector<Plan> plans, PlanInputs(infos, request));
  std::vector<ModelInput> inputs(plans.size());
  DimFiller filler;
  // Generated inputs take their dims from the given ones.
  for (const bool generated : {false, true}) {
    for (size_t i = 0; i < plans.size(); ++i) {
      if (plans[i].is_generated != generated) continue;
      absl::StatusOr<ModelInput> input = MakeInput(plans[i], request, filler);
      if (!input.ok()) return At(plans[i].info, input.status());
      inputs[i] = *std::move(input);
      if (!generated) filler.Give(plans[i].info, inputs[i].tensor.dims());
    }
    for (const Plan& plan : plans) filler.Give(plan.info, plan.dims);
    filler.TakeImages(infos);
  }
  return inputs;
}

absl::StatusOr<NamedTensors> SaidInputs(const std::vector<ValueInfo>& infos,
                                        const InputRequest& request) {
  ASSIGN_OR_RETURN(const std::vector<Plan> plans, PlanInputs(infos, request));
  DimFiller filler;
  for (const Plan& plan : plans) filler.Give(plan.info, plan.dims);
  filler.TakeImages(infos);
  NamedTensors tensors;
  for (const Plan& plan : plans) {
    if (plan.source.empty()) continue;
    absl::StatusOr<ModelInput> input = MakeInput(plan, request, filler);
    if (!input.ok()) return At(plan.info, input.status());
    tensors[plan.info.name] = std::move(input->tensor);
  }
  return tensors;
}

TensorView ViewOf(const HostTensor& tensor) {
  if (tensor.dtype() == DType::kString) return View(tensor.strings().data(), tensor.dims());
  return {.data = const_cast<void*>(tensor.raw()), .dtype = tensor.dtype(), .shape = tensor.dims()};
}

HostTensor HostTensorOf(const Tensor& tensor) {
  if (tensor.dtype() == DType::kString) {
    const std::string* strings = tensor.data<std::string>();
    return HostTensor::Strings(tensor.shape(), {strings, strings + tensor.elements()});
  }
  return HostTensor::Borrow(tensor.dtype(), tensor.shape(), tensor.raw(),
                            std::make_shared<Tensor>(tensor));
}

}  // namespace onnx_cudnn
