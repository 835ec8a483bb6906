#include "core/yaml/unused_keys.h"

#include "core/config/config_enums.h"
#include "core/config/keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace ptrain {
namespace {

/// Keys (or a whole section, ending in a dot) that are read only if `read` holds; `because` names the deciding key.
struct Rule {
  std::vector<std::string_view> keys;
  bool (*read)(const Config&);
  std::string_view because;
};

/// Whether the optimizer is one of `kinds`.
bool is_any(const Config& c, std::initializer_list<OptimizerKind> kinds) {
  return std::find(kinds.begin(), kinds.end(), c.train.optimizer.name) != kinds.end();
}
bool is_adam(const Config& c) {
  return is_any(c, {OptimizerKind::adamw, OptimizerKind::lamb, OptimizerKind::adam, OptimizerKind::muon});
}
bool reads_end_lr(const Config& c) {
  const ScheduleKind kind = c.train.schedule.name;
  return kind == ScheduleKind::cosine || kind == ScheduleKind::linear || kind == ScheduleKind::polynomial ||
         kind == ScheduleKind::warmup_stable_decay;
}
bool is_scaled(const Config& c) {
  return c.amp.level != AmpLevel::O0 && c.amp.scaler.enabled != Tristate::no &&
         (c.amp.scaler.enabled == Tristate::yes || c.amp.dtype != AmpDType::bf16);
}

const std::vector<Rule> rules = {
    {{"model.lora.alpha", "model.lora.dropout", "model.lora.targets", "model.lora.rslora", "model.lora.base"},
     [](const Config& c) { return c.model.lora.rank > 0 || !c.model.lora.weights.empty(); },
     "model.lora.rank"},
    {{"batch_norm_guard_every_steps"},
     [](const Config& c) { return c.flags.cudnn_batchnorm_spatial_persistent; },
     "flags.cudnn_batchnorm_spatial_persistent"},
    {{"amp.dtype", "amp.custom_white_list", "amp.custom_black_list"},
     [](const Config& c) { return c.amp.level != AmpLevel::O0; },
     "amp.level"},
    {{"amp.scaler.enabled", "flags.fp8"}, [](const Config& c) { return c.amp.level != AmpLevel::O0; }, "amp.level"},
    {{"amp.scaler.dynamic", "amp.scaler.init"}, is_scaled, "amp.scaler.enabled"},
    {{"amp.scaler.incr_ratio", "amp.scaler.decr_ratio", "amp.scaler.incr_every_n_steps",
      "amp.scaler.decr_every_n_nan_or_inf"},
     [](const Config& c) { return is_scaled(c) && c.amp.scaler.dynamic; },
     "amp.scaler.dynamic"},
    {{"data.shuffle_window"}, [](const Config& c) { return c.data.shuffle; }, "data.shuffle"},
    {{"train.epochs"}, [](const Config& c) { return c.train.steps == 0; }, "train.steps"},
    {{"train.target_metric"}, [](const Config& c) { return c.train.target > 0; }, "train.target"},
    {{"train.resize.delay", "train.resize.finetune"},
     [](const Config& c) { return c.train.resize.from < 1; },
     "train.resize.from"},
    {{"train.optimizer.momentum"},
     [](const Config& c) {
       return is_any(c, {OptimizerKind::momentum, OptimizerKind::lars, OptimizerKind::rmsprop, OptimizerKind::muon});
     },
     "train.optimizer.name"},
    {{"train.optimizer.nesterov"},
     [](const Config& c) {
       return is_any(c, {OptimizerKind::momentum, OptimizerKind::muon});
     },
     "train.optimizer.name"},
    {{"train.optimizer.beta1", "train.optimizer.beta2"}, is_adam, "train.optimizer.name"},
    {{"train.optimizer.epsilon"},
     [](const Config& c) {
       return is_adam(c) || is_any(c, {OptimizerKind::lars, OptimizerKind::adagrad, OptimizerKind::rmsprop});
     },
     "train.optimizer.name"},
    {{"train.optimizer.alpha", "train.optimizer.centered"},
     [](const Config& c) { return is_any(c, {OptimizerKind::rmsprop}); },
     "train.optimizer.name"},
    {{"train.optimizer.muon_scale"},
     [](const Config& c) { return is_any(c, {OptimizerKind::muon}); },
     "train.optimizer.name"},
    {{"train.optimizer.initial_accumulator", "train.optimizer.row_wise"},
     [](const Config& c) { return is_any(c, {OptimizerKind::adagrad}); },
     "train.optimizer.name"},
    {{"train.optimizer.trust_coefficient"},
     [](const Config& c) { return c.train.optimizer.name == OptimizerKind::lars; },
     "train.optimizer.name"},
    {{"train.schedule.gamma"},
     [](const Config& c) { return c.train.schedule.name == ScheduleKind::piecewise; },
     "train.schedule.name"},
    {{"train.schedule.end_lr"}, reads_end_lr, "train.schedule.name"},
    {{"train.schedule.power"},
     [](const Config& c) { return c.train.schedule.name == ScheduleKind::polynomial; },
     "train.schedule.name"},
    {{"train.schedule.stable_ratio", "train.schedule.decay_shape"},
     [](const Config& c) { return c.train.schedule.name == ScheduleKind::warmup_stable_decay; },
     "train.schedule.name"},
    {{"model.admit_after", "train.tables.sweep_every_steps", "train.tables.folder"},
     [](const Config& c) { return c.model.dynamic_table; },
     "model.dynamic_table"},
    {{"train.tables.decay", "train.tables.evict_below"},
     [](const Config& c) { return c.model.dynamic_table && c.train.tables.sweep_every_steps > 0; },
     "train.tables.sweep_every_steps"},
    {{"output.whole_checkpoint_every"},
     [](const Config& c) { return c.model.entry.reads == DataKind::table; },
     "model.name"},
    {{"eval.amp", "eval.batch_size", "eval.max_samples"},
     [](const Config& c) { return c.eval.any(); },
     "eval.every_epochs"},
    {{"dist.mode", "dist.bucket_mb", "dist.average", "dist.reproducible", "dist.shard", "dist.tables", "dist.updates",
      "dist.timeout_seconds"},
     [](const Config& c) { return c.dist.ranks > 1; },
     "dist.ranks"},
};

std::string format_value(const Config& config, std::string_view key) {
  const nlohmann::json value = find_key(key)->get(config);
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// Keys that other models or data sources read, but not the chosen one.
template <typename Entry>
std::vector<std::string_view> find_keys_of_others(const Entry& chosen, const std::vector<Entry>& all) {
  std::vector<std::string_view> keys;
  for (const Entry& entry : all) {
    for (const std::string& key : entry.keys) {
      if (!chosen.reads_key(key) && std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    }
  }
  return keys;
}

/// Optimizers whose steps are about as long as the learning rate, whatever the gradients.
bool normalizes_steps(OptimizerKind kind) {
  return kind == OptimizerKind::adam || kind == OptimizerKind::adamw || kind == OptimizerKind::rmsprop;
}

/// Notes learning rates that hardly train, and values of a schedule that leave them as they are.
void note_learning_rates(LoadedConfig& loaded) {
  const TrainConfig& train = loaded.config.train;
  const ScheduleConfig& schedule = train.schedule;
  const auto note = [&](const std::string& key, const std::string& why) {
    loaded.notes.push_back(fmt::format("{}: {}: {}", loaded.origins.at(key), key, why));
  };
  if (train.optimizer.lr == 0) note("train.optimizer.lr", "is 0: no parameter is ever changed");
  if (!loaded.is_set("train.optimizer.lr") && normalizes_steps(train.optimizer.name)) {
    note("train.optimizer.lr", fmt::format("is {:g}, which suits momentum; {} mostly diverges above 0.001",
                                           train.optimizer.lr, enum_name(train.optimizer.name)));
  }
  if (train.steps > 0 && schedule.warmup_steps >= train.steps) {
    note("train.schedule.warmup_steps",
         fmt::format("not below train.steps {}, lr never reaches its peak", train.steps));
  }
  if (schedule.warmup_ratio == 1) {
    note("train.schedule.warmup_ratio", "is 1: the warm-up takes all steps, lr reaches its peak at the last one");
  }
  if (schedule.name != ScheduleKind::piecewise) return;
  if (schedule.gamma == 1) note("train.schedule.gamma", "is 1: lr does not change at the milestones");
  const double epochs = static_cast<double>(train.epochs);
  const auto late = std::ranges::lower_bound(schedule.milestones, epochs);
  if (train.steps > 0 || late == schedule.milestones.end()) return;
  note("train.schedule.milestones",
       fmt::format("{:g} is not below train.epochs {}: lr does not change there", *late, train.epochs));
}

}  // namespace

void add_unused_key_notes(LoadedConfig& loaded, const Catalogs& catalogs) {
  const Config& config = loaded.config;
  const auto note = [&](const std::vector<std::string_view>& keys, std::string_view because) {
    for (const std::string_view key : keys) {
      const std::string& origin = loaded.origins.at(std::string(key));
      if (origin == "default") continue;
      loaded.notes.push_back(
          fmt::format("{}: {}: not read with {} {}", origin, key, because, format_value(config, because)));
    }
  };
  note(find_keys_of_others(config.model.entry, catalogs.models()), "model.name");
  note(find_keys_of_others(catalogs.find_source(config.data.source), catalogs.sources()), "data.source");
  for (const Rule& rule : rules) {
    if (!rule.read(config)) note(rule.keys, rule.because);
  }
  note_learning_rates(loaded);
}

}  // namespace ptrain
