#include "core/yaml/validation.h"

#include "core/base/errors.h"
#include "core/base/row_shard.h"
#include "core/config/config_enums.h"
#include "core/config/keys.h"
#include "core/config/text.h"
#include "core/yaml/rejection.h"
#include "core/yaml/training_checks.h"
#include "core/yaml/unused_keys.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>

namespace ptrain {
namespace {

bool has(const std::vector<std::string>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

void check_amp(const Config& config, const Rejection& reject) {
  for (const std::string& op : config.amp.custom_white_list) {
    if (has(config.amp.custom_black_list, op))
      reject("amp.custom_white_list", "{} is in amp.custom_black_list too", op);
  }
  if (has(config.amp.custom_white_list, "batch_norm")) {
    reject("amp.custom_white_list", "batch_norm keeps its own precision and cannot be listed");
  }
  if (has(config.amp.custom_black_list, "batch_norm")) {
    reject("amp.custom_black_list", "batch_norm keeps its own precision and cannot be listed");
  }
}

void check_table(const DataConfig& data, const Rejection& reject) {
  const ColumnsConfig& columns = data.columns;
  const auto same = [](const std::string& a, const std::string& b) { return !a.empty() && a == b; };
  if (same(columns.label, columns.text) || same(columns.label, columns.second)) {
    reject("data.columns.label", "{} is named as text too", shown(columns.label));
  }
  if (same(columns.second, columns.text))
    reject("data.columns.second", "{} is data.columns.text too", shown(columns.second));
  if (data.labels.size() == 1) reject("data.labels", "expected at least 2, got only {}", shown(data.labels[0]));
  for (auto label = data.labels.begin(); label != data.labels.end(); ++label) {
    if (label->empty()) reject("data.labels", "a label is empty");
    if (std::find(data.labels.begin(), label, *label) != label)
      reject("data.labels", "{} is listed twice", shown(*label));
  }
}

/// Names of the sources that give samples of this form, for a message.
std::string list_sources_giving(SampleForm form, const Catalogs& catalogs) {
  const std::vector<std::string> names =
      list_names_where(catalogs.sources(), [&](const DataSourceEntry& source) { return source.provides_form(form); });
  return names.size() > 2 ? fmt::format("{}", fmt::join(names, "|")) : join_words(names, "or");
}

void check_data(const Config& config, const Catalogs& catalogs, const Rejection& reject) {
  const ModelEntry& model = config.model.entry;
  const DataSourceEntry& source = catalogs.find_source(config.data.source);
  if (!source.provides_form(model.form())) {
    reject("data.source", "{} reads {}, got {}", model.name, list_sources_giving(model.form(), catalogs), source.name);
  }
  if (source.reads_key("data.path") && config.data.path.empty()) {
    reject("data.path", "required by data.source {}: the folder of the data set", source.name);
  }
  for (const RequiredKey& key : source.required) {
    if (find_key(key.name)->get(config).get<std::string>().empty()) {
      reject(key.name, "required by data.source {}: {}", source.name, key.what);
    }
  }
  if (config.data.decoder == Decoder::gpu && source.has_encoded_images() && config.device.kind == DeviceKind::cpu) {
    reject("data.decoder", "expected cpu or auto on device cpu, got gpu, which needs device cuda");
  }
  if (source.reads_key("data.columns.label")) check_table(config.data, reject);
  if (config.data.split.dev > 0 && !source.can_split) {
    reject(
        "data.split.dev", "is for {}; {} has its own evaluation samples",
        join_words(list_names_where(catalogs.sources(), [](const DataSourceEntry& other) { return other.can_split; }),
                   "and"),
        source.name);
  }
  if (model.reads_key("model.max_positions") && config.data.max_length > config.model.max_positions) {
    reject("data.max_length", "{} tokens do not fit model.max_positions {}", config.data.max_length,
           config.model.max_positions);
  }
}

/// Each rank numbers the rows that it sees.
void check_dynamic_table(const Config& config, const Rejection& reject) {
  const auto refuse = [&](const char* key, const char* expected, const char* why) {
    reject(key, "expected {} with model.dynamic_table: {}", expected, why);
  };
  if (config.device.kind != DeviceKind::automatic && config.device.kind != DeviceKind::cpu) {
    refuse("device", "cpu", "tables grow on the CPU only");
  }
  if (config.dist.ranks > 1 && config.dist.tables != TablePlacement::rows) {
    refuse("dist.tables", "rows", "ranks would give the rows of whole tables to other categories");
  }
  if (config.dist.ranks > 1 && config.dist.reproducible) {
    refuse("dist.reproducible", "false", "ranks give rows to keys, whose sums have the order of the ranks");
  }
  if (config.train.average_checkpoints > 0) {
    refuse("train.average_checkpoints", "0", "rows are not the same categories' in all checkpoints");
  }
}

/// What a delayed update is not defined for.
void check_delayed_updates(const Config& config, const Rejection& reject) {
  const auto refuse = [&](const char* why) { reject("dist.updates", "expected synchronous: {}", why); };
  if (config.dist.shard != Sharding::none) refuse("dist.shard divides what the update reads");
  if (config.dist.reproducible) refuse("dist.reproducible has the losses of one rank, whose updates are not delayed");
  if (config.model.entry.reads != DataKind::table) return;
  if (config.dist.tables != TablePlacement::rows) {
    reject("dist.tables", "expected rows with dist.updates delayed: ranks that have whole tables exchange no rows");
  }
}

/// Rows are numbered in 32 bits.
void check_row_count(const Config& config, const Rejection& reject) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const std::int64_t rows = config.model.hash_buckets;
  if (!config.model.dynamic_table || config.dist.ranks == 1) {
    if (rows > most) reject("model.hash_buckets", "expected at most {}, got {}", most, rows);
    return;
  }
  const std::int64_t share = RowShard{0, static_cast<int>(config.dist.ranks), true}.size(rows);
  if (share <= most) return;
  reject("model.hash_buckets", "{} are {} for each of dist.ranks {}, expected at most {}", rows, share,
         config.dist.ranks, most);
}

/// Embedding tables are updated by the rows that a batch reads, on one rank.
void check_tables(const Config& config, const Rejection& reject) {
  if (config.model.entry.reads != DataKind::table) return;
  const TrainConfig& train = config.train;
  const OptimizerKind optimizer = train.optimizer.name;
  if (optimizer == OptimizerKind::lars || optimizer == OptimizerKind::lamb) {
    reject("train.optimizer.name", "{} scales by norms of whole tables, but {} updates single rows",
           enum_name(optimizer), config.model.entry.name);
  }
  const auto expect = [&](const char* key, std::int64_t expected, double got) {
    if (got != static_cast<double>(expected)) {
      reject(key, "expected {}, got {}: {} updates single rows of its tables", expected, got, config.model.entry.name);
    }
  };
  expect("train.accumulate_steps", 1, static_cast<double>(train.accumulate_steps));
  expect("train.ema_decay", 0, train.ema_decay);
  check_row_count(config, reject);
  if (config.model.dynamic_table) check_dynamic_table(config, reject);
}

/// Rejects losses for other models, and options of other losses.
void check_loss(const Config& config, const Rejection& reject) {
  const TrainConfig& train = config.train;
  if (train.loss != ItemLoss::cross_entropy && !config.model.entry.reads_key("train.loss")) {
    reject("train.loss", "{} is for models of sessions, {} is none", enum_name(train.loss), config.model.entry.name);
  }
  if (train.logq > 0 && (train.loss != ItemLoss::cross_entropy || config.data.negatives == 0)) {
    reject("train.logq", "corrects cross_entropy with data.negatives");
  }
}

/// Rejects image options for other models.
void check_images(const Config& config, const Rejection& reject) {
  const DataKind kind = config.model.entry.reads;
  if (kind == DataKind::image) return;
  const TrainConfig& train = config.train;
  const std::pair<const char*, bool> image_keys[] = {{"train.phases.image_size", !train.phases.image_size.empty()},
                                                     {"train.resize.from", train.resize.from < 1},
                                                     {"train.multi_scale", !train.multi_scale.empty()},
                                                     {"train.mixup", train.mixup > 0},
                                                     {"train.cutmix", train.cutmix > 0},
                                                     {"eval.flip", config.eval.flip}};
  const char* what = kind == DataKind::table ? "tables" : kind == DataKind::video ? "features of videos" : "text";
  for (const auto& [key, set] : image_keys) {
    if (set) reject(key, "{} reads {}", config.model.entry.name, what);
  }
}

void check_distribution(const Config& config, const Rejection& reject) {
  const DistConfig& dist = config.dist;
  const OptimizerKind optimizer = config.train.optimizer.name;
  const bool reads_whole_parameters =
      optimizer == OptimizerKind::lars || optimizer == OptimizerKind::lamb || optimizer == OptimizerKind::muon;
  if (dist.shard != Sharding::none && reads_whole_parameters) {
    reject("dist.shard", "expected none: {} updates whole parameters, of which a rank would keep a part",
           enum_name(optimizer));
  }
  if (dist.updates == UpdateTiming::delayed) check_delayed_updates(config, reject);
  if (!dist.reproducible) return;
  if (dist.shard == Sharding::gradients) {
    reject("dist.shard", "expected none or optimizer: dist.reproducible sums whole gradients in the data's order");
  }
  if (dist.average != GradAverage::fp32) reject("dist.average", "dist.reproducible sums in fp32");
  if (dist.sync_batch_norm) {
    reject("dist.sync_batch_norm",
           "statistics over all ranks depend on their number, which dist.reproducible excludes");
  }
}

/// Checks the options for classes of different sizes.
void check_balance(const Config& config, const Rejection& reject) {
  const ClassWeights& weights = config.data.class_weights;
  const char* mixed = config.train.mixup > 0 ? "train.mixup" : config.train.cutmix > 0 ? "train.cutmix" : nullptr;
  if (weights.any() && mixed != nullptr)
    reject("data.class_weights", "samples mixed by {} have no single class", mixed);
  if (weights.given.size() == 1) reject("data.class_weights", "expected a weight for each class, got 1");
  const auto given = static_cast<std::int64_t>(weights.given.size());
  if (given > 0 && config.model.classes > 0 && given != config.model.classes) {
    reject("data.class_weights", "has {} weights for model.classes {}", given, config.model.classes);
  }
  if (config.data.sampling == Sampling::balanced && !config.data.shuffle) {
    reject("data.sampling", "balanced draws samples at random, which data.shuffle false excludes");
  }
  if (config.data.shuffle_window > 0) {
    const char* const other = config.data.sampling == Sampling::balanced ? "data.sampling balanced"
                              : config.train.multi_scale.empty()         ? nullptr
                                                                         : "train.multi_scale";
    if (other != nullptr) reject("data.shuffle_window", "{} draws samples from all of the data", other);
  }
}

/// Rejects metrics that the task does not have.
void check_metrics(const Config& config, const TaskEntry& task, const Rejection& reject) {
  const std::vector<TaskMetric> metrics = task.metrics(config.model.classes);
  std::vector<std::string> known;
  std::ranges::transform(metrics, std::back_inserter(known), &TaskMetric::name);
  const auto check = [&](const char* key, const std::string& metric) {
    if (metric == primary_metric || has(known, metric)) return;
    reject(key, "expected {}, one of {}, got {}{}", primary_metric, fmt::join(known, ", "), shown(metric),
           did_you_mean(metric, known));
  };
  if (config.output.keep_best != no_metric) check("output.keep_best", config.output.keep_best);
  if (config.train.target == 0) return;
  check("train.target_metric", config.train.target_metric);
  const bool is_primary = config.train.target_metric == primary_metric;
  const TaskMetric& wanted =
      is_primary ? metrics.front() : *std::ranges::find(metrics, config.train.target_metric, &TaskMetric::name);
  if (wanted.is_bounded && config.train.target > 1) {
    reject("train.target", "{} is at most 1, got {}: it would never be reached", wanted.name, config.train.target);
  }
}

/// Checks the task, and whether the data has its targets.
void check_task(const LoadedConfig& loaded, const Catalogs& catalogs, const Rejection& reject) {
  const Config& config = loaded.config;
  const ModelEntry& model = config.model.entry;
  const TaskEntry& task = catalogs.find_task(task_name(config));
  if (model.tasks.size() == 1 && config.model.head != model.tasks.front() &&
      loaded.origins.at("model.head") != "default") {
    reject("model.head", "{} has the task {}, got {}", model.name, task.name, config.model.head);
  }
  check_metrics(config, task, reject);
  task.check(config, [&](const std::string& key, const std::string& reason) { reject(key, "{}", reason); });
  const DataSourceEntry& source = catalogs.find_source(config.data.source);
  if (source.provides_targets(task.targets) || !source.provides_form(model.form())) return;
  const auto fits = [&](const DataSourceEntry& other) {
    return other.provides_form(model.form()) && other.provides_targets(task.targets);
  };
  reject(model.tasks.size() > 1 ? "model.head" : "data.source", "{} learns {}, which {} has; got data.source {}",
         task.name, join_words(task.targets, "and"), join_words(list_names_where(catalogs.sources(), fits), "or"),
         config.data.source);
}

/// The checkpoints that are averaged must be written and kept.
void check_averaging(const Config& config, const Rejection& reject) {
  constexpr const char* key = "train.average_checkpoints";
  const std::int64_t averaged = config.train.average_checkpoints;
  if (averaged == 0) return;
  if (config.train.ema_decay > 0) {
    reject(key, "and train.ema_decay both average weights: expected one of them to be 0");
  }
  if (config.output.whole_checkpoint_every > 1) {
    reject("output.whole_checkpoint_every", "expected 1, got {}: {} needs whole checkpoints",
           config.output.whole_checkpoint_every, key);
  }
  if (!config.output.save) reject(key, "needs output.save: the last checkpoint is one of those that are averaged");
  if (averaged > 1 && config.output.checkpoint_every_steps == 0) {
    reject(key, "needs output.checkpoint_every_steps, without which only the last checkpoint is written");
  }
  if (config.output.keep_checkpoints < averaged) {
    reject("output.keep_checkpoints", "expected at least {}, got {}: so many are averaged by {}", averaged,
           config.output.keep_checkpoints, key);
  }
}

void check_run(const Config& config, const Rejection& reject) {
  check_averaging(config, reject);
  if (config.output.keep_best != no_metric && !config.eval.any()) {
    reject("output.keep_best", "needs evaluations, which eval.every_epochs 0 disables");
  }
  if (config.output.predictions && !config.eval.any()) {
    reject("output.predictions", "needs evaluations, which eval.every_epochs 0 disables");
  }
  if (config.train.patience > 0 && config.output.keep_best == no_metric) {
    reject("train.patience", "needs output.keep_best, the metric to improve");
  }
  if (config.train.target > 0 && !config.eval.any()) {
    reject("train.target", "needs evaluations, which eval.every_epochs 0 disables");
  }
  if (config.train.target_metric == no_metric) reject("train.target_metric", "expected a metric, got none");
  if (config.output.dir.empty()) reject("output.dir", "expected a folder, got \"\"");
  if (config.resume.empty()) reject("resume", "expected none, auto or a checkpoint's path, got \"\"");
  if (config.threads > 0 && config.dist.mode == DistMode::parallel_graph && config.threads < config.dist.ranks) {
    reject("threads", "{} threads are too few for dist.ranks {}", config.threads, config.dist.ranks);
  }
}

}  // namespace

void check_across(LoadedConfig& loaded, const Catalogs& catalogs) {
  const Rejection reject(loaded);
  check_task(loaded, catalogs, reject);
  check_balance(loaded.config, reject);
  check_amp(loaded.config, reject);
  check_data(loaded.config, catalogs, reject);
  check_training(loaded.config, reject);
  check_images(loaded.config, reject);
  check_loss(loaded.config, reject);
  check_tables(loaded.config, reject);
  check_distribution(loaded.config, reject);
  check_run(loaded.config, reject);
  add_unused_key_notes(loaded, catalogs);
}

}  // namespace ptrain
