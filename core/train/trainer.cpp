// The training loop.
#include "core/train/trainer.h"

#include "core/base/errors.h"
#include "core/base/signals.h"
#include "core/dist/bench.h"
#include "core/exec/peak.h"
#include "core/ops/math/statistics_drift.h"
#include "core/train/evaluator.h"
#include "core/train/feeder.h"
#include "core/train/settings.h"
#include "core/train/snapshot.h"
#include "core/train/weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace ptrain {
namespace {

/// With a loss scaler a few bad losses are overflow; this many in a row are divergence.
constexpr int bad_losses_allowed = 20;

/// Waits, busily, so that what took `seconds` takes `percent` longer.
void lengthen(double seconds, double percent) {
  const Stopwatch watch;
  while (watch.seconds() < seconds * percent * 1e-2) {
  }
}

/// Seconds of training from which a tenth of a second for the device's peak is no matter.
constexpr double worth_a_peak_measurement = 5.0;

}  // namespace

void Trainer::train() {
  const SignalGuard signals;
  LoaderOptions options = loader_options(config_, Split::train);
  ranks_.shard(options);
  Loader loader(training_data_, options);
  const std::int64_t first = result_.first_step;
  if (first >= total_steps_)
    observer_.on_note(fmt::format("nothing to train: {} of {} steps are done", first, total_steps_));
  loader.seek(first / steps_per_epoch_, (first % steps_per_epoch_) * config_.train.accumulate_steps);
  const bool evaluates = evaluation_ && config_.eval.every_epochs > 0;
  const std::int64_t planned = total_steps_ - first;
  if (config_.train.test_delay_percent > 0) {
    observer_.on_note(fmt::format("train.test_delay_percent: every step is made {} % longer, for a test",
                                  config_.train.test_delay_percent));
  }
  result_.warmup_steps = std::min(config_.train.measure_after_steps, planned / 2);
  result_.setup_seconds = since_start_.seconds();
  start_measuring();

  for (std::int64_t step = first; step < total_steps_ && result_.status == RunStatus::ok; ++step) {
    run_step(loader, step);
    const std::int64_t done = step + 1;
    const bool epoch_ends = done % steps_per_epoch_ == 0;
    const std::int64_t every = config_.output.checkpoint_every_steps;
    const bool checkpoints = every > 0 && done % every == 0;
    const std::int64_t epoch = done / steps_per_epoch_;
    const bool evaluation_is_due = evaluates && epoch_ends && epoch % config_.eval.every_epochs == 0;
    if (evaluation_is_due || checkpoints || done == total_steps_ || signal() != 0) finish_flight();
    if (epoch_ends && result_.status == RunStatus::ok && signal() == 0) {
      if (evaluation_is_due && done != total_steps_) evaluate_now();
      if (config_.train.accumulate_steps > 1) loader.seek(epoch, 0);
    }
    if (checkpoints && done != total_steps_ && result_.status == RunStatus::ok) write_checkpoint(done);
    if (signal() != 0) {
      finish_flight();
      if (result_.status == RunStatus::ok) {
        interrupted(signal(), done);
        write_checkpoint(done);
      }
    }
  }
  end_measuring();
  std::array<double, 1> bad_samples{static_cast<double>(loader.bad_samples())};
  ranks_.add_up(bad_samples);
  result_.bad_samples = std::llround(bad_samples[0]);
  if (result_.bad_samples > 0) {
    observer_.on_note(fmt::format("{} samples could not be read and were skipped; the last: {}", result_.bad_samples,
                                  loader.last_bad_sample()));
  }
  collect_guard();
  if (result_.status == RunStatus::ok) {
    if (first < total_steps_ && config_.output.save) write_checkpoint(total_steps_);
    if (evaluates) evaluate_now();
    if (signal() != 0) interrupted(signal(), first + result_.steps);
  }
  result_.measured_peak_bytes = backend_.memory_use().peak_resident_bytes;
  result_.kernels = training_->profile();
  const DType low = training_options(config_, backend_.preferred_low_precision()).amp.dtype;
  const DType precision = config_.amp.level == AmpLevel::O0 ? DType::f32 : low;
  const KernelOptions kernels = plan_options(config_).kernels;
  result_.datasheet_peak_flops = backend_.datasheet_peak_flops(precision, kernels);
  if (result_.seconds > worth_a_peak_measurement) {
    result_.peak_flops = measure_peak_flops(backend_, precision, kernels);
  }
}

