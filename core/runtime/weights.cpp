#include "core/runtime/weights.h"

#include "core/base/counted.h"
#include "core/base/errors.h"
#include "core/base/name_pattern.h"
#include "core/base/parallel.h"
#include "core/io/checkpoint_format.h"
#include "core/io/weights_file.h"
#include "core/model/adapter_names.h"
#include "core/passes/amp.h"
#include "core/passes/optimizer.h"
#include "core/runtime/dynamic_table.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>

namespace ptrain {
namespace {

constexpr const char* variant_key = "variant";  // in a file's metadata

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
      if (shape[1] * shape[2] == 1 && shape[3] == mapping.external_shape[1]) return {};
      return ChannelsLast{shape[0], shape[1] * shape[2], shape[3], mapping.external_shape[1]};
    case WeightMapping::Layout::image_row:
      return ChannelsLast{shape[0], mapping.pixels, shape[1] / mapping.pixels, shape[1] / mapping.pixels};
    case WeightMapping::Layout::transposed:
      return ChannelsLast{1, shape[0], shape[1], shape[1]};
  }
  throw std::logic_error("internal error: a layout without an order");
}

/// Calls visit(here, file) with the indices of every element that the file has, on all threads.
template <typename Visit>
void for_each_element(const ChannelsLast& order, Visit&& visit) {
  const std::int64_t row = order.file_channels * order.pixels;
  parallel_for(order.rows, 1 + (1 << 15) / row, [&](std::int64_t begin, std::int64_t end) {
    auto there = static_cast<std::size_t>(begin * row);
    for (std::int64_t k = begin; k < end; ++k) {
      for (std::int64_t c = 0; c < order.file_channels; ++c) {
        for (std::int64_t pixel = 0; pixel < order.pixels; ++pixel) {
          visit(static_cast<std::size_t>((k * order.pixels + pixel) * order.channels + c), there++);
        }
      }
    }
  });
}

/// The part of `name` before what the network calls it: modules that wrap it in a data-parallel, compiled or Lightning
/// training.
std::string_view wrapper_prefix(std::string_view name) {
  constexpr std::array<std::string_view, 6> wrappers{"module.", "_orig_mod.", "model.",
                                                     "net.",    "network.",   "state_dict."};
  std::size_t end = 0;
  for (bool found = true; found;) {
    found = false;
    for (const std::string_view wrapper : wrappers) {
      if (!name.substr(end).starts_with(wrapper)) continue;
      end += wrapper.size();
      found = true;
    }
  }
  return name.substr(0, end);
}

/// Every name that the model's tensors may have in files.
std::vector<std::string> list_names(const WeightMapping& mapping) {
  std::vector<std::string> names{mapping.external};
  names.insert(names.end(), mapping.other_names.begin(), mapping.other_names.end());
  return names;
}

/// The tensors of a file by the model's names for them.
class TensorsByName {
 public:
  TensorsByName(const WeightsFile& file, const std::vector<WeightMapping>& mappings) : file_(file) {
    std::set<std::string, std::less<>> known;
    for (const WeightMapping& mapping : mappings)
      for (std::string& name : list_names(mapping)) known.insert(std::move(name));
    std::map<std::string, int> hits;  // known names by the prefix before them
    for (const NamedTensor* tensor : file.tensors()) {
      const std::string_view name = tensor->name, prefix = wrapper_prefix(name);
      if (known.contains(name)) ++hits[""];
      if (!prefix.empty() && known.contains(name.substr(prefix.size()))) ++hits[std::string(prefix)];
    }
    const auto most = std::max_element(hits.begin(), hits.end(), [](auto& a, auto& b) { return a.second < b.second; });
    if (most != hits.end()) prefix_ = most->first;
    for (const NamedTensor* tensor : file.tensors()) {
      const std::string_view name = tensor->name;
      if (name.starts_with(prefix_)) by_name_[name.substr(prefix_.size())] = tensor;
    }
  }

