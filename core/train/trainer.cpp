#include "core/train/trainer.h"

#include "core/base/counted.h"
#include "core/base/errors.h"
#include "core/base/signals.h"
#include "core/config/config_enums.h"
#include "core/config/text.h"
#include "core/io/atomic_file.h"
#include "core/io/replace_folder.h"
#include "core/io/run_files.h"
#include "core/runtime/dynamic_table.h"
#include "core/runtime/model_artifact.h"
#include "core/runtime/weights.h"
#include "core/tasks/find_metric.h"
#include "core/train/input/image_decoders.h"
#include "core/train/input/phased_loader.h"
#include "core/train/options_from_config.h"
#include "core/train/plans/memory_estimate.h"
#include "core/train/state/whole_state.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ptrain {

Trainer::Trainer(const Config& config, std::string config_hash, Backend& backend, const Model& model,
                 const Dataset& training, const Dataset* evaluation, TrainObserver& observer,
                 Communicator* communicator)
    : config_(config),
      backend_(backend),
      model_(model),
      training_data_(training),
      evaluation_data_(evaluation),
      observer_(observer),
      ranks_(communicator),
      timer_(backend.instruments(), ranks_, observer),
      gradients_(make_gradient_collectives(config.dist, backend, communicator)),
      decoders_(image_decoders(config.data, backend, ranks_)),
      plans_(training_plan_options(config, model, backend.kernels().preferred_low_precision(), ranks_), backend, model,
             ranks_, gradients_.get(), observer),
      checkpoints_(config, std::move(config_hash), model, ranks_, training),
      best_(config.output.keep_best, config.train.patience,
            std::filesystem::path(config.output.dir) / run_files::best) {
  require_rows_can_grow(model, backend.memory());
  const bool divides = config.dist.tables == TablePlacement::rows && !config.dist.reproducible;
  // As many ranks as a launcher started, whatever dist.ranks says.
  if (config.model.dynamic_table && ranks_.several() && !divides) {
    fail_usage("model.dynamic_table: on {} ranks expected dist.tables rows and dist.reproducible false",
               ranks_.world_size());
  }
}

void Trainer::check_memory(std::int64_t workspace_bytes) const {
  if (config_.output.save) workspace_bytes += saving_bytes(backend_.memory(), model_);
  require_memory(plans_.options().step, plans_.options().phases, backend_, model_, ranks_, workspace_bytes);
}

void Trainer::compile(OutputUse use) {
  const InterruptibleWork interruptible;
  const TrainingPlanOptions& options = plans_.options();
  counts_ = count_steps(config_.train, options.phases, options.loader, training_data_, use);
  if (use == OutputUse::training) {
    note_idle_schedule();
    note_few_checkpoints();
  }
  plans_.compile(training_data_, evaluation_data_);
  note_absent_ops();
  flush_notes();
}

void Trainer::note_absent_ops() const {
  const std::vector<std::string>& absent = plans_.figures().amp.absent;
  if (absent.empty()) return;
  observer_.on_note(fmt::format(
      "amp.custom_white_list, amp.custom_black_list: {} {} no op of this network once ops are fused; output.per_op "
      "lists its ops",
      join_words(absent, "and"), absent.size() == 1 ? "names" : "name"));
}

void Trainer::flush_notes() {
  for (const std::string& note : backend_.take_notes()) observer_.on_note(note);
}

void Trainer::prepare() {
  const bool others_take_it_too = ranks_.several() && backend_.memory().host_reads_device();
  if (!others_take_it_too) check_memory(plans_.figures().workspace_bytes + plans_.figures().translator_bytes);
  plans_.allocate();
  start_ = set_up_start(config_, model_, checkpoints_, ranks_, plans_.variables(), observer_);
  best_.restore(start_.best);
  step_runner_.emplace(
      config_.train, config_.output, backend_, plans_, ranks_, counts_,
      [this](const TrainObserver::Step& step, std::span<const RankStep> by_rank) { record_step(step, by_rank); });
  if (evaluation_data_ != nullptr) {
    evaluator_.emplace(config_.eval, config_.output, plans_, *evaluation_data_, decoders_, ranks_, observer_);
    if (best_.wanted()) best_.compare_by(metric_named(config_.output.keep_best, "output.keep_best"));
  }
  for (const NodeProfile& node : plans_.training().profile()) {
    observer_.on_detail(fmt::format("{} {}: {}", node.type, node.name, node.record.implementation));
  }
  observer_.on_start(result());
}

