#include "core/runtime/deployed_model.h"

#include "core/base/errors.h"
#include "core/base/hash.h"
#include "core/data/tensor_names.h"
#include "core/exec/kernel_timing.h"
#include "core/io/safetensors.h"
#include "core/ops/text/cached_attention.h"
#include "core/runtime/adapter.h"
#include "core/runtime/dynamic_table.h"
#include "core/runtime/feeder.h"
#include "core/runtime/weights.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace ptrain {
namespace {

/// The model's variables; those that `deployed` has in blocks alone are in blocks.
Graph list_variables(const Model& model, const Variables& deployed) {
  std::map<std::string, std::string> in_blocks;  // names by that of the parameter
  for (const auto& [name, entry] : deployed.entries()) {
    if (const auto blocks = find_block_weights(name)) in_blocks[blocks->parameter] = name;
  }
  const Graph declared = model.build(1, Mode::evaluation);
  Graph listed;
  for (const Value& value : declared.values()) {
    if (value.storage != Storage::parameter && value.storage != Storage::state) continue;
    const auto found = in_blocks.find(value.name);
    const bool replaced = found != in_blocks.end() && !deployed.contains(value.name);
    listed.add_value(replaced ? found->second : value.name, replaced ? deployed.at(found->second).desc : value.desc,
                     value.storage);
  }
  return listed;
}

/// Reads the model's variables from its weights file, and its adapters from theirs.
Variables read_weights(DeviceMemory& memory, const Model& model, const TrainedWeights& weights,
                       const Variables& deployed) {
  const std::filesystem::path& path = weights.file;
  Variables variables(memory);
  variables.declare(list_variables(model, deployed));
  variables.allocate();
  const LoadedWeights loaded = load_weights(path, model, variables);
  if (!loaded.fresh.empty())
    fail("{}: has no {} of the shape that {} needs", path.string(), loaded.fresh.front(), model.name());
  if (!weights.adapter.empty()) {
    load_adapter(weights.adapter, model, variables);
  } else if (loaded.lacks_adapters) {
    fail("{}: has no adapters, which {} needs", path.string(), model.name());
  }
  return variables;
}

void write(Variables& variables, const std::string& name, std::span<const float> values) {
  variables.write(name, values.data(), values.size_bytes());
}

/// Computes the parameters of convolutions from the model's.
class ConvolutionWriter {
 public:
  ConvolutionWriter(const Variables& from, Variables& to) : from_(from), to_(to) {}

  void fold(const FoldedNorm& norm) {
    std::vector<float> filters = from_.read_f32(norm.filters);
    const std::vector<float> gamma = from_.read_f32(norm.gamma), beta = from_.read_f32(norm.beta),
                             mean = from_.read_f32(norm.mean), variance = from_.read_f32(norm.variance);
    std::vector<float> before;
    if (!norm.bias.empty()) before = from_.read_f32(norm.bias);
    std::vector<float> bias = fold_norm({gamma, beta, mean, variance, norm.epsilon, before}, filters);
    put(norm.folded_filters, std::move(filters));
    put(norm.folded_bias, std::move(bias));
  }

  void merge(const MergedConvolution& merged) {
    const Shape& shape = merged.parts.front().shape;
    std::vector<float> filters(static_cast<std::size_t>(shape.count())), bias(static_cast<std::size_t>(shape[0]));
    for (const MergedConvolution::Part& part : merged.parts) {
      const std::vector<float> own_filters = take(part.filters);
      const std::vector<float> own_bias = part.bias.empty() ? std::vector<float>() : take(part.bias);
      const float scale = part.scale.empty() ? 1 : from_.read_f32(part.scale).front();
      add_convolution({own_filters, own_bias, scale}, part.shape, shape, filters, bias);
    }
    put(merged.filters, std::move(filters));
    put(merged.bias, std::move(bias));
  }

  void finish() const { invariant(parts_.empty(), "a folded convolution is in no deployed graph"); }

 private:
  void put(const std::string& name, std::vector<float> values) {
    if (to_.contains(name)) {
      write(to_, name, values);
    } else {
      parts_[name] = std::move(values);
    }
  }
  std::vector<float> take(const std::string& name) {
    if (auto part = parts_.extract(name)) return std::move(part.mapped());
    return from_.read_f32(name);
  }