void Trainer::interrupted(int signal, std::int64_t step) {
  result_.status = RunStatus::interrupted;
  result_.signal = signal;
  result_.message = fmt::format("interrupted by signal {} after step {}", signal, step);
}

/// The signal that ends the run: every rank acts on the same one at the same step.
int Trainer::signal() const { return ranks_.several() ? agreed_signal_ : SignalGuard::received(); }

/// A device that runs ahead gets the next step's launches before the host waits for this one's loss; the CPU is done
/// when it returns.
void Trainer::run_step(Loader& loader, std::int64_t step) {
  Flight& flight = flights_[static_cast<std::size_t>(step % 2)];
  launch_step(loader, step, flight);
  finish_flight();
  under_way_ = &flight;
  if (!backend_.runs_ahead()) finish_flight();
}

void Trainer::launch_step(Loader& loader, std::int64_t step, Flight& flight) {
  flight.started = since_start_.seconds();
  flight.step = step;
  flight.waited_before = ranks_.waited_seconds();
  RankStep& mine = flight.mine;
  mine = {};
  for (std::int64_t micro = 0; micro < config_.train.accumulate_steps; ++micro) {
    launch_micro_step(loader, step, micro, flight);
  }
  if (flight.loss_scale != nullptr) flight.loss_scale->start(variables_.at(loss_scale_state).data);
}

void Trainer::launch_micro_step(Loader& loader, std::int64_t step, std::int64_t micro, Flight& flight) {
  RankStep& mine = flight.mine;
  Stopwatch watch;
  ranks_.note("waiting for data", step + 1);
  const Batch& batch = loader.next();
  mine.reader_seconds += watch.restart();
  mine.samples += static_cast<double>(batch.count);
  ranks_.note("forward and backward", step + 1);
  const Phase last = micro + 1 == config_.train.accumulate_steps ? Phase::update : Phase::backward;
  PlanSet::Member& member = plan_for(batch, last, mine);
  Plan& plan = member.plan;
  const auto lr = static_cast<float>(schedule_.at(step));
  plan.write_input(flat::learning_rate, &lr, sizeof lr);
  feed(plan, batch, batch.count);
  if (plan.has_input(model_io::rng)) {
    const std::int64_t part = micro * ranks_.world_size() + ranks_.rank();
    // Packed tokens have no place in the whole step's batch to number a mask's elements by: parts differ in the number
    // of the step.
    const bool packed = plan.has_input(model_io::offsets);
    const std::array<std::int64_t, 3> rng{config_.seed, packed ? step | part << 32 : step, packed ? 0 : part};
    plan.write_input(model_io::rng, rng.data(), sizeof rng);
  }
  if (plan.has_input(flat::micro_step)) {
    // Rank 0 has the sum so far where micro-batches are added up in the data's order.
    const bool starts_afresh = config_.dist.reproducible && ranks_.rank() != 0;
    const auto index = static_cast<std::int32_t>(starts_afresh ? 0 : micro);
    plan.write_input(flat::micro_step, &index, sizeof index);
  }
  plan.run(Phase::forward, last);
  flight.losses[static_cast<std::size_t>(micro)]->start(plan.output(loss_output));
  const TokenCounts tokens = count_tokens(plan, batch);
  mine.tokens += static_cast<double>(tokens.valid);
  mine.computed_tokens += static_cast<double>(tokens.computed);
  mine.flops += member.cost.flops;
  ++member.batches;
  mine.compute_seconds += watch.seconds();
}

PlanSet::Member& Trainer::plan_for(const Batch& batch, Phase last, RankStep& mine) {
  PlanSet::Member* const found = training_->find(batch);
  if (found != nullptr && (training_->size() == 1 || found->plan.steady(Phase::forward, last))) return *found;
  finish_flight();  // which would end only when the plan is set up
  mine.sets_up = 1;
  if (found != nullptr) return *found;
  const double compiled_before = training_->compile_seconds();
  PlanSet::Member& compiled = training_->for_batch(batch);
  result_.search_seconds += training_->compile_seconds() - compiled_before;
  return compiled;
}

void Trainer::finish_flight() {
  if (under_way_ == nullptr) return;
  finish_step(*under_way_);
  under_way_ = nullptr;
}