  const std::string& prefix() const { return prefix_; }
  /// Without the prefix; tensors whose names lack it are not there.
  const std::map<std::string_view, const NamedTensor*>& all() const { return by_name_; }
  const NamedTensor* find(const std::string& name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second;
  }
  const NamedTensor* find(const WeightMapping& mapping) const {
    for (const std::string& name : list_names(mapping)) {
      if (const NamedTensor* tensor = find(name)) return tensor;
    }
    return nullptr;
  }
  /// Throws Error{failed} for a tensor that is not there, with a name that resembles it.
  [[noreturn]] void fail_missing(const WeightMapping& mapping, const Model& model) const {
    const NamedTensor* similar = nullptr;
    for (const NamedTensor* tensor : file_.tensors()) {
      const bool shorter = similar == nullptr || tensor->name.size() < similar->name.size();
      if (shorter && tensor->name.ends_with("." + mapping.external)) similar = tensor;
    }
    std::string hint;
    if (similar != nullptr) {
      hint = fmt::format("; it has {}: take the prefix off its names", similar->name);
    } else if (file_.path().find("-of-") != std::string::npos) {
      hint = "; one of several files: give their index, or the folder";
    }
    fail("{}: has no tensor {}, which {} needs{}", file_.path(), mapping.external, model.name(), hint);
  }

 private:
  const WeightsFile& file_;
  std::string prefix_;
  std::map<std::string_view, const NamedTensor*> by_name_;
};

/// Tensors that modules keep besides their parameters.
bool is_buffer(const NamedTensor& tensor) {
  constexpr std::array<std::string_view, 7> buffers{"position_ids",           "token_type_ids", ".attn.bias",
                                                    ".attn.masked_bias",      "attn_mask",      "inv_freq",
                                                    "relative_position_index"};
  return !holds_floats(tensor) || std::any_of(buffers.begin(), buffers.end(),
                                              [&](std::string_view name) { return tensor.name.ends_with(name); });
}

/// The modules that make up the body, "layer4" or "encoder", whatever their numbers. A first component that all have
/// ("bert.") is no module.
class BodyModules {
 public:
  explicit BodyModules(const std::vector<WeightMapping>& mappings) {
    std::set<std::string_view> roots;
    for (const WeightMapping& mapping : mappings) {
      if (mapping.part == WeightMapping::Part::body) roots.insert(first_component(mapping.external));
    }
    if (roots.size() == 1) root_ = std::string(*roots.begin()) + ".";
    for (const WeightMapping& mapping : mappings) {
      if (mapping.part != WeightMapping::Part::body) continue;
      for (const std::string& name : list_names(mapping)) modules_.insert(std::string(module_name(name)));
    }
  }
  bool contains(std::string_view name) const { return modules_.contains(module_name(name)); }

 private:
  static std::string_view first_component(std::string_view name) { return name.substr(0, name.find('.')); }
  /// Without its number. A root of numbered layers, "features.3.", is the module itself.
  std::string_view module_name(std::string_view name) const {
    const bool rooted = !root_.empty() && name.starts_with(root_);
    const std::string_view below = rooted ? name.substr(root_.size()) : name;
    const std::string_view module =
        first_component(rooted && below.find_first_not_of("0123456789.") == 0 ? below : name);
    return module.substr(0, module.find_last_not_of("0123456789") + 1);
  }

  std::string root_;
  std::set<std::string, std::less<>> modules_;
};

bool all_finite(std::span<const float> values) {
  std::atomic<bool> finite{true};
  parallel_for(std::ssize(values), 1 << 15, [&](std::int64_t begin, std::int64_t end) {
    bool all = true;
    for (std::int64_t i = begin; i < end; ++i) all &= std::isfinite(values[static_cast<std::size_t>(i)]);
    if (!all) finite = false;
  });
  return finite;
}

/// Reads a tensor's values. Throws Error{failed} if one is not finite; `name` is the model's name for the tensor.
void read_finite(const NamedTensor& tensor, const std::filesystem::path& path, const std::string& name,
                 std::span<float> values) {
  read_floats(tensor, values);
  if (all_finite(values)) return;
  const auto bad = std::find_if(values.begin(), values.end(), [](float value) { return !std::isfinite(value); });
  fail("{}: {}: element {} is {}: the weights are from a diverged training, or damaged", path.string(), name,
       bad - values.begin(), *bad);
}

std::vector<float> finite_values(const NamedTensor& tensor, const std::filesystem::path& path,
                                 const std::string& name) {
  std::vector<float> values(static_cast<std::size_t>(tensor.shape.count()));
  read_finite(tensor, path, name, values);
  return values;
}