  const Variables& from_;
  Variables& to_;
  std::map<std::string, std::vector<float>> parts_;  // of convolutions that are still to be merged
};

void require_sound(std::span<const float> values, const std::string& file, const std::string& name) {
  const bool scales = name.ends_with(weight_scale_name(""));
  for (const float value : values) {
    if (!std::isfinite(value)) fail("{}: {}: has the value {}: damaged", file, name, value);
    if (scales && !(value > 0)) fail("{}: {}: expected scales above 0, got {}", file, name, value);
  }
}

/// Fills the deployed graph's variables from the model's.
void write_deployed(std::span<const FoldedNorm> folded, std::span<const MergedConvolution> merged,
                    const Variables& from, Variables& to) {
  ConvolutionWriter convolutions(from, to);
  for (const FoldedNorm& norm : folded) convolutions.fold(norm);
  for (const MergedConvolution& convolution : merged) convolutions.merge(convolution);
  convolutions.finish();
  std::vector<std::byte> storage;
  for (const auto& [name, entry] : to.entries()) {
    if (name == row_index::slots) continue;  // filled from the keys
    if (from.contains(name)) {
      const std::span<const std::byte> bytes = from.host_bytes(name, storage);
      to.write(name, bytes.data(), bytes.size());
    } else if (const auto blocks = find_block_weights(name); blocks && from.contains(blocks->parameter)) {
      storage.resize(entry.desc.bytes());
      quantize_blocks(blocks->format, from.read_f32(blocks->parameter), storage);
      to.write(name, storage.data(), storage.size());
    }
  }
}

/// Reads the variables of a quantized graph from its weights file.
void read_quantized(const std::filesystem::path& path, Variables& variables) {
  const SafetensorsFile file(path);
  for (const auto& [name, entry] : variables.entries()) {
    if (is_low_precision(entry.desc.dtype)) continue;
    const NamedTensor& tensor = file.at(name);
    if (tensor.dtype != entry.desc.dtype || tensor.shape != entry.desc.shape) {
      fail("{}: {} is {}{}, expected {}", path.string(), name, to_string(tensor.dtype), tensor.shape.to_string(),
           entry.desc.to_string());
    }
    if (entry.desc.dtype == DType::f32) require_sound(to_floats(tensor), path.string(), name);
    variables.write(name, tensor.bytes.data(), tensor.bytes.size());
  }
  file.check();
}

/// Rescales weights for a backend that adds pairs of products in 16 bits.
void keep_from_saturating(Variables& variables) {
  for (const auto& [name, entry] : variables.entries()) {
    if (entry.desc.dtype != DType::s8 || entry.storage != Storage::parameter) continue;
    const std::string scale_name = weight_scale_name(name.substr(0, name.rfind('@')));
    QuantizedWeights weights{std::vector<std::int8_t>(entry.desc.bytes()), variables.read_f32(scale_name)};
    variables.read(name, weights.values.data(), weights.values.size());
    keep_from_saturating(weights);
    variables.write(name, weights.values.data(), weights.values.size());
    write(variables, scale_name, weights.scales);
  }
}

/// Fills a quantized graph's variables from those of its source, the deployed graph.
void write_quantized(const Variables& from, Variables& to) {
  for (const auto& [name, entry] : to.entries()) {
    if (from.contains(name)) write(to, name, from.read_f32(name));
    if (entry.desc.dtype != DType::s8) continue;
    const std::string weights = name.substr(0, name.rfind('@'));
    const QuantizedWeights quantized = quantize_weights(from.read_f32(weights), entry.desc.shape[0]);
    to.write(name, quantized.values.data(), quantized.values.size());
    write(to, weight_scale_name(weights), quantized.scales);
  }
}

/// The extents of the plan that runs a batch of `rows` and the extents of `batch`.
Bucket plan_bucket(const Model& model, const DeployOptions& options, std::int64_t rows, Mode mode,
                   const Bucket& batch) {
  Bucket extents(rows, {{extent_names::tokens, batch.tokens()}});
  const ImageSize usual = options.image_size;
  if (usual.is_given() && (batch.height() != usual.height || batch.width() != usual.width)) {
    extents.set(extent_names::height, batch.height()).set(extent_names::width, batch.width());
  }
  if (options.cache) {
    extents.set(extent_names::cache_slots, options.rows(Mode::decoding))
        .set(extent_names::cache_length, options.cache->length);
  }
  return model.bucket_for(extents, mode);
}

Bucket largest_bucket(const DeployOptions& options, std::int64_t rows, Mode mode) {
  return {rows, {{extent_names::tokens, mode == Mode::decoding ? rows : rows * options.max_length}}};
}

/// The number in `text`, if it divides `rows`.
std::optional<std::int64_t> read_rows_at_once(const std::string& text, std::int64_t rows) {
  std::int64_t at_once = 0;
  std::from_chars(text.data(), text.data() + text.size(), at_once);
  if (at_once < 1 || rows % at_once != 0) return std::nullopt;
  return at_once;
}

struct BuiltDeployment {
  DeployedGraph deployed;
  std::vector<std::string> outputs;  // the model's own
};

BuiltDeployment build_deployment(const Model& model, const Task& task, const DeployOptions& options,
                                 const std::optional<QuantizationScheme>& scheme, const Bucket& bucket, Mode mode) {
  PipelineOptions pipeline;
  pipeline.amp = options.amp;
  pipeline.amp.constant_weights = true;
  pipeline.quantization = scheme;
  pipeline.block_weights = options.block_weights;
  Graph forward = model.build(bucket, mode);
  if (options.cache) set_cache_dtype(forward, options.cache->dtype);
  task.postprocess(forward);
  std::vector<std::string> outputs = names_of_outputs(forward);
  DeployedGraph deployed = build_deployed_graph(forward, outputs, pipeline);
  return {std::move(deployed), std::move(outputs)};
}

}  // namespace