void Trainer::finish_step(Flight& flight) {
  RankStep& mine = flight.mine;
  const Stopwatch watch;
  for (const auto& readback : flight.losses) {
    float loss = 0;
    std::memcpy(&loss, readback->finish().data(), sizeof loss);
    mine.loss += static_cast<double>(loss) / static_cast<double>(flight.losses.size());
  }
  mine.compute_seconds += watch.seconds();
  // Steps that overlap take the time from one's end to the next one's.
  const double begin = std::max(flight.started, last_finish_);
  if (config_.train.test_delay_percent > 0) {
    lengthen(since_start_.seconds() - begin, config_.train.test_delay_percent);
  }
  mine.step_seconds = since_start_.seconds() - begin;
  mine.waited_seconds = ranks_.waited_seconds() - flight.waited_before;
  mine.signal = SignalGuard::received();
  const std::span<const RankStep> by_rank = ranks_.share(mine);
  last_finish_ = since_start_.seconds();

  TrainObserver::Step s;
  s.step = flight.step + 1;
  s.total = total_steps_;
  s.epoch = flight.step / steps_per_epoch_;
  s.lr = static_cast<float>(schedule_.at(flight.step));
  s.reader_seconds = mine.reader_seconds;
  s.compute_seconds = mine.compute_seconds;
  for (const RankStep& rank : by_rank) {
    s.loss += rank.loss / static_cast<double>(by_rank.size());
    s.samples += std::llround(rank.samples);
    agreed_signal_ = std::max(agreed_signal_, static_cast<int>(rank.signal));
  }
  s.step_seconds = last_finish_ - begin;
  if (flight.loss_scale != nullptr) {
    std::array<float, LossScaleState::size> state{};
    std::memcpy(state.data(), flight.loss_scale->finish().data(), sizeof state);
    note_loss_scale(flight.step, state);
  }
  s.loss_scale = result_.scale_history.empty() ? 0.0 : result_.scale_history.back().scale;
  record_step(flight.step, s, by_rank);
  observer_.on_step(s);
}

void Trainer::record_step(std::int64_t step, const TrainObserver::Step& s, std::span<const RankStep> by_rank) {
  if (!result_.first_loss) result_.first_loss = s.loss;
  result_.losses.push_back(s.loss);
  result_.last_loss = s.loss;
  ++result_.steps;
  if (diverged(s.loss)) {
    result_.status = RunStatus::diverged;
    result_.message = fmt::format("training diverged: the loss is {} at step {}", s.loss, step + 1);
    for (std::size_t rank = 0; rank < by_rank.size() && ranks_.several(); ++rank) {
      if (std::isfinite(by_rank[rank].loss)) continue;
      result_.message += fmt::format(", first on rank {} on {}", rank,
                                     ranks_.communicator()->transport().host_of(static_cast<int>(rank)));
      break;
    }
  }
  if (result_.steps <= result_.warmup_steps) {
    if (result_.steps == result_.warmup_steps) start_measuring();
    return;
  }
  if (std::any_of(by_rank.begin(), by_rank.end(), [](const RankStep& rank) { return rank.sets_up > 0; })) {
    ++result_.set_up_steps;
    return;
  }
  result_.samples += s.samples;
  result_.seconds += s.step_seconds;
  for (const RankStep& rank : by_rank) {
    result_.flops += rank.flops;
    result_.tokens.valid += std::llround(rank.tokens);
    result_.tokens.computed += std::llround(rank.computed_tokens);
  }
  result_.step_ms.push_back(s.step_seconds * 1e3);
  result_.reader_ms.push_back(s.reader_seconds * 1e3);
  result_.compute_ms.push_back(s.compute_seconds * 1e3);
  result_.ranks.resize(by_rank.size());
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) result_.ranks[rank].add(by_rank[rank]);
}

void Trainer::start_measuring() {
  if (gpu_watch_) gpu_watch_->start();
  if (ranks_.several()) exchanged_before_ = ranks_.communicator()->times();
}

void Trainer::end_measuring() {
  if (gpu_watch_) result_.gpu = gpu_watch_->stop();
  if (result_.set_up_steps > 0) {
    observer_.on_note(fmt::format("{} steps that set up a plan for a new number of tokens are left out of the timing",
                                  result_.set_up_steps));
  }
  if (ranks_.is_main()) {  // what was searched while steps ran
    if (const auto warning = backend_.search_cache().save()) observer_.on_note(*warning);
  }
  result_.search_hash = backend_.search_cache().hash();
  const bool packed = model_.token_capacity(config_.data.batch_size, 1) > 0;
  if (packed && result_.samples > 0) result_.flops_per_sample = result_.flops / static_cast<double>(result_.samples);
  if (!ranks_.several()) return;
  Communicator& communicator = *ranks_.communicator();
  Exchanged exchanged;
  exchanged.engine = std::string(communicator.transport().engine());
  exchanged.steps = result_.steps - result_.warmup_steps;  // since start_measuring()
  exchanged.times = communicator.times() - exchanged_before_;
  for (std::size_t rank = 0; rank < result_.ranks.size(); ++rank) {
    result_.ranks[rank].host = communicator.transport().host_index(static_cast<int>(rank));
  }
  std::array<double, 1> worth{result_.seconds > worth_a_peak_measurement ? 1.0 : 0.0};
  ranks_.broadcast(worth);
  if (worth[0] > 0) {
    exchanged.peak_bus_bandwidth =
        measure_all_reduce(*collectives_, backend_, config_.dist.bucket_mb << 20).bus_bandwidth;
  }
  result_.exchanged = exchanged;
}

