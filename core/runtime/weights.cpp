#include "core/runtime/weights.h"

#include "core/base/errors.h"
#include "core/io/safetensors.h"
#include "core/passes/optimizer.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <stdexcept>

namespace ptrain {
namespace {

/// Layouts of a variable here, with channels innermost, and in files, with pixels innermost.
struct ChannelsLast {
  std::int64_t rows, pixels;
  std::int64_t channels, file_channels;  // per pixel
};

/// None if the order is the same in both.
std::optional<ChannelsLast> channels_last(const WeightMapping& mapping, const Shape& shape) {
  switch (mapping.layout) {
    case WeightMapping::Layout::rows:
      return {};
    case WeightMapping::Layout::conv_krsc:
      return ChannelsLast{shape[0], shape[1] * shape[2], shape[3], mapping.external_shape[1]};
    case WeightMapping::Layout::image_row:
      return ChannelsLast{shape[0], mapping.pixels, shape[1] / mapping.pixels, shape[1] / mapping.pixels};
    case WeightMapping::Layout::transposed:
      return ChannelsLast{1, shape[0], shape[1], shape[1]};
  }
  throw std::logic_error("internal error: a layout without an order");
}

/// Calls visit(here, file) with the indices of every element that the file has.
template <typename Visit>
void for_each_element(const ChannelsLast& order, Visit&& visit) {
  std::size_t there = 0;
  for (std::int64_t k = 0; k < order.rows; ++k) {
    for (std::int64_t c = 0; c < order.file_channels; ++c) {
      for (std::int64_t pixel = 0; pixel < order.pixels; ++pixel) {
        visit(static_cast<std::size_t>((k * order.pixels + pixel) * order.channels + c), there++);
      }
    }
  }
}

const NamedTensor* find_tensor(const SafetensorsFile& file, const WeightMapping& mapping) {
  const NamedTensor* tensor = file.find(mapping.external);
  for (auto name = mapping.other_names.begin(); tensor == nullptr && name != mapping.other_names.end(); ++name) {
    tensor = file.find(*name);
  }
  return tensor;
}

/// Throws Error{failed} if a value is not finite; `name` is the model's name for the tensor.
std::vector<float> finite_values(const NamedTensor& tensor, const std::filesystem::path& path,
                                 const std::string& name) {
  std::vector<float> values = to_floats(tensor);
  const auto bad = std::find_if(values.begin(), values.end(), [](float value) { return !std::isfinite(value); });
  if (bad != values.end()) {
    fail("{}: {}: element {} is {}: the weights are from a diverged training, or damaged", path.string(), name,
         bad - values.begin(), *bad);
  }
  return values;
}

/// Adds tensors that files keep separately but models sum: the first row of `more` to each row of `values`.
void add_first_row(const NamedTensor& more, const std::filesystem::path& path, const Shape& shape,
                   std::span<float> values) {
  const auto width = static_cast<std::size_t>(shape[-1]);
  if (more.shape.rank() != 2 || more.shape[1] != shape[-1] || more.shape[0] < 1) {
    fail("{}: {} has shape {}, expected [..., {}]", path.string(), more.name, more.shape.to_string(), width);
  }
  const std::vector<float> rows = finite_values(more, path, more.name);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += rows[i % width];
}

void initialize_variable(const ModelVariable& variable, Variables& variables, std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(variable.shape.count()));
  initialize(variable.initializer, variable.shape, variable.name, seed, values);
  variables.write(variable.name, values.data(), values.size() * sizeof(float));
}

}  // namespace

void initialize_variables(const Model& model, Variables& variables, std::uint64_t seed) {
  for (const ModelVariable& variable : model.variables()) initialize_variable(variable, variables, seed);
  refresh_low_precision(variables, LowPrecisionCopies::all);
}

void refresh_low_precision(Variables& variables, LowPrecisionCopies which) {
  for (const auto& [name, entry] : variables.entries()) {
    if (entry.storage != Storage::parameter || !is_low_precision(entry.desc.dtype)) continue;
    if (which == LowPrecisionCopies::untrained && entry.view) continue;  // the update writes its flat buffer
    const std::vector<float> master = variables.read_f32(std::string_view(name).substr(0, name.rfind('@')));
    visit_floating(entry.desc.dtype, [&, &entry_name = name, &desc = entry.desc](auto zero) {
      using Low = decltype(zero);
      std::vector<Low> low(master.size());
      std::transform(master.begin(), master.end(), low.begin(), [](float value) { return Low(value); });
      variables.write(entry_name, low.data(), desc.bytes());
    });
  }
}

std::vector<std::pair<std::string, std::string>> find_averages(const Variables& variables) {
  std::vector<std::pair<std::string, std::string>> found;
  for (const auto& [name, entry] : variables.entries()) {
    if (name.starts_with(flat::average_of)) found.emplace_back(name.substr(flat::average_of.size()), name);
  }
  return found;
}