std::int64_t estimate_deployed_memory(const Model& model, const Task& task, const DeployOptions& options,
                                      const KernelLibrary& kernels) {
  const std::vector<Mode> modes =
      options.cache ? std::vector{Mode::prefill, Mode::decoding} : std::vector{Mode::deployment};
  std::int64_t weights = 0, caches = 0, arena = 0, inputs = 0;
  for (const Mode mode : modes) {
    const std::int64_t rows = options.rows(mode);
    const Bucket bucket = plan_bucket(model, options, rows, mode, largest_bucket(options, rows, mode));
    const Graph graph = build_deployment(model, task, options, {}, bucket, mode).deployed.graph;
    arena = std::max(arena, plan_memory(graph, MemoryReuse::on, kernels, options.kernels).arena_bytes);
    std::int64_t parameters = 0, states = 0;
    for (const Value& value : graph.values()) {
      const auto bytes = static_cast<std::int64_t>(value.desc.bytes());
      if (value.storage == Storage::input) inputs += bytes;
      if (value.storage == Storage::parameter && value.base == no_value) parameters += bytes;
      if (value.storage == Storage::state && value.base == no_value) states += bytes;
    }
    weights = std::max(weights, parameters);
    caches = std::max(caches, states);
  }
  return 2 * weights + caches + arena + inputs;
}

DeployedModel::DeployedModel(Backend& backend, const Model& model, const Task& task,
                             std::optional<QuantizationScheme> scheme, const DeployOptions& options)
    : backend_(backend),
      model_(model),
      task_(task),
      scheme_(std::move(scheme)),
      options_(options),
      variables_(backend.memory()) {
  require_rows_can_grow(model, backend.memory());
  if (scheme_ && backend.kernels().int8_arithmetic() == Int8Arithmetic::none) {
    fail("{}: is quantized to 8 bits, which {} does not support here (--device cpu does)", scheme_->source,
         backend.library());
  }
  if (options.cache && options.cache->dtype == DType::s8 &&
      backend.kernels().int8_arithmetic() == Int8Arithmetic::none) {
    fail_usage("--kv-cache-dtype: expected auto|fp32|bf16|fp16: int8 is for the CPU (--device cpu)");
  }
  const std::optional<std::int64_t> at_once = find_known_rows_at_once(options.batch_size);
  if (at_once) rows_at_once_[options.batch_size] = *at_once;
  PlanSet& plans = find_plans(at_once.value_or(options.batch_size), first_mode());
  if (options.cache) find_plans(options.rows(Mode::decoding), Mode::decoding);
  Batch scores = task_.scores(empty_outputs(plans.largest(), output_names_));
  if (task_.predicts_samples()) scores = task_.answers(std::move(scores));
  for (const auto& [spec, tensor] : scores.entries()) outputs_.push_back(spec);
  require_enough_memory();
  variables_.allocate();
}