void Trainer::collect_guard() {
  if (config_.batch_norm_guard_every_steps == 0) return;
  // Models with batch norms have one plan.
  const GuardFinding mine = training_->largest_member().plan.guard_finding().value_or(GuardFinding{});
  std::array<double, 1> compared{static_cast<double>(mine.compared)};
  ranks_.add_up(compared);
  const double worst = ranks_.largest(mine.worst_drift);
  if (compared[0] == 0) return;
  result_.batch_norm_guard = GuardFinding{std::llround(compared[0]), worst};
  if (worst > statistics_drift_bound) {
    observer_.on_note(
        fmt::format("batch_norm_guard_every_steps: statistics of persistent batch norms differ from plain ones by up "
                    "to {:.2g} of a standard deviation, more than the {:g} that rounding explains; "
                    "flags.cudnn_batchnorm_spatial_persistent: false computes them plainly",
                    worst, statistics_drift_bound));
  }
}

bool Trainer::diverged(double loss) {
  bad_loss_steps_ = std::isfinite(loss) ? 0 : bad_loss_steps_ + 1;
  return bad_loss_steps_ > (result_.loss_scaling ? bad_losses_allowed : 0);
}

void Trainer::note_loss_scale(std::int64_t step, std::span<const float> state) {
  const double scale = state[LossScaleState::scale];
  result_.skipped_steps = std::llround(state[LossScaleState::skipped_steps]);
  if (result_.scale_history.empty() || result_.scale_history.back().scale != scale) {
    result_.scale_history.push_back({step + 1, scale});
  }
}

EvalResult Trainer::evaluate_now() {
  ranks_.note("evaluating", result_.first_step + result_.steps);
  refresh_low_precision(variables_, LowCopies::untrained);
  EvaluationOptions options;
  options.loader = loader_options(config_, Split::eval);
  ranks_.shard(options.loader);
  options.max_samples = config_.eval.max_samples;
  options.add_up = [this](std::span<double> sums) { ranks_.add_up(sums); };
  options.progress = [this](std::int64_t done, std::int64_t total) { observer_.on_eval_progress(done, total); };
  options.stop = [] { return SignalGuard::received() != 0; };
  const double compiled_before = evaluation_->compile_seconds();
  EvalResult evaluated = evaluate(*evaluation_, *evaluation_data_, options);
  result_.search_seconds += evaluation_->compile_seconds() - compiled_before;
  evaluated.step = result_.first_step + result_.steps;
  evaluated.epoch = evaluated.step / std::max<std::int64_t>(1, steps_per_epoch_);
  agreed_signal_ = static_cast<int>(ranks_.largest(SignalGuard::received()));
  if (signal() != 0) return evaluated;  // cut short: no figure to keep
  result_.evaluations.push_back(evaluated);
  observer_.on_eval(evaluated);
  return evaluated;
}

void Trainer::write_checkpoint(std::int64_t step) {
  ranks_.require_equal_parameters(variables_, step);
  if (!ranks_.is_main()) return;
  const Communicator::Busy busy(ranks_.communicator(), "writing a checkpoint");
  CheckpointInfo info;
  info.step = static_cast<std::uint64_t>(step);
  info.epoch = static_cast<std::uint64_t>(step / steps_per_epoch_);
  info.model = model_.signature();
  info.config_hash = config_hash_;
  info.state = {{"first_loss", result_.first_loss.value_or(0.0)},
                {"samples_per_step", config_.data.batch_size * config_.train.accumulate_steps * ranks_.world_size()}};
  result_.checkpoint =
      save_snapshot(config_.output.dir, info, variables_, static_cast<int>(config_.output.keep_checkpoints)).string();
}

}  // namespace ptrain