/// What the configuration's own notes cannot say before the number of steps is known: of warm-up by train.epochs, of
/// milestones by train.steps.
void Trainer::note_idle_schedule() const {
  const ScheduleConfig& schedule = config_.train.schedule;
  if (config_.train.steps == 0) {
    if (schedule.warmup_steps < counts_.total_steps) return;
    observer_.on_note(fmt::format(
        "train.schedule.warmup_steps: {}, but the training has {} steps: lr never reaches its peak; expected fewer",
        schedule.warmup_steps, counts_.total_steps));
    return;
  }
  for (const double milestone : schedule.milestones) {
    if (counts_.steps_until(milestone) < counts_.total_steps) continue;
    observer_.on_note(fmt::format(
        "train.schedule.milestones: epoch {:g} is not reached in the training's {} steps: lr does not change there",
        milestone, counts_.total_steps));
    return;
  }
}

void Trainer::note_few_checkpoints() const {
  const std::int64_t averaged = config_.train.average_checkpoints, every = config_.output.checkpoint_every_steps;
  if (averaged < 2) return;
  const std::int64_t written = (counts_.total_steps + every - 1) / every;
  if (written >= averaged) return;
  observer_.on_note(fmt::format(
      "train.average_checkpoints: {}, but the training writes {}: {} in steps of output.checkpoint_every_steps {}",
      averaged, counted(written, "checkpoint"), counts_.total_steps, every));
}

void Trainer::train() {
  const SignalGuard signals;
  LoaderOptions options = plans_.options().loader;
  options.make_decoder = decoders_;
  PhasedLoader loader(training_data_, std::move(options), counts_);
  start_training();
  for (std::int64_t step = start_.first_step; step < counts_.total_steps && should_continue(); ++step) {
    announce_stage(step);
    step_runner_->run(loader.at(step), step,
                      pauses_after(step + 1) ? StepRunner::Then::finish : StepRunner::Then::next_step);
    after_step(step + 1);
  }
  if (ok()) step_runner_->finish();
  finish_timing(loader);
  if (ok()) finish_training();
  device_ = read_device(plans_.options().step, backend_, plans_.training());
  device_.peak_flops = measured_peak(plans_.options().step, backend_, timer_.figures(), ranks_, observer_);
}

void Trainer::finish_training() {
  const std::int64_t done = steps_done();
  const bool trained = start_.first_step < done;
  if (!outcome_.ended_early.empty()) observer_.on_note(outcome_.ended_early);
  if (trained && config_.output.save) write_checkpoint(done);
  const bool averages = config_.train.average_checkpoints > 0;
  if (averages) checkpoints_.average(plans_.variables(), start_.first_step, done, observer_);
  const bool evaluated =
      !averages && evaluator_ && !evaluator_->results().empty() && evaluator_->results().back().step == done;
  if (evaluates() && !evaluated) {
    const BestModel::State before = best_.state();
    evaluate_and_keep_best();
    if (trained && config_.output.save && best_.state() != before) checkpoints_.update_last(training_state(done));
  }
  if (ok() && ranks_.signal() != 0) interrupted(done);
  if (ok()) write_predictions();
}

const MetricInfo& Trainer::metric_named(const std::string& name, const std::string& key) const {
  return find_metric(evaluator_->metrics(), name, key);
}

void Trainer::start_training() {
  const std::int64_t first = start_.first_step, total = counts_.total_steps;
  if (first >= total) observer_.on_note(fmt::format("nothing to train: {} of {} steps are done", first, total));
  if (best_.out_of_patience()) end_without_patience();
  if (config_.train.test_delay_percent > 0) {
    observer_.on_note(fmt::format("train.test_delay_percent: every step is made {} % longer, for a test",
                                  config_.train.test_delay_percent));
  }
  outcome_.setup_seconds = since_start_.seconds();
  training_clock_.restart();
  const TrainConfig& train = config_.train;
  if (train.target > 0 && evaluator_) begin_target(metric_named(train.target_metric, "train.target_metric").name);
  timer_.start(total - first, train.measure_after_steps);
}

void Trainer::begin_target(const std::string& metric) {
  target_ = TargetReport{metric, config_.train.target};
  if (!start_.reached) return;
  target_ = start_.reached;
  target_->metric = metric;
  outcome_.ended_early = fmt::format("ended: {} reached train.target {} after step {} already", metric,
                                     config_.train.target, target_->step);
}

void Trainer::announce_stage(std::int64_t step) {
  const std::size_t phase = counts_.find_phase(step);
  const bool begins = step == start_.first_step || step == counts_.phases[phase].first_step;
  if (counts_.phases.size() == 1 || !begins) return;
  observer_.on_note(fmt::format("phase {} of {}, from step {} on: {}", phase + 1, counts_.phases.size(), step + 1,
                                phase_text(counts_.phases[phase])));
}