DeployedModel::DeployedModel(Backend& backend, const Model& model, const Task& task, const TrainedWeights& weights,
                             const DeployOptions& options)
    : DeployedModel(backend, model, task, weights.quantization, options) {
  if (scheme_) {
    read_quantized(weights.file, variables_);
  } else {
    Variables read = read_weights(backend.memory(), model, weights, variables_);
    if (has_row_index(read)) set_row_count(variables_, get_row_counts(read)[RowIndex::rows], weights.file.string());
    const RowsInUse rows_read(model, read), own_rows(model, variables_);
    write_deployed(folded_, merged_, read, variables_);
  }
  if (has_row_index(variables_)) get_row_index(variables_).rebuild();
  finish();
}

DeployedModel::DeployedModel(Backend& backend, const Model& model, const Task& task, const Variables& trained,
                             const DeployOptions& options)
    : DeployedModel(backend, model, task, std::optional<QuantizationScheme>(), options) {
  write_deployed(folded_, merged_, trained, variables_);
  finish();
}

DeployedModel::DeployedModel(Backend& backend, const DeployedModel& precise, const QuantizationScheme& scheme,
                             const DeployOptions& options)
    : DeployedModel(backend, precise.model_, precise.task_, std::optional(scheme), options) {
  write_quantized(precise.variables_, variables_);
  finish();
}

/// The weights are held twice: as read and as deployed, later as deployed and in the kernels' layouts.
void DeployedModel::require_enough_memory() {
  std::size_t largest = 0, once = 0, inputs = 0;  // once: bytes of caches
  for (const auto& [name, entry] : variables_.entries()) {
    if (options_.cache && entry.storage == Storage::state) {
      once += entry.desc.bytes();
    } else {
      largest = std::max(largest, entry.desc.bytes());
    }
  }
  for (const auto& [key, plans] : plans_) inputs += plans.input_bytes();
  const std::size_t bytes = 2 * variables_.bytes() - once + 2 * largest + arena_bytes() + workspace_bytes() + inputs;
  const std::int64_t batch = options_.batch_size;
  require_available(backend_.memory(), static_cast<std::int64_t>(bytes),
                    fmt::format("{} at batch {}", model_.name(), batch),
                    batch > 1 ? "a smaller --batch needs less" : "a smaller model or more memory is needed");
}

/// Call after the variables are written.
void DeployedModel::finish() {
  refresh_low_precision(variables_, LowPrecisionCopies::all);
  if (backend_.kernels().int8_arithmetic() == Int8Arithmetic::saturating) keep_from_saturating(variables_);
  memory_.emplace(backend_.memory(), arena_bytes(), workspace_bytes());
  for (auto& [key, plans] : plans_) plans.bind(*memory_);
}

std::size_t DeployedModel::arena_bytes() const {
  std::size_t most = 0;
  for (const auto& [key, plans] : plans_) most = std::max(most, plans.arena_bytes());
  return most;
}

std::size_t DeployedModel::workspace_bytes() const {
  std::size_t most = 0;
  for (const auto& [key, plans] : plans_) most = std::max(most, plans.workspace_bytes());
  return most;
}

PlanSet& DeployedModel::find_plans(std::int64_t rows, Mode mode) {
  if (const auto found = plans_.find({mode, rows}); found != plans_.end()) return found->second;
  const Bucket largest = largest_bucket(options_, rows, mode);
  PlanSet& made = plans_
                      .try_emplace(std::pair(mode, rows), shapes(rows, mode), largest, backend_, variables_,
                                   plan_options(constants_))
                      .first->second;
  if (options_.per_op) made.enable_profile();
  if (memory_) made.bind(*memory_);
  return made;
}

PlanSet::Shapes DeployedModel::shapes(std::int64_t rows, Mode mode) {
  PlanSet::Shapes shapes;
  shapes.planned = [this, rows, mode](const Bucket& batch) { return plan_bucket(model_, options_, rows, mode, batch); };
  shapes.build = [this, mode](const Bucket& bucket) { return build(bucket, mode); };
  return shapes;
}

PlanOptions DeployedModel::plan_options(ConstantStore& constants) const {
  PlanOptions plan;
  plan.kernels = options_.kernels;
  plan.kernels.constant_weights = true;
  plan.constants = &constants;
  return plan;
}

/// A GPU computes larger batches faster, and texts of a batch are packed together. What is read after a run is of all
/// its rows.
bool DeployedModel::may_divide_batches() const {
  return !options_.cache && options_.max_length == 0 && options_.readable.empty() &&
         backend_.memory().host_reads_device();
}

std::int64_t DeployedModel::rows_at_once(std::int64_t rows) {
  const auto [entry, is_new] = rows_at_once_.try_emplace(rows, rows);
  if (!is_new) return entry->second;
  if (const auto known = find_known_rows_at_once(rows)) return entry->second = *known;
  try {
    entry->second = search_rows_at_once(rows);
  } catch (const OutOfMemory&) {  // for trials, which need other layouts of weights
  }
  return entry->second;
}

