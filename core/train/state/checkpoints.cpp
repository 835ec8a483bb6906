#include "core/train/state/checkpoints.h"

#include "core/base/counted.h"
#include "core/base/errors.h"
#include "core/config/keys.h"
#include "core/config/text.h"
#include "core/io/atomic_file.h"
#include "core/io/checkpoint.h"
#include "core/runtime/dynamic_table.h"
#include "core/runtime/weights.h"
#include "core/train/state/snapshot.h"
#include "core/train/state/whole_state.h"

#include <fmt/format.h>

#include <algorithm>

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

std::vector<std::uint64_t> list_newest_first(const std::string& folder) {
  std::vector<std::uint64_t> steps = list_checkpoints(folder);
  std::ranges::reverse(steps);
  return steps;
}

}  // namespace

Checkpoints::Checkpoints(const Config& config, std::string config_hash, const Model& model, const Ranks& ranks,
                         const Dataset& training)
    : config_(config),
      config_hash_(std::move(config_hash)),
      model_(model),
      ranks_(ranks),
      training_(training),
      saver_(config.output.whole_checkpoint_every) {}

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
  if (!checkpoint && !warnings.empty()) {
    fail("{}: no checkpoint is left to go on from; --fresh without --resume deletes them and trains from the start",
         config_.output.dir);
  }
  if (!checkpoint) return {};
  const CheckpointInfo& info = checkpoint->info();
  require_same_optimizer(info, checkpoint->path());
  StartingPoint start;
  restore_snapshot(*checkpoint, model_, variables);
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

CheckpointInfo Checkpoints::describe(const TrainingState& state) const {
  CheckpointInfo info;
  info.step = static_cast<std::uint64_t>(state.step);
  info.epoch = static_cast<std::uint64_t>(state.epoch);
  info.model = model_.signature();
  info.config_hash = config_hash_;
  info.state = {{"first_loss", state.first_loss},
                {"samples_per_step", samples_per_step()},
                {"training_samples", training_.size()},
                {"data", fingerprint()},
                {"layout", flat_layout},
                {"amp", {{"level", enum_name(config_.amp.level.value())}, {"dtype", enum_name(config_.amp.dtype)}}},
                {"best", {{"metric", config_.output.keep_best}, {"state", state.best}}},
                {"config", describe_work(config_)}};
  // Without a target, equal runs write equal checkpoints.
  if (config_.train.target > 0) info.state["seconds"] = state.seconds;
  if (state.reached) info.state["reached"] = write_fields(*state.reached);
  return info;
}

void Checkpoints::write(Variables& variables, const TrainingState& state) {
  ranks_.require_equal_parameters(variables, state.step);
  WholeState whole(model_, variables, ranks_, make_shard(config_.dist, ranks_));
  whole.gather();
  if (!ranks_.is_main()) return;
  const Communicator::BusyScope busy(ranks_.communicator(), "writing a checkpoint");
  const CheckpointInfo info = describe(state);
  const RowsInUse rows_in_use(model_, variables);
  last_ = save_snapshot(config_.output.dir, info, variables, count_kept(state.step), saver_).string();
  written_.insert(info.step);
}

void Checkpoints::update_last(const TrainingState& state) {
  if (!ranks_.is_main()) return;
  const Communicator::BusyScope busy(ranks_.communicator(), "writing a checkpoint");
  const Checkpoint written = load_checkpoint(last_);
  CheckpointInfo info = describe(state);
  info.base = written.info().base;
  save_checkpoint(config_.output.dir, info, written.tensors(), count_kept(state.step));
  written.check();
}

/// Whether an uninterrupted training writes a checkpoint after that step too.
bool Checkpoints::is_regular(std::uint64_t step) const {
  const auto every = static_cast<std::uint64_t>(config_.output.checkpoint_every_steps);
  return every > 0 && step % every == 0;
}

int Checkpoints::count_kept(std::int64_t step) const {
  const auto wanted = static_cast<int>(config_.output.keep_checkpoints);
  if (config_.train.average_checkpoints == 0) return wanted;
  int kept = 1, regular = 1;  // the one that is written
  for (const std::uint64_t earlier : list_newest_first(config_.output.dir)) {
    if (earlier >= static_cast<std::uint64_t>(step)) continue;
    if (regular == wanted) break;
    ++kept;
    if (is_regular(earlier)) ++regular;
  }
  return kept;
}

std::vector<Checkpoint> Checkpoints::load_last(std::int64_t first_step, std::int64_t done,
                                               TrainObserver& observer) const {
  const auto first = static_cast<std::uint64_t>(first_step), last = static_cast<std::uint64_t>(done);
  const auto wanted = static_cast<std::size_t>(config_.train.average_checkpoints);
  std::vector<Checkpoint> loaded;
  for (const std::uint64_t step : list_newest_first(config_.output.dir)) {
    if (loaded.size() == wanted) break;
    const bool is_own = step <= first || written_.contains(step);
    if (!is_own || step > last || (step != last && !is_regular(step))) continue;
    try {
      loaded.push_back(load_checkpoint(checkpoint_path(config_.output.dir, step)));
    } catch (const UnreadableFile&) {
      throw;
    } catch (const Error& invalid) {
      observer.on_note(fmt::format("{}; passed over", invalid.what()));
    }
  }
  std::ranges::reverse(loaded);
  return loaded;
}

void Checkpoints::average(Variables& variables, std::int64_t first_step, std::int64_t done,
                          TrainObserver& observer) const {
  WholeState whole(model_, variables, ranks_, make_shard(config_.dist, ranks_));
  whole.gather();
  if (ranks_.is_main()) {
    const Communicator::BusyScope busy(ranks_.communicator(), "averaging checkpoints");
    const std::vector<Checkpoint> last = load_last(first_step, done, observer);
    if (last.empty()) fail("{}: has no checkpoint to average (train.average_checkpoints)", config_.output.dir);
    average_snapshots(last, model_.signature(), variables);
    std::vector<std::string> steps;
    for (const Checkpoint& checkpoint : last) steps.push_back(std::to_string(checkpoint.info().step));
    const auto wanted = static_cast<std::size_t>(config_.train.average_checkpoints);
    observer.on_note(
        fmt::format("train.average_checkpoints: the weights are the mean of {}, after step {}{}",
                    counted(static_cast<std::int64_t>(last.size()), "checkpoint"), join_words(steps, "and"),
                    last.size() < wanted ? fmt::format("; there are no {} of this training", wanted) : ""));
  }
  if (ranks_.is_main()) refresh_low_precision(variables, LowPrecisionCopies::all);
  whole.scatter();
  ranks_.broadcast(variables, whole.names());
}

}  // namespace ptrain
