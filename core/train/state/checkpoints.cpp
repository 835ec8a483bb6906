#include "core/train/state/checkpoints.h"

#include "core/base/errors.h"
#include "core/config/keys.h"
#include "core/config/text.h"
#include "core/io/checkpoint.h"
#include "core/train/state/snapshot.h"
#include "core/train/state/whole_tables.h"

#include <fmt/format.h>

namespace ptrain {
namespace {

/// ": train.seed was 1, is 2; ..." for the keys that differ; empty for a checkpoint without the configuration.
std::string differences(const nlohmann::json& earlier, const nlohmann::json& now) {
  if (!earlier.is_object()) return {};
  std::string text;
  for (const auto& [key, value] : now.items()) {
    if (!earlier.contains(key) || earlier[key] == value) continue;
    add_change(text, key, earlier[key].dump(), value.dump());
  }
  return text.empty() ? text : ": " + text;
}

/// Told where the training has another length, which a schedule's learning rates are shares of; else empty.
std::string describe_schedule(const nlohmann::json& earlier, const Config& config) {
  const ScheduleKind kind = config.train.schedule.name;
  const bool has_length = kind != ScheduleKind::constant && kind != ScheduleKind::piecewise &&
                          kind != ScheduleKind::inverse_sqrt && earlier.is_object();
  if (!has_length) return {};
  const nlohmann::json now = describe_work(config);
  const auto differs = [&](const char* key) { return earlier.contains(key) && earlier[key] != now[key]; };
  if (!differs("train.steps") && !differs("train.epochs")) return {};
  return fmt::format("; the learning rate jumps to that of schedule {} over the new length", enum_name(kind));
}

/// The best evaluation before the checkpoint, unless it was by another metric.
BestModel::State read_best(const nlohmann::json& state, const std::string& metric) {
  const nlohmann::json best = state.value("best", nlohmann::json::object());
  if (!best.is_object() || best.value("metric", "") != metric) return {};
  return best.value("state", BestModel::State{});
}

/// The target, if the training had reached the same one before the checkpoint.
std::optional<TargetReport> read_reached(const nlohmann::json& state, const Config& config) {
  if (config.train.target <= 0 || !state.contains("reached")) return std::nullopt;
  auto reached = read_fields<TargetReport>(state.at("reached"));
  const bool same = state.value("config", nlohmann::json::object()).value("train.target_metric", "") ==
                    describe_work(config)["train.target_metric"];
  return same && reached.target == config.train.target ? std::optional(std::move(reached)) : std::nullopt;
}

/// The checkpoint that a run resumes from; none for a new training.
LatestCheckpoint checkpoint_to_resume(const std::string& resume, const std::string& folder) {
  if (resume == "none") return {};
  if (resume == "auto") return find_latest(folder);
  LatestCheckpoint named;
  named.checkpoint = load_checkpoint(resume);
  return named;
}

}  // namespace

Checkpoints::Checkpoints(const Config& config, std::string config_hash, const Model& model, const Ranks& ranks,
                         const Dataset& training)
    : config_(config), config_hash_(std::move(config_hash)), model_(model), ranks_(ranks), training_(training) {}

std::optional<TrainedAmp> trained_amp(const std::string& resume, const std::string& folder) {
  const std::optional<Checkpoint> checkpoint = checkpoint_to_resume(resume, folder).checkpoint;
  if (!checkpoint || !checkpoint->info().state.contains("amp")) return std::nullopt;
  const nlohmann::json& amp = checkpoint->info().state.at("amp");
  const auto level = choice_from_name<AmpLevel>(amp.value("level", ""));
  const auto dtype = choice_from_name<AmpDType>(amp.value("dtype", ""));
  if (!level || !dtype) return std::nullopt;
  return TrainedAmp{*level, *dtype};
}

/// Over all ranks.
std::int64_t Checkpoints::samples_per_step() const {
  return config_.data.batch_size * config_.train.accumulate_steps * ranks_.world_size();
}

const std::string& Checkpoints::fingerprint() const {
  if (fingerprint_.empty()) fingerprint_ = fmt::format("{:016x}", training_.fingerprint());
  return fingerprint_;
}

/// Another optimizer interprets its state differently, even under the same names.
void Checkpoints::require_same_optimizer(const CheckpointInfo& info, const std::filesystem::path& file) const {
  constexpr const char* key = "train.optimizer.name";
  const nlohmann::json earlier = info.state.value("config", nlohmann::json::object()), now = describe_work(config_);
  if (!earlier.is_object() || !earlier.contains(key) || earlier[key] == now[key]) return;
  fail(
      "{}: was made with {} {}, this run has {}, which cannot continue from its state; start again from weights (-o "
      "model.weights=FILE, without --resume)",
      file.string(), key, earlier[key].dump(), now[key].dump());
}

StartingPoint Checkpoints::restore(Variables& variables, TrainObserver& observer) const {
  const auto [checkpoint, warnings] = checkpoint_to_resume(config_.resume, config_.output.dir);
  for (const std::string& warning : warnings) observer.on_note(warning);
  if (!checkpoint) return {};
  const CheckpointInfo& info = checkpoint->info();
  require_same_optimizer(info, checkpoint->path());
  StartingPoint start;
  start.sharded = restore_snapshot(*checkpoint, model_.signature(), variables);
  start.first_step = static_cast<std::int64_t>(info.step);
  start.first_loss = info.state.value("first_loss", 0.0);
  start.resumed_from = checkpoint->path().string();
  start.best = read_best(info.state, config_.output.keep_best);
  start.reached = read_reached(info.state, config_);
  start.earlier_seconds = info.state.value("seconds", 0.0);
  const std::int64_t samples = samples_per_step();
  const std::int64_t earlier = info.state.value("samples_per_step", samples);
  if (earlier != samples) {
    observer.on_note(fmt::format("{}: was made with {} samples per step, not {}: the data continues in another order",
                                 start.resumed_from, earlier, samples));
  }
  const std::int64_t earlier_data = info.state.value("training_samples", training_.size());
  if (earlier_data != training_.size()) {
    observer.on_note(
        fmt::format("{}: was made with {} training samples, not {}: epochs end elsewhere, and the data continues "
                    "in another order",
                    start.resumed_from, earlier_data, training_.size()));
  } else if (info.state.value("data", fingerprint()) != fingerprint()) {
    observer.on_note(fmt::format(
        "{}: was made with other training data: names, labels or texts of the samples have changed since, and what "
        "follows is not the training that it began",
        start.resumed_from));
  }
  if (info.config_hash != config_hash_) {
    const nlohmann::json before = info.state.value("config", nlohmann::json());
    observer.on_note(fmt::format("{}: was made with another configuration{}{}", start.resumed_from,
                                 differences(before, describe_work(config_)), describe_schedule(before, config_)));
  }
  observer.on_note(fmt::format("resumed from {} at step {}", start.resumed_from, start.first_step));
  return start;
}

void Checkpoints::write(Variables& variables, const TrainingState& state) {
  ranks_.require_equal_parameters(variables, state.step);
  WholeTables tables(model_, variables, ranks_);
  tables.gather();
  const WholeState sharded = gather_shards(variables, ranks_, make_shard(config_.dist, ranks_));
  if (!ranks_.is_main()) return;
  const Communicator::BusyScope busy(ranks_.communicator(), "writing a checkpoint");
  CheckpointInfo info;
  info.step = static_cast<std::uint64_t>(state.step);
  info.epoch = static_cast<std::uint64_t>(state.epoch);
  info.model = model_.signature();
  info.config_hash = config_hash_;
  info.state = {{"first_loss", state.first_loss},
                {"samples_per_step", samples_per_step()},
                {"training_samples", training_.size()},
                {"data", fingerprint()},
                {"amp", {{"level", enum_name(config_.amp.level.value())}, {"dtype", enum_name(config_.amp.dtype)}}},
                {"best", {{"metric", config_.output.keep_best}, {"state", state.best}}},
                {"config", describe_work(config_)}};
  // Without a target, equal runs write equal checkpoints.
  if (config_.train.target > 0) info.state["seconds"] = state.seconds;
  if (state.reached) info.state["reached"] = write_fields(*state.reached);
  last_ = save_snapshot(config_.output.dir, info, variables, sharded, static_cast<int>(config_.output.keep_checkpoints))
              .string();
}

}  // namespace ptrain