std::string DeployedModel::make_search_key(std::int64_t rows) {
  const Bucket largest = plan_bucket(model_, options_, rows, Mode::deployment, {rows});
  const std::uint64_t graph = fnv1a64(print(build(largest, Mode::deployment)));
  return fmt::format("rows at once of {} in {} of {:016x}", rows, model_.name(), graph);
}

std::optional<std::int64_t> DeployedModel::find_known_rows_at_once(std::int64_t rows) {
  if (rows == 1 || !may_divide_batches()) return rows;
  if (options_.rows_at_once > 0) return rows % options_.rows_at_once == 0 ? options_.rows_at_once : rows;
  if (!options_.kernels.exhaustive_search) return rows;
  return read_rows_at_once(backend_.kernels().search_cache().find(make_search_key(rows)), rows);
}

std::int64_t DeployedModel::search_rows_at_once(std::int64_t rows) {
  constexpr std::size_t most = 4;
  ConstantStore constants;  // for a while: layouts of weights of plans that are not used later
  std::vector<std::unique_ptr<PlanSet>> trials;
  std::vector<KernelLaunch> launches;
  for (std::int64_t count = 1; trials.size() < most && rows % count == 0; count *= 2) {
    const std::int64_t at_once = rows / count;
    trials.push_back(std::make_unique<PlanSet>(shapes(at_once, Mode::deployment), Bucket(at_once), backend_, variables_,
                                               plan_options(constants)));
    trials.back()->bind(*memory_);
    Plan& plan = trials.back()->largest();
    for (const Value& value : plan.graph().values()) {
      if (value.storage != Storage::input) continue;
      fill_for_benchmark(backend_.memory(), plan.input(value.name), value.desc);
    }
    launches.push_back([&plan, count] {
      for (std::int64_t i = 0; i < count; ++i) plan.run(Pass::forward, Pass::forward);
    });
  }
  const std::size_t fastest = find_fastest(*backend_.stream().make_lap_timer(), launches).value_or(0);
  const std::int64_t chosen = rows >> fastest;
  SearchCache& cache = backend_.kernels().search_cache();
  const std::string key = make_search_key(rows);
  return read_rows_at_once(cache.store(key, std::to_string(chosen), cache.find(key)), rows).value_or(chosen);
}

Graph DeployedModel::build(const Bucket& bucket, Mode mode) {
  auto [deployed, outputs] = build_deployment(model_, task_, options_, scheme_, bucket, mode);
  output_names_ = std::move(outputs);
  folded_ = std::move(deployed.folded);
  merged_ = std::move(deployed.merged);
  for (const std::string& name : options_.readable) {
    deployed.graph.set_output(name, deployed.graph.find_value(name));
  }
  return std::move(deployed.graph);
}

Batch DeployedModel::run(const Batch& batch, Mode mode, Batch before) {
  const std::int64_t rows = batch.rows();
  invariant(rows <= options_.rows(mode), "a deployed model's batch has more rows than batch_size");
  const std::int64_t at_once = mode == Mode::deployment ? rows_at_once(rows) : rows;
  Plan& plan = find_plans(at_once, mode).for_batch(batch).plan;
  last_plan_ = &plan;
  const auto run_rows = [&](std::int64_t first, Batch into) {
    feed(plan, batch, {first, at_once});
    plan.run(Pass::forward, Pass::forward);
    return read_outputs(plan, output_names_, std::move(into));
  };
  Batch outputs = run_rows(0, std::move(before));
  for (std::int64_t first = at_once; first < rows; first += at_once) outputs.append(run_rows(first, {}));
  return task_.scores(std::move(outputs));
}

double DeployedModel::compile_seconds() const {
  double sum = 0;
  for (const auto& [rows, plans] : plans_) sum += plans.compile_seconds();
  return sum;
}

void require_finite(const Batch& scores, std::int64_t row, const std::string& input) {
  for (const auto& [spec, tensor] : scores.entries()) {
    if (tensor.dtype() != DType::f32) continue;
    if (std::ranges::all_of(tensor.row<float>(row), [](float value) { return std::isfinite(value); })) continue;
    fail("{}: the model's {} are not finite (in low precision; --amp O0 may help)", input, spec.name);
  }
}

}  // namespace ptrain