void Trainer::record_step(const TrainObserver::Step& step, std::span<const RankStep> by_rank) {
  if (!start_.first_loss) start_.first_loss = step.loss;
  losses_.add_terms(step.losses);
  const LossScaling scaling = plans_.loss_scaling() ? LossScaling::on : LossScaling::off;
  if (losses_.add(step.loss, scaling)) {
    outcome_.status = RunStatus::diverged;
    outcome_.message = fmt::format("training diverged: the loss is {} at step {}", step.loss, step.step);
    const auto first =
        std::find_if(by_rank.begin(), by_rank.end(), [](const RankStep& rank) { return !std::isfinite(rank.loss); });
    if (ranks_.several() && first != by_rank.end()) {
      const auto rank = static_cast<int>(first - by_rank.begin());
      outcome_.message +=
          fmt::format(", first on rank {} on {}", rank, ranks_.communicator()->transport().rank_host(rank));
    }
    outcome_.message += explain_divergence(plans_.value_watch(), scaling);
  }
  timer_.add(step, by_rank);
  const double limit = config_.train.time_limit_seconds;
  if (limit > 0 && by_rank[0].elapsed_seconds >= limit && step.step < step.total) {
    outcome_.ended_early =
        fmt::format("ended after step {} of {}: train.time_limit_seconds {} have passed", step.step, step.total, limit);
  }
  TrainObserver::Step reported = step;
  const bool logged = step.step % config_.train.log_every_steps == 0 || step.step == step.total;
  if (logged) reported.memory_bytes = backend_.memory().usage().resident_bytes;
  observer_.on_step(reported);
  flush_notes();
}

/// Runs what is due after `done` steps; only then waits for the step in flight.
void Trainer::after_step(std::int64_t done) {
  const bool is_last = done == counts_.total_steps;
  if (pauses_after(done) || ranks_.signal() != 0) step_runner_->finish();
  if (evaluation_is_due(done) && !is_last && ok() && ranks_.signal() == 0) evaluate_and_keep_best();
  if (checkpoint_is_due(done) && !is_last && ok()) write_checkpoint(done);
  if (ranks_.signal() == 0) return;
  step_runner_->finish();
  if (!ok()) return;
  interrupted(done);
  write_checkpoint(done);
}

bool Trainer::pauses_after(std::int64_t done) const {
  return evaluation_is_due(done) || checkpoint_is_due(done) || done == counts_.total_steps;
}

bool Trainer::checkpoint_is_due(std::int64_t done) const {
  const std::int64_t every = config_.output.checkpoint_every_steps;
  return every > 0 && done % every == 0;
}

bool Trainer::evaluation_is_due(std::int64_t done) const {
  if (!evaluates()) return false;
  if (config_.eval.every_steps > 0) return done % config_.eval.every_steps == 0;
  return counts_.epoch_ends(done) && counts_.position(done).epoch % config_.eval.every_epochs == 0;
}

void Trainer::evaluate_and_keep_best() {
  const EvalResult result = evaluate_now();
  if (!ok() || ranks_.signal() != 0) return;
  reach_target(result);
  if (!best_.wanted()) return;
  if (best_.add(result)) {
    write_model("writing the best model", [this] {
      make_folder(config_.output.dir);
      replace_folder(best_.folder(), [this](const std::filesystem::path& folder) { write_model_files(folder); });
    });
  }
  if (best_.out_of_patience()) end_without_patience();
}

void Trainer::reach_target(const EvalResult& result) {
  const TrainConfig& train = config_.train;
  if (!target_ || target_->seconds) return;
  target_->step = result.step;
  target_->epochs = counts_.epochs(result.step);
  const MetricValue& metric = find_metric(result, target_->metric);
  if (!metric.value || (*metric.value != train.target && !metric.is_better(*metric.value, train.target))) return;
  target_->seconds = seconds_of_training();
  const std::string reached =
      fmt::format("{} {:.4f} reaches train.target {} after step {} of {}, in {:.1f} s", metric.name, *metric.value,
                  train.target, result.step, counts_.total_steps, *target_->seconds);
  if (result.step < counts_.total_steps) {
    outcome_.ended_early = "ended: " + reached;
  } else {
    observer_.on_note(reached);
  }
}

void Trainer::end_without_patience() {
  const BestReport best = best_.record().value_or(BestReport{});
  if (steps_done() == counts_.total_steps) return;
  outcome_.ended_early = fmt::format("ended after step {} of {}: {} without a {} better than {:.4f} of step {}",
                                     steps_done(), counts_.total_steps, counted(config_.train.patience, "evaluation"),
                                     best.metric, best.value, best.step);
}