/// Throws Error{failed} for a variance below zero, whose square root a norm would take.
void require_variances(std::span<const float> values, const std::filesystem::path& path, const std::string& name) {
  constexpr float rounding = 1e-6f;  // of mean squares less squared means
  const auto bad = std::find_if(values.begin(), values.end(), [](float value) { return value < -rounding; });
  if (bad == values.end()) return;
  fail("{}: {}: element {} is {}: a variance is not below zero; the file is damaged, or its norms are of another kind",
       path.string(), name, bad - values.begin(), *bad);
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

/// Whether a file has the filters of one of the images that the model stacks.
bool is_one_image(const Shape& file, const WeightMapping& mapping) {
  if (mapping.stacked_images == 1 || file.rank() != 4) return false;
  const Shape& all = mapping.external_shape;
  return file == Shape{all[0], all[1] / mapping.stacked_images, all[2], all[3]};
}

/// Filters [K,C,R,S] of stacked images from those of one image; see WeightMapping::stacked_images.
std::vector<float> stack_filters(std::span<const float> one_image, const WeightMapping& mapping) {
  const Shape& shape = mapping.external_shape;
  const auto pixels = static_cast<std::size_t>(shape[2] * shape[3]), channels = static_cast<std::size_t>(shape[1]);
  const auto images = static_cast<std::size_t>(mapping.stacked_images), own = channels / images;
  std::vector<float> stacked(static_cast<std::size_t>(shape.count()));
  for (std::size_t i = 0; i < stacked.size(); ++i) {
    const std::size_t filter = i / (channels * pixels), pixel = i % pixels;
    double sum = 0;
    for (std::size_t c = 0; c < own; ++c) sum += one_image[(filter * own + c) * pixels + pixel];
    stacked[i] = static_cast<float>(sum / static_cast<double>(channels));
  }
  return stacked;
}

/// The name that a model's variable has in `variables`: it may be there in low precision, or in blocks, alone.
std::string stored_name(const Variables& variables, const std::string& name) {
  if (variables.contains(name)) return name;
  for (const DType low : {DType::bf16, DType::f16}) {
    if (std::string other = low_precision_name(name, low); variables.contains(other)) return other;
  }
  for (const BlockFormat format : block_formats) {
    if (std::string other = block_weights_name(name, format); variables.contains(other)) return other;
  }
  return name;
}

/// The shape that the model declares for a stored variable.
Shape declared_shape(const Variables& variables, const std::string& name) {
  const Shape& stored = variables.at(name).desc.shape;
  const auto blocks = find_block_weights(name);
  if (!blocks) return stored;
  return Shape{stored[0], stored[1] / block_bytes(blocks->format) * block_elements(blocks->format)};
}

/// A stored variable's values, of weights in blocks those that they stand for.
std::vector<float> read_values(const Variables& variables, const std::string& name) {
  const auto blocks = find_block_weights(name);
  if (!blocks) return variables.read_f32(name);
  std::vector<std::byte> storage;
  std::vector<float> values(static_cast<std::size_t>(declared_shape(variables, name).count()));
  dequantize_blocks(blocks->format, variables.host_bytes(name, storage), values);
  return values;
}

/// Writes a variable in the precision that it is stored in.
void write_values(Variables& variables, const std::string& name, std::span<const float> values) {
  if (const auto blocks = find_block_weights(name)) {
    std::vector<std::byte> bytes(variables.at(name).desc.bytes());
    quantize_blocks(blocks->format, values, bytes);
    return variables.write(name, bytes.data(), bytes.size());
  }
  const DType dtype = variables.at(name).desc.dtype;
  if (!is_low_precision(dtype)) return variables.write(name, values.data(), values.size_bytes());
  visit_floating(dtype, [&](auto zero) {
    using Low = decltype(zero);
    std::vector<Low> low(values.size());
    std::transform(values.begin(), values.end(), low.begin(), [](float value) { return Low(value); });
    variables.write(name, low.data(), low.size() * sizeof(Low));
  });
}

/// Calls set(values) with a variable's values, in place if the host can write them there: the present ones where they
/// are `kept`, else anything.
template <typename Set>
void set_values(Variables& variables, const std::string& name, bool kept, Set&& set) {
  if (const std::span<float> own = variables.host_floats(name); !own.empty()) return set(own);
  const auto count = static_cast<std::size_t>(declared_shape(variables, name).count());
  std::vector<float> values = kept ? read_values(variables, name) : std::vector<float>(count);
  set(std::span(values));
  write_values(variables, name, values);
}

/// Rows of a dynamic table get their values when they are made.
void initialize_variable(const ModelVariable& variable, Variables& variables, std::uint64_t seed) {
  if (variable.is_dynamic) return;
  const std::string name = stored_name(variables, variable.name);
  const auto blocks = find_block_weights(name);
  if (blocks && !is_rounded(blocks->format)) return;  // copied from the file that has it in this format
  set_values(variables, name, false, [&](std::span<float> values) {
    initialize(variable.initializer, variable.shape, variable.name, seed, values);
  });
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
    const std::string_view master = std::string_view(name).substr(0, name.rfind('@'));
    if (variables.contains(master)) write_values(variables, name, variables.read_f32(master));
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

BlockFormats find_block_formats(const std::filesystem::path& path, const Model& model) {
  const WeightsFile file(path);
  const std::vector<WeightMapping> mappings = model.weights();
  const TensorsByName tensors(file, mappings);
  std::map<std::string, std::optional<BlockFormat>, std::less<>> formats;
  for (const WeightMapping& mapping : mappings) {
    const NamedTensor* tensor = tensors.find(mapping);
    std::optional<BlockFormat> format = tensor == nullptr ? std::nullopt : find_block_format(*tensor);
    if (format && !is_rounded(*format) && mapping.layout != WeightMapping::Layout::rows) format = BlockFormat::q8_0;
    const auto [known, added] = formats.try_emplace(mapping.variable, format);
    if (added || known->second == format) continue;
    known->second = known->second && format ? std::optional(BlockFormat::q8_0) : std::nullopt;
  }
  return [formats](std::string_view parameter) {
    const auto found = formats.find(parameter);
    return found == formats.end() ? std::nullopt : found->second;
  };
}

BlockFormats choose_block_format(BlockFormat format) {
  return [format](std::string_view parameter) {
    return matches_pattern(adapter_names::all_others, parameter) ? std::optional(format) : std::nullopt;
  };
}

namespace {

/// Puts a file's tensor in its place among a variable's values.
void put_in_place(const NamedTensor& tensor, const std::filesystem::path& path, const WeightMapping& mapping,
                  const Shape& shape, std::span<float> values) {
  const bool one_image = is_one_image(tensor.shape, mapping);
  if (!one_image && !channels_last(mapping, shape)) {
    const std::int64_t row = shape.rank() == 0 ? 1 : shape.count() / shape[0];
    return read_finite(tensor, path, mapping.external,
                       values.subspan(static_cast<std::size_t>(mapping.row_begin * row),
                                      static_cast<std::size_t>(tensor.shape.count())));
  }
  std::vector<float> external = finite_values(tensor, path, mapping.external);
  if (one_image) external = stack_filters(external, mapping);
  from_external(mapping, shape, external, values);
}

/// Writes a tensor's rows into a variable in blocks: its own blocks where it has that format, else `values`.
void write_block_rows(const NamedTensor& tensor, std::span<const float> values, std::int64_t row_begin,
                      Variables& variables, const std::string& name) {
  const TensorDesc& desc = variables.at(name).desc;
  const BlockFormat format = find_block_weights(name)->format;
  std::vector<std::byte> rows(static_cast<std::size_t>(bytes_in_blocks(format, std::ssize(values))));
  if (find_block_format(tensor) == format) {
    rows = copy_blocks(tensor);
  } else {
    quantize_blocks(format, values, rows);
  }
  std::vector<std::byte> all(desc.bytes());
  variables.read(name, all.data(), all.size());
  std::ranges::copy(rows, all.begin() + row_begin * desc.shape[1]);
  variables.write(name, all.data(), all.size());
}

}  // namespace

void read_tensor(const NamedTensor& tensor, const std::filesystem::path& path, const WeightMapping& mapping,
                 Variables& variables, const NamedTensor* more) {
  if (tensor.shape.count() == 0) return;  // a dynamic table without a row
  const std::string name = stored_name(variables, mapping.variable);
  const Shape shape = declared_shape(variables, name);
  const bool is_whole = mapping.external_shape.count() == shape.count();
  const bool in_blocks = find_block_weights(name).has_value();
  invariant(!in_blocks || more == nullptr, "weights in blocks are the sum of two tensors");
  if (in_blocks && mapping.layout == WeightMapping::Layout::rows) {
    return write_block_rows(tensor, finite_values(tensor, path, mapping.external), mapping.row_begin, variables, name);
  }
  set_values(variables, name, !is_whole, [&](std::span<float> values) {
    put_in_place(tensor, path, mapping, shape, values);
    if (more != nullptr) add_first_row(*more, path, shape, values);
    if (is_running_variance(mapping.variable)) require_variances(values, path, mapping.external);
  });
}

namespace {

/// Throws Error{failed} where parameters of the body are left over.
void require_no_body(const std::vector<std::string>& unused, const std::vector<WeightMapping>& mappings,
                     const std::filesystem::path& path, const Model& model) {
  const BodyModules body(mappings);
  std::vector<std::string> left;
  std::copy_if(unused.begin(), unused.end(), std::back_inserter(left),
               [&](const std::string& name) { return body.contains(name); });
  if (left.empty()) return;
  fail(
      "{}: has {} that {} has no place for: {}; weights of another or a deeper network? model.weights_strict: false "
      "leaves them out",
      path.string(), counted(static_cast<std::int64_t>(left.size()), "tensor"), model.name(), name_some(left));
}

}  // namespace

std::string name_some(const std::vector<std::string>& names) {
  constexpr std::size_t most = 4;
  const std::vector<std::string> some(names.begin(),
                                      names.begin() + static_cast<std::ptrdiff_t>(std::min(most, names.size())));
  return fmt::format("{}{}", fmt::join(some, ", "),
                     names.size() > most ? fmt::format(" and {} more", names.size() - most) : "");
}

namespace {

/// The model's tensors in files; of dynamic tables, with that many rows.
std::vector<WeightMapping> list_mappings(const Model& model, std::int64_t rows) {
  std::vector<WeightMapping> mappings = model.weights();
  const auto dynamic = list_dynamic_tables(model);
  for (WeightMapping& mapping : mappings) {
    if (dynamic.contains(mapping.variable)) mapping.external_shape = Shape{rows, mapping.external_shape[-1]};
  }
  return mappings;
}

/// A checkpoint's parameters have no names of their own.
void require_weights(const WeightsFile& file) {
  if (!is_of_checkpoint(file.metadata())) return;
  fail("{}: is a checkpoint, which --resume goes on from; its weights are those that the run has in model.safetensors",
       file.path());
}

/// The keys of a dynamic table's rows; null for models without.
const NamedTensor* find_keys(const WeightsFile& file, const Variables& variables) {
  if (!has_row_index(variables)) return nullptr;
  for (const NamedTensor* tensor : file.tensors()) {
    if (tensor->name == row_index::keys && tensor->dtype == DType::i64 && tensor->shape.rank() == 1) return tensor;
  }
  fail("{}: has no {}: it was not trained with model.dynamic_table", file.path(), row_index::keys);
}

using FoundTensors = std::vector<std::pair<const WeightMapping*, const NamedTensor*>>;

/// Initialises the variables that tensors of a file do not fill.
void initialize_rest(const std::vector<ModelVariable>& declared, const FoundTensors& found, Variables& variables,
                     std::uint64_t seed) {
  std::map<std::string_view, std::int64_t> filled;  // elements
  for (const auto& [mapping, tensor] : found) filled[mapping->variable] += mapping->external_shape.count();
  for (const ModelVariable& variable : declared) {
    if (filled[variable.name] < variable.shape.count()) initialize_variable(variable, variables, seed);
  }
}

}  // namespace

LoadedWeights load_weights(const std::filesystem::path& path, const Model& model, Variables& variables,
                           LeftOver left_over, std::uint64_t seed) {
  const WeightsFile file(path);
  require_weights(file);
  const std::vector<ModelVariable> declared = model.variables();
  const NamedTensor* keys = find_keys(file, variables);
  if (keys != nullptr) set_row_count(variables, keys->shape.count(), file.path());
  const RowsInUse rows_in_use(model, variables);
  const std::vector<WeightMapping> mappings = list_mappings(model, keys == nullptr ? 0 : keys->shape.count());
  const TensorsByName tensors(file, mappings);
  LoadedWeights result;
  result.prefix = tensors.prefix();
  if (const auto variant = file.metadata().find(variant_key); variant != file.metadata().end())
    result.variant = variant->second;
  std::set<const NamedTensor*> used;
  const WeightMapping *missing_adapter = nullptr, *found_adapter = nullptr;
  FoundTensors found;
  for (const WeightMapping& mapping : mappings) {
    const NamedTensor* tensor = tensors.find(mapping);
    const bool fits =
        tensor != nullptr && (tensor->shape == mapping.external_shape || is_one_image(tensor->shape, mapping));
    if (tensor != nullptr) used.insert(tensor);
    const bool may_differ =
        tensor == nullptr ? mapping.part != WeightMapping::Part::body : mapping.part == WeightMapping::Part::classifier;
    if (mapping.part == WeightMapping::Part::adapter) {
      (tensor == nullptr ? missing_adapter : found_adapter) = &mapping;
      if (tensor == nullptr) continue;
    }
    if (!fits && may_differ) {
      result.fresh.push_back(mapping.external);
      continue;
    }
    if (tensor == nullptr) tensors.fail_missing(mapping, model);
    if (!fits) {
      fail("{}: {} has shape {}, expected {}", file.path(), mapping.external, tensor->shape.to_string(),
           mapping.external_shape.to_string());
    }
    found.emplace_back(&mapping, tensor);
  }
  initialize_rest(declared, found, variables, seed);
  for (const auto& [mapping, tensor] : found) {
    const NamedTensor* more = mapping->added_row.empty() ? nullptr : tensors.find(mapping->added_row);
    if (more != nullptr) used.insert(more);
    read_tensor(*tensor, file.path(), *mapping, variables, more);
  }
  if (keys != nullptr) write_row_keys(variables, keys->bytes);
  if (missing_adapter != nullptr && found_adapter != nullptr) tensors.fail_missing(*missing_adapter, model);
  result.lacks_adapters = missing_adapter != nullptr;
  file.check();
  for (const auto& [name, tensor] : tensors.all()) {
    if (!used.contains(tensor) && !is_buffer(*tensor)) result.unused.emplace_back(name);
  }
  if (left_over == LeftOver::refused) require_no_body(result.unused, mappings, file.path(), model);
  refresh_low_precision(variables, LowPrecisionCopies::all);
  return result;
}

void save_weights(const std::filesystem::path& path, const Model& model, const Variables& variables,
                  std::int64_t steps) {
  const std::vector<std::int64_t> used_rows = list_used_rows(variables);
  const auto dynamic = list_dynamic_tables(model);
  const std::vector<WeightMapping> mappings = list_mappings(model, std::ssize(used_rows));
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
  if (has_row_index(variables)) declare(row_index::keys, DType::i64, Shape{std::ssize(used_rows)});
  SafetensorsMetadata metadata = own_metadata;
  if (const std::string variant = model.variant(); !variant.empty()) metadata[variant_key] = variant;
  std::vector<float> values;
  std::vector<std::int64_t> keys;
  write_safetensors(path, tensors, metadata, [&](const NamedTensor& tensor) {
    if (tensor.name == row_index::keys) {
      keys = gather_rows<std::int64_t>(variables, row_index::keys, used_rows);
      return std::as_bytes(std::span<const std::int64_t>(keys));
    }
    if (tensor.dtype == DType::i64) return std::as_bytes(std::span(&steps, 1));
    const WeightMapping& mapping = *by_name.at(tensor.name);
    const std::string name = stored_name(variables, mapping.variable);
    if (dynamic.contains(name)) {
      values = gather_rows<float>(variables, name, used_rows);
      return std::as_bytes(std::span<const float>(values));
    }
    values = to_external(mapping, declared_shape(variables, name), read_values(variables, name));
    return std::as_bytes(std::span<const float>(values));
  });
}

}  // namespace ptrain
