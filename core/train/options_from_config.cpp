#include "core/train/options_from_config.h"

#include "core/base/errors.h"
#include "core/base/name_pattern.h"
#include "core/config/model_catalog.h"
#include "core/data/sources.h"
#include "core/model/adapter_names.h"
#include "core/model/model.h"
#include "core/runtime/weights.h"
#include "core/tasks/task_registry.h"
#include "core/train/input/mix.h"

#include <algorithm>

namespace ptrain {
namespace {

/// Whether frozen weights need no fp32 copy: every plan reads them in the same precision.
bool keeps_frozen_low(const Config& config) {
  return has_adapters(config) && config.amp.level != AmpLevel::O0 &&
         (!config.eval.any() || config.eval.amp == config.amp.level);
}

AmpOptions amp_options(const Config& config, AmpLevel level, DType automatic) {
  AmpOptions amp;
  amp.level = level;
  amp.dtype = config.amp.dtype == AmpDType::automatic ? automatic
              : config.amp.dtype == AmpDType::bf16    ? DType::bf16
                                                      : DType::f16;
  amp.custom_white.insert(config.amp.custom_white_list.begin(), config.amp.custom_white_list.end());
  amp.custom_black.insert(config.amp.custom_black_list.begin(), config.amp.custom_black_list.end());
  if (keeps_frozen_low(config)) {
    amp.frozen = [](std::string_view name) { return matches_pattern(adapter_names::all_others, name); };
  }
  return amp;
}

OptimizerSettings optimizer_settings(const TrainConfig& train) {
  const OptimizerConfig& o = train.optimizer;
  OptimizerSettings settings;
  settings.kind = o.name;
  settings.momentum = static_cast<float>(o.momentum);
  settings.nesterov = o.nesterov;
  settings.beta1 = static_cast<float>(o.beta1);
  settings.beta2 = static_cast<float>(o.beta2);
  settings.epsilon = static_cast<float>(o.epsilon);
  settings.weight_decay = static_cast<float>(o.weight_decay);
  settings.trust_coefficient = static_cast<float>(o.trust_coefficient);
  settings.alpha = static_cast<float>(o.alpha);
  settings.centered = o.centered;
  settings.initial_accumulator = static_cast<float>(o.initial_accumulator);
  settings.row_wise = o.row_wise;
  settings.muon_scale = o.muon_scale;
  settings.clip_norm = static_cast<float>(train.clip_norm);
  return settings;
}

std::vector<ParameterGroup> parameter_groups(const Config& config) {
  const GroupsConfig& groups = config.train.groups;
  std::vector<ParameterGroup> result;
  if (has_adapters(config)) result.push_back({adapter_names::all_others, false});
  for (std::size_t i = 0; i < groups.match.size(); ++i) {
    ParameterGroup group{groups.match[i]};
    if (!groups.trainable.empty()) group.trainable = groups.trainable[i];
    if (!groups.lr_scale.empty()) group.lr_scale = static_cast<float>(groups.lr_scale[i]);
    if (!groups.weight_decay.empty()) group.weight_decay = static_cast<float>(groups.weight_decay[i]);
    result.push_back(std::move(group));
  }
  return result;
}

LossScaleAttributes loss_scale(const ScalerConfig& scaler) {
  return {scaler.dynamic, static_cast<float>(scaler.incr_ratio), static_cast<float>(scaler.decr_ratio),
          static_cast<int>(scaler.incr_every_n_steps), static_cast<int>(scaler.decr_every_n_nan_or_inf)};
}

std::unique_ptr<Task> configured_task(const Config& config) {
  return make_task(task_name(config), {.label_smoothing = static_cast<float>(config.train.label_smoothing),
                                       .mixed = mixes(config.train),
                                       .weighted = config.data.class_weights.any(),
                                       .item_loss = config.train.loss,
                                       .bpr_regularization = static_cast<float>(config.train.bpr_regularization),
                                       .hinge_margin = static_cast<float>(config.train.hinge_margin),
                                       .logq = static_cast<float>(config.train.logq)});
}

}  // namespace

DataSettings data_settings(const Config& config) {
  const DataConfig& data = config.data;
  DataSettings settings;
  const ModelEntry& model = config.model.entry;
  settings.source = data.source;
  settings.synthetic_kind = model.reads;
  if (model.reads_clips()) settings.segments = static_cast<int>(config.model.segments);
  settings.frames_per_segment = frames_per_segment(config);
  settings.path = data.path;
  settings.train_file = data.train_file;
  settings.dev_file = data.dev_file;
  settings.encoding = data.encoding;
  settings.columns = {data.columns.text, data.columns.second, data.columns.label};
  settings.labels = data.labels;
  settings.ignore_index = static_cast<int>(data.ignore_index);
  set_click_settings(settings, config);
  settings.first_label = data.first_label;
  settings.targets = configured_task(config)->targets();
  settings.dev_fraction = data.split.dev;
  settings.image_size = data.image_size;
  settings.augment = data.augment;
  settings.orientation = data.exif_orientation ? ImageOrientation::exif : ImageOrientation::stored;
  settings.max_length = static_cast<int>(data.max_length);
  settings.max_frames = static_cast<int>(data.max_frames);
  settings.vocab_path = data.vocab;
  settings.chat_template = data.chat_template;
  settings.negatives = static_cast<int>(data.negatives);
  settings.negative_power = data.negative_power;
  settings.languages = data.languages;
  settings.lowercase = data.lowercase;
  settings.classes = static_cast<int>(config.model.classes);
  settings.synthetic_samples = data.synthetic_samples;
  if (config.model.vocab_size > 0) settings.synthetic_vocab_size = static_cast<int>(config.model.vocab_size);
  settings.seed = static_cast<std::uint64_t>(config.seed);
  return settings;
}

namespace {

LoaderOptions loader_options(const Config& config, Split split, std::shared_ptr<const Task> task, const Ranks& ranks) {
  LoaderOptions options;
  const bool train = split == Split::train;
  options.batch_size = !train && config.eval.batch_size > 0 ? config.eval.batch_size : config.data.batch_size;
  options.workers = static_cast<int>(config.data.workers);
  options.seed = static_cast<std::uint64_t>(config.seed);
  options.order = !train || !config.data.shuffle               ? SampleOrder::sequential
                  : config.data.sampling == Sampling::balanced ? SampleOrder::balanced
                                                               : SampleOrder::shuffled;
  options.shuffle_window = config.data.shuffle_window;
  options.remainder = train && config.data.drop_last ? Remainder::drop : Remainder::keep;
  options.max_bad_samples = config.data.max_bad_samples;
  options.max_bad_share = config.data.max_bad_share;
  if (task->has_losses(train ? Mode::training : Mode::evaluation)) {
    options.collate = [task = std::move(task)](Batch& batch) { task->collate(batch); };
  }
  ranks.shard(options);
  return options;
}

/// The formats of the frozen weights that model.lora.base keeps in blocks; none: all are in full precision.
BlockFormats find_base_formats(const Config& config, const Model& model) {
  const LoraBase base = config.model.lora.base;
  if (!has_adapters(config) || base == LoraBase::full) return {};
  if (const auto rounded = choice_from_name<BlockFormat>(enum_name(base))) return choose_block_format(*rounded);
  constexpr const char* expected = "expected full, q8_0, q4_0, q4_1, or";
  const std::string& weights = config.model.weights;
  if (weights.empty()) {
    fail_usage("model.lora.base: stored: there are no model.weights; {} a GGUF file there", expected);
  }
  BlockFormats formats = find_block_formats(weights, model);
  const std::vector<ModelVariable> variables = model.variables();
  if (std::ranges::any_of(variables, [&](const ModelVariable& v) { return formats(v.name).has_value(); }))
    return formats;
  fail_usage("model.lora.base: stored: {} has no weights in blocks of 8 or 4 bits; {} a GGUF file that has", weights,
             expected);
}

std::optional<EarlyUpdates> early_updates(const Config& config) {
  if (!config.memory_plan || config.train.early_updates == Tristate::no) return std::nullopt;
  EarlyUpdates rule;
  if (config.train.early_updates == Tristate::automatic) {
    constexpr double rows = 1024;  // of the product that makes the gradient: a batch's tokens or pixels
    rule.arithmetic = 2 * rows;
    rule.any = std::size_t{16} << 20;
  }
  return rule;
}

}  // namespace

PipelineOptions training_options(const Config& config, DType automatic) {
  PipelineOptions options;
  options.fusion = config.fusion;
  options.amp = amp_options(config, config.amp.level.value(), automatic);
  const bool low = config.amp.level != AmpLevel::O0;
  options.loss_scaling = config.amp.scaler.enabled == Tristate::yes ||
                         (config.amp.scaler.enabled == Tristate::automatic && low && options.amp.dtype == DType::f16);
  options.loss_scale = loss_scale(config.amp.scaler);
  options.optimizer = optimizer_settings(config.train);
  if (!config.train.optimizer.decay_norm_and_bias) {
    options.decays = [](std::string_view, const Shape& shape) { return is_weight_matrix(shape); };
  }
  options.groups = parameter_groups(config);
  options.average_decay = static_cast<float>(config.train.ema_decay);
  options.early_updates = early_updates(config);
  options.recompute = config.train.recompute;
  options.accumulate_steps = static_cast<int>(config.train.accumulate_steps);
  return options;
}

PlanOptions plan_options(const Config& config) {
  PlanOptions options;
  options.memory = config.memory_plan ? MemoryReuse::on : MemoryReuse::off;
  options.recording = config.cuda_graphs ? Recording::on : Recording::off;
  options.kernels.exhaustive_search = config.flags.cudnn_exhaustive_search;
  options.kernels.persistent_batch_norm = config.flags.cudnn_batchnorm_spatial_persistent;
  options.kernels.batch_norm_guard_every = config.batch_norm_guard_every_steps * config.train.accumulate_steps;
  options.kernels.tf32 = config.tf32;
  options.kernels.fp8 = config.flags.fp8;
  options.kernels.deterministic = config.deterministic;
  options.kernels.workspace_limit = static_cast<std::size_t>(config.flags.conv_workspace_size_limit) << 20;
  return options;
}

int count_exchanging_ranks(const Config& config) {
  return config.dist.ranks > 1 ? static_cast<int>(config.dist.ranks) : 0;
}

StepOptions step_options(const Config& config, const Model& model, DType automatic, int exchanging_ranks, int rank) {
  StepOptions options{configured_task(config), training_options(config, automatic), plan_options(config)};
  if (config.model.dynamic_table) options.table_folder = config.train.tables.folder;
  options.passes.block_weights = find_base_formats(config, model);
  options.passes.weighted_loss =
      options.task->weighs_targets() && (config.train.accumulate_steps > 1 || exchanging_ranks > 0);
  if (exchanging_ranks == 0) return options;
  DistributionOptions& distribution = options.passes.distribution.emplace();
  distribution.rank = rank;
  distribution.world_size = exchanging_ranks;
  distribution.bucket_bytes = config.dist.bucket_mb << 20;
  distribution.average = config.dist.average;
  distribution.sync_batch_norm = config.dist.sync_batch_norm;
  distribution.reproducible = config.dist.reproducible;
  distribution.shard = make_shard(config.dist, rank, exchanging_ranks);
  const bool evaluates_otherwise = config.eval.any() && config.eval.amp != config.amp.level;
  distribution.whole_masters = config.train.ema_decay > 0 || evaluates_otherwise;
  distribution.whole_sums = config.dist.shard != Sharding::gradients;
  if (config.dist.tables == TablePlacement::rows) distribution.tables = RowShard{rank, exchanging_ranks};
  distribution.delays_updates = config.dist.updates == UpdateTiming::delayed;
  return options;
}

TrainingPlanOptions training_plan_options(const Config& config, const Model& model, DType automatic,
                                          const Ranks& ranks) {
  TrainingPlanOptions options;
  options.step = step_options(config, model, automatic, ranks.several() ? ranks.world_size() : 0, ranks.rank());
  options.evaluation.fusion = config.fusion;
  options.evaluation.block_weights = options.step.passes.block_weights;
  options.evaluation.amp = amp_options(config, config.eval.amp, automatic);
  options.evaluation.distribution = options.step.passes.distribution;
  options.phases = configured_phases(config.train, config.data);
  options.loader = loader_options(config, Split::train, options.step.task, ranks);
  options.evaluation_loader = loader_options(config, Split::eval, options.step.task, ranks);
  options.class_weights = config.data.class_weights;
  options.classes = config.model.classes;
  options.beams = config.eval.beams;
  options.per_op = config.output.per_op;
  options.numerics = config.output.numerics;
  return options;
}

}  // namespace ptrain