void Trainer::finish_timing(const PhasedLoader& loader) {
  write_trace();
  timer_.end(gradients_.get(), backend_, config_.dist.bucket_mb << 20);
  plans_.note_trained(timer_.figures().flops, timer_.figures().samples);
  if (decoders_) outcome_.device_decoded = loader.device_decoded();
  outcome_.table = count_all_rows(plans_.variables(), ranks_, config_.model.hash_buckets);
  outcome_.bad_samples = ranks_.collect(loader.bad_samples());
  if (outcome_.bad_samples.count > 0) observer_.on_note(outcome_.bad_samples.text("training"));
  if (const ValueWatch* const watch = plans_.value_watch()) {
    outcome_.numerics = Numerics{watch->ranges(), watch->not_finite()};
    observer_.on_note(summarize_values(*outcome_.numerics));
  }
  if (config_.batch_norm_guard_every_steps > 0) {
    outcome_.batch_norm_guard = collect_guard(plans_.training(), ranks_, observer_);
  }
}

void Trainer::interrupted(std::int64_t step) {
  outcome_.status = RunStatus::interrupted;
  outcome_.signal = ranks_.signal();
  outcome_.message =
      fmt::format("interrupted by signal {} after step {}; the same command with --resume auto continues from there",
                  outcome_.signal, step);
}

void Trainer::require_trained_weights() const {
  if (start_.untrained.empty()) return;
  fail("nothing to evaluate: {} has no {}, which would be random",
       config_.model.weights.empty() ? config_.output.dir : config_.model.weights, start_.untrained.front());
}

EvalResult Trainer::evaluate_now() {
  EvalResult result = evaluator_->run(steps_done(), counts_.position(steps_done()).epoch);
  flush_notes();
  if (result.bad_samples.count > noted_bad_samples_) observer_.on_note(result.bad_samples.text("evaluation"));
  noted_bad_samples_ = std::max(noted_bad_samples_, result.bad_samples.count);
  if (result.evaluation.eval_samples > 0 && result.loss && !std::isfinite(*result.loss)) {
    outcome_.status = RunStatus::diverged;
    outcome_.message = fmt::format("the loss of the evaluation after step {} is {}", steps_done(), *result.loss);
  }
  return result;
}

TrainingState Trainer::training_state(std::int64_t step) const {
  return {step,
          counts_.position(step).epoch,
          start_.first_loss.value_or(0.0),
          seconds_of_training(),
          best_.state(),
          target_ && target_->seconds ? target_ : std::nullopt};
}

void Trainer::write_checkpoint(std::int64_t step) {
  checkpoints_.write(plans_.variables(), training_state(step));
  observer_.on_detail(fmt::format("checkpoint: {}", checkpoints_.last()));
}

void Trainer::export_model(const std::filesystem::path& folder) {
  write_model("writing the weights", [&] { write_model_files(folder); });
}

void Trainer::write_predictions() {
  if (!config_.output.predictions || !evaluator_ || evaluator_->results().empty()) return;
  std::vector<Prediction> predictions = evaluator_->predictions();
  if (!ranks_.is_main()) return;
  const Communicator::BusyScope busy(ranks_.communicator(), "writing the predictions");
  ptrain::write_predictions(std::filesystem::path(config_.output.dir) / run_files::predictions, *evaluation_data_,
                            std::move(predictions));
}

void Trainer::write_trace() {
  if (!step_runner_->trace()) return;
  const Communicator::BusyScope busy(ranks_.communicator(), "writing the trace");
  make_folder(config_.output.dir);
  const std::filesystem::path file = std::filesystem::path(config_.output.dir) / run_files::trace;
  step_runner_->trace()->write(file);
  observer_.on_detail(fmt::format("trace: {}", file.string()));
}

void Trainer::write_model(const char* action, const std::function<void()>& write) {
  WholeState whole(model_, plans_.variables(), ranks_, make_shard(config_.dist, ranks_), WholeState::Of::parameters);
  whole.gather();
  if (!ranks_.is_main()) return;
  const Communicator::BusyScope busy(ranks_.communicator(), action);
  write();
}

void Trainer::write_model_files(const std::filesystem::path& folder) {
  const AveragedWeights averaged(plans_.variables());
  save_weights(folder / model_files::weights, model_, plans_.variables(), steps_done());
  Config config = config_;
  if (const auto table = count_table_rows(plans_.variables()))
    config.model.hash_buckets = std::max<std::int64_t>(1, table->rows);
  write_model_document(folder, config, model_, training_data_.info());
}

RunResult Trainer::result() const {
  RunEnd outcome = outcome_;
  if (!outcome.table) outcome.table = count_table_rows(plans_.variables());
  return {std::move(outcome),
          plans_.figures(),
          start_,
          counts_,
          losses_.figures(),
          step_runner_ ? step_runner_->loss_scales() : LossScales{},
          timer_.figures(),
          device_,
          evaluator_ ? evaluator_->results() : std::vector<EvalResult>{},
          checkpoints_.last(),
          best_.record(),
          target_};
}

}  // namespace ptrain