void AveragedWeights::exchange() {
  if (!variables_.contains(flat::average)) return;
  variables_.exchange(flat::master, flat::average);
  for (const auto& [of, average] : find_averages(variables_)) variables_.exchange(of, average);
  refresh_low_precision(variables_, LowPrecisionCopies::all);
}

std::vector<float> to_external(const WeightMapping& mapping, const Shape& shape, std::span<const float> values) {
  std::vector<float> external(static_cast<std::size_t>(mapping.external_shape.count()));
  if (const auto order = channels_last(mapping, shape)) {
    for_each_element(*order, [&](std::size_t here, std::size_t there) { external[there] = values[here]; });
  } else {
    const std::int64_t row = shape.rank() == 0 ? 1 : shape.count() / shape[0];
    std::copy_n(values.begin() + mapping.row_begin * row, external.size(), external.begin());
  }
  return external;
}

void from_external(const WeightMapping& mapping, const Shape& shape, std::span<const float> external,
                   std::span<float> values) {
  if (const auto order = channels_last(mapping, shape)) {
    for_each_element(*order, [&](std::size_t here, std::size_t there) { values[here] = external[there]; });
  } else {
    const std::int64_t row = shape.rank() == 0 ? 1 : shape.count() / shape[0];
    std::copy(external.begin(), external.end(), values.begin() + mapping.row_begin * row);
  }
}

LoadedWeights load_weights(const std::filesystem::path& path, const Model& model, Variables& variables) {
  const SafetensorsFile file(path);
  LoadedWeights result;
  std::set<const NamedTensor*> used;
  const std::vector<ModelVariable> declared = model.variables();
  for (const ModelVariable& variable : declared)
    for (const WeightMapping& mapping : variable.files) {
      const NamedTensor* tensor = find_tensor(file, mapping);
      const bool fits = tensor != nullptr && tensor->shape == mapping.external_shape;
      if (tensor != nullptr) used.insert(tensor);
      if (!fits && mapping.head) {
        result.fresh.push_back(mapping.external);
        continue;
      }
      if (tensor == nullptr)
        fail("{}: has no tensor {}, which {} needs", path.string(), mapping.external, model.name());
      if (!fits) {
        fail("{}: {} has shape {}, expected {}", path.string(), mapping.external, tensor->shape.to_string(),
             mapping.external_shape.to_string());
      }
      const std::vector<float> external = finite_values(*tensor, path, mapping.external);
      std::vector<float> values = variables.read_f32(mapping.variable);
      const Shape& shape = variables.at(mapping.variable).desc.shape;
      from_external(mapping, shape, external, values);
      if (const NamedTensor* more = mapping.added_row.empty() ? nullptr : file.find(mapping.added_row)) {
        used.insert(more);
        add_first_row(*more, path, shape, values);
      }
      variables.write(mapping.variable, values.data(), values.size() * sizeof(float));
    }
  for (const ModelVariable& variable : declared) {
    if (variable.files.empty()) initialize_variable(variable, variables, 0);  // constant, and not in files
  }
  file.check();
  for (const NamedTensor& tensor : file.tensors()) {
    if (!used.contains(&tensor)) result.unused.push_back(tensor.name);
  }
  refresh_low_precision(variables, LowPrecisionCopies::all);
  return result;
}

void save_weights(const std::filesystem::path& path, const Model& model, const Variables& variables,
                  std::int64_t steps) {
  const std::vector<WeightMapping> mappings = model.weights();
  std::map<std::string_view, const WeightMapping*> by_name;
  std::vector<NamedTensor> tensors;
  const auto declare = [&](const std::string& name, DType dtype, const Shape& shape) {
    const std::size_t bytes = element_size(dtype) * static_cast<std::size_t>(shape.count());
    tensors.push_back({name, dtype, shape, {static_cast<const std::byte*>(nullptr), bytes}});
  };
  for (const WeightMapping& mapping : mappings) {
    by_name[mapping.external] = &mapping;
    declare(mapping.external, DType::f32, mapping.external_shape);
    if (!mapping.step_counter.empty()) declare(mapping.step_counter, DType::i64, Shape{});
  }
  std::vector<float> values;
  write_safetensors(path, tensors, {{"format", "pt"}}, [&](const NamedTensor& tensor) {
    if (tensor.dtype == DType::i64) return std::as_bytes(std::span(&steps, 1));
    const WeightMapping& mapping = *by_name.at(tensor.name);
    values = to_external(mapping, variables.at(mapping.variable).desc.shape, variables.read_f32(mapping.variable));
    return std::as_bytes(std::span<const float>(values));
  });
}

}  // namespace ptrain
