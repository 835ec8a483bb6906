#include "core/train/step_runner.h"

#include "core/data/tensor_names.h"
#include "core/passes/delay_updates.h"
#include "core/passes/optimizer.h"
#include "core/passes/pipeline.h"
#include "core/runtime/dynamic_table.h"
#include "core/runtime/feeder.h"
#include "core/tasks/loss_divisor.h"
#include "core/train/input/mix.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

namespace ptrain {
namespace {

constexpr std::int64_t traced_steps = 5;

/// Busy-waits so that work of `seconds` takes `percent` longer.
void lengthen(double seconds, double percent) {
  const Stopwatch watch;
  while (watch.seconds() < seconds * percent * 1e-2) {
  }
}

/// Micro-batches before a step's last one get no rows and wait for no exchange.
Pass first_pass(Pass last) { return last == Pass::backward ? Pass::forward : Pass::fetch; }

}  // namespace

StepRunner::StepRunner(const TrainConfig& train, const OutputConfig& output, Backend& backend, TrainingPlans& plans,
                       Ranks& ranks, const StepCounts& counts, OnStep on_step)
    : train_(train),
      backend_(backend),
      plans_(plans),
      ranks_(ranks),
      counts_(counts),
      schedule_(make_schedule(train, counts)),
      on_step_(std::move(on_step)),
      delays_updates_(plans.options().step.passes.delays_updates()),
      looks_ahead_(looks_ahead(plans.training().largest().graph())) {
  if (output.trace && ranks.is_main()) {
    trace_.emplace(train.measure_after_steps, traced_steps, counts.total_steps);
  }
  for (StepInFlight& step : steps_) {
    for (std::int64_t i = 0; i < train_.accumulate_steps; ++i) {
      step.losses.push_back(backend_.memory().make_readback(sizeof(float)));
      for (std::size_t term = 0; term < plans.loss_terms().size(); ++term) {
        step.terms.push_back(backend_.memory().make_readback(sizeof(float)));
      }
    }
    if (plans_.loss_scaling()) step.loss_scale = backend_.memory().make_readback(LossScaleState::size * sizeof(float));
  }
}

void StepRunner::run(Loader& loader, std::int64_t step, Then then) {
  StepInFlight& launched = steps_[static_cast<std::size_t>(step % 2)];
  launch(loader, step, then, launched);
  finish_step();
  in_flight_ = &launched;
  if (backend_.stream().runs_ahead()) return;
  measure(launched);
  if (!delays_updates_) finish_step();
}

void StepRunner::launch(Loader& loader, std::int64_t step, Then then, StepInFlight& launched) {
  ++launches_;
  launched.traced = trace_ && trace_->wants(step);
  if (launched.traced) finish_step();  // the step before, which would overlap with this one
  launched.started = clock_.seconds();
  launched.step = step;
  launched.waited_before = ranks_.waited_seconds();
  launched.mine = {};
  launched.measured = false;
  launched.weights.clear();
  const std::int64_t micro_batches = counts_.micro_batches(step);
  if (plans_.options().step.passes.weighted_loss) {
    launch_weighted(loader, micro_batches, launched);
  } else if (looks_ahead_) {
    launch_with_next(loader, then, launched);
  } else {
    for (std::int64_t micro = 0; micro < micro_batches; ++micro) {
      const Batch& batch = load(loader, launched);
      const double weight = accumulates() ? loss_divisor(batch, plans_.class_weights()) : 1.0;
      launch_micro_step(batch, micro + 1 == micro_batches ? last_pass() : Pass::backward, weight, launched);
    }
  }
  has_delayed_ = delays_updates_;
  if (launched.loss_scale != nullptr) launched.loss_scale->start(plans_.variables().at(loss_scale_state).data);
}

const Batch& StepRunner::load(Loader& loader, StepInFlight& launched) {
  const Stopwatch watch;
  ranks_.note("waiting for data", launched.step + 1);
  const double begin = clock_.seconds();
  const Batch& batch = mixed(without_padding(loader.next()));
  trace(launched, "waiting for data", begin);
  launched.mine.reader_seconds += watch.seconds();
  return batch;
}

void StepRunner::launch_with_next(Loader& loader, Then then, StepInFlight& launched) {
  const std::int64_t next = launched.step + 1;
  if (!next_) next_ = load(loader, launched);
  const Batch batch = *std::exchange(next_, std::nullopt);
  const PlanSet::Member* const member = plans_.training().find(batch);
  if (has_delayed_ && (member == nullptr || &member->plan != last_plan_)) finish();  // which has room for other rows
  const bool same_loader = next < counts_.total_steps && counts_.find_phase(next) == counts_.find_phase(launched.step);
  if (same_loader && then == Then::next_step) next_ = load(loader, launched);
  launch_micro_step(batch, last_pass(), 1.0, launched);
}

Pass StepRunner::last_pass() { return delays_updates_ && !has_delayed_ ? Pass::exchange : Pass::update; }

void StepRunner::launch_weighted(Loader& loader, std::int64_t micro_batches, StepInFlight& launched) {
  std::vector<Batch> batches;
  std::vector<double> targets;
  for (std::int64_t micro = 0; micro < micro_batches; ++micro) {
    batches.push_back(load(loader, launched));
    targets.push_back(loss_divisor(batches.back(), plans_.class_weights()));
  }
  std::array<double, 2> all{std::accumulate(targets.begin(), targets.end(), 0.0), static_cast<double>(micro_batches)};
  ranks_.add_up(all);
  const auto [sum, count] = all;
  for (std::size_t micro = 0; micro < batches.size(); ++micro) {
    const double weight = sum > 0 ? targets[micro] * count / sum : 1;
    launch_micro_step(batches[micro], micro + 1 == batches.size() ? last_pass() : Pass::backward, weight, launched);
  }
}

void StepRunner::launch_micro_step(const Batch& batch, Pass last, double batch_weight, StepInFlight& launched) {
  const std::int64_t step = launched.step;
  const auto micro = static_cast<std::int64_t>(launched.weights.size());
  RankStep& mine = launched.mine;
  const Stopwatch watch;
  ranks_.note("forward and backward", step + 1);
  launched.weights.push_back(batch_weight);
  mine.samples += static_cast<double>(batch.count);
  PlanSet::Member& member = plan_for(batch, last, mine);
  Plan& plan = member.plan;
  const double fed = clock_.seconds();
  feed(plan, batch);
  feed_step(plan, step, micro);
  if (plan.has_input(loss_weight)) {
    const auto fed_weight = static_cast<float>(batch_weight);
    plan.write_input(loss_weight, &fed_weight, sizeof fed_weight);
  }
  if (accumulates()) feed_weights(plan, launched.weights, last);
  if (looks_ahead_) feed_next(plan, batch);
  trace(launched, "feeding the batch", fed);
  run_plan(plan, last, launched);
  launched.losses[static_cast<std::size_t>(micro)]->start(plan.output(loss_output));
  std::size_t term = static_cast<std::size_t>(micro) * plans_.loss_terms().size();
  for (const auto& [name, weight] : plans_.loss_terms()) {
    launched.terms[term++]->start(plan.output(loss_term_output(name)));
  }
  const TokenCounts tokens = count_tokens(plan, batch);
  mine.tokens += static_cast<double>(tokens.valid);
  mine.computed_tokens += static_cast<double>(tokens.computed);
  mine.flops += member.cost.flops;
  ++member.batches;
  mine.compute_seconds += watch.seconds();
}

void StepRunner::feed_next(Plan& plan, const Batch& batch) {
  if (fetched_for_ != &plan) {
    feed_next_inputs(plan, batch);
    plan.run(Pass::fetch, Pass::fetch);
  }
  const PlanSet::Member* const next = next_ ? plans_.training().find(*next_) : nullptr;
  const bool same_plan = next != nullptr && &next->plan == &plan;
  feed_next_inputs(plan, same_plan ? *next_ : Batch{});
  fetched_for_ = same_plan ? &plan : nullptr;
}

void StepRunner::run_plan(Plan& plan, Pass last, StepInFlight& launched) {
  plan.time_nodes(launched.traced || times_ops(launched.step));
  if (ValueWatch* const watch = plans_.value_watch()) watch->begin_step(launched.step + 1);
  const double begin = clock_.seconds();
  plan.run(first_pass(last), last);
  last_plan_ = &plan;
  if (!launched.traced) return;
  trace(launched, "forward and backward", begin);
  trace_->add_ops(begin, plan.last_run());
  if (backend_.stream().runs_ahead()) launched.mine.sets_up = 1;  // not recorded yet, and so not measured
}

/// In measured steps, and in the last one if there are none: a first run also loads kernels.
bool StepRunner::times_ops(std::int64_t step) const {
  return plans_.options().per_op && (launches_ > train_.measure_after_steps || step + 1 >= counts_.total_steps);
}

void StepRunner::trace(const StepInFlight& step, const std::string& what, double begin) {
  if (step.traced) trace_->add(what, begin, clock_.seconds() - begin);
}

PlanSet::Member& StepRunner::plan_for(const Batch& batch, Pass last, RankStep& mine) {
  PlanSet& plans = plans_.training();
  PlanSet::Member* const found = plans.find(batch);
  if (found != nullptr && (plans.size() == 1 || found->plan.steady(first_pass(last), last))) return *found;
  finish_step();  // the one before, to time it without the setup
  mine.sets_up = 1;
  return found != nullptr ? *found : plans.for_batch(batch);
}

/// An epoch's last batch has a plan of its own size, so that padding takes no part in batch norms' statistics.
const Batch& StepRunner::without_padding(const Batch& batch) {
  if (batch.count == batch.rows() || !plans_.has_running_statistics()) return batch;
  rest_ = batch.slice(0, batch.count);
  rest_.epoch = batch.epoch;
  rest_.index = batch.index;
  return rest_;
}

const Batch& StepRunner::mixed(const Batch& batch) {
  if (!mixes(train_)) return batch;
  const std::int64_t number = batch.index * ranks_.world_size() + ranks_.rank();
  mixed_ = mix_rows(batch, draw_mix(train_, seed(), find_image_size(batch), batch.epoch, number));
  return mixed_;
}

double StepRunner::learning_rate(std::int64_t step) const {
  return schedule_.at(step) * counts_.phases[counts_.find_phase(step)].lr_scale;
}

void StepRunner::feed_step(Plan& plan, std::int64_t step, std::int64_t micro) const {
  const auto lr = static_cast<float>(learning_rate(step));
  plan.write_input(flat::learning_rate, &lr, sizeof lr);
  if (const std::vector<float>& weights = plans_.class_weights(); !weights.empty()) {
    plan.write_input(tensor_names::class_weights, weights.data(), weights.size() * sizeof weights[0]);
  }
  if (plan.has_input(tensor_names::rng)) {
    const std::int64_t part = micro * ranks_.world_size() + ranks_.rank();
    // Packed tokens have no index in the whole step's batch to number a mask's elements by: parts differ in the number
    // of the step.
    const bool packed = plan.has_input(tensor_names::offsets);
    const std::array<std::int64_t, 3> rng{seed(), packed ? step | part << 32 : step, packed ? 0 : part};
    plan.write_input(tensor_names::rng, rng.data(), sizeof rng);
  }
  if (plan.has_input(flat::micro_step)) {
    // When micro-batches are summed in the data's order, rank 0 has the sum so far.
    const bool starts_afresh = ranks_.rank() != 0 && plans_.options().step.passes.distribution->reproducible;
    const auto index = static_cast<std::int32_t>(starts_afresh ? 0 : micro);
    plan.write_input(flat::micro_step, &index, sizeof index);
  }
}

/// The step's gradient is the mean over its micro-batches by their losses' divisors. The graph sums them as of equal
/// weight; here they weigh relative to the first, and the last one's factor corrects for their sum.
void StepRunner::feed_weights(Plan& plan, std::span<const double> weights, Pass last) const {
  std::array<float, 2> fed{1, 1};
  const bool weighted = plan.has_input(loss_weight);  // by the graph itself
  if (!ranks_.several() && !weighted && weights.front() > 0) {
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0) / weights.front();
    fed[0] = static_cast<float>(weights.back() / weights.front());
    if (last != Pass::backward) fed[1] = static_cast<float>(static_cast<double>(train_.accumulate_steps) / sum);
  }
  plan.write_input(flat::micro_weights, fed.data(), sizeof fed);
}

void StepRunner::finish() {
  finish_step();
  if (has_delayed_) apply_delayed_update();
}

void StepRunner::finish_step() {
  if (in_flight_ == nullptr) return;
  if (!in_flight_->measured) measure(*in_flight_);
  report(*in_flight_);
  in_flight_ = nullptr;
}

/// Rows that were got for the next batch are got again: a run that begins here has none. A dynamic table has counted
/// that batch's keys.
void StepRunner::apply_delayed_update() {
  ranks_.communicator()->wait_all_reduces();
  last_plan_->run(Pass::update, Pass::update);
  has_delayed_ = false;
  if (fetched_for_ != nullptr && has_row_index(plans_.variables())) {
    get_row_counts(plans_.variables())[RowIndex::ahead] = 1;
  }
  fetched_for_ = nullptr;
}

void StepRunner::measure(StepInFlight& launched) {
  RankStep& mine = launched.mine;
  read_losses(launched);
  // Overlapping steps are timed from one's end to the next one's.
  const double begin = std::max(launched.started, last_measured_);
  if (train_.test_delay_percent > 0) lengthen(clock_.seconds() - begin, train_.test_delay_percent);
  last_measured_ = clock_.seconds();
  mine.step_seconds = last_measured_ - begin;
  mine.elapsed_seconds = last_measured_;
  mine.waited_seconds = ranks_.waited_seconds() - launched.waited_before;
  ranks_.start_sharing(mine);
  launched.measured = true;
}

void StepRunner::report(StepInFlight& launched) {
  const std::span<const RankStep> by_rank = ranks_.finish_sharing();
  if (!launched.term_means.empty()) ranks_.add_up(launched.term_means);
  const double begin = std::max(launched.started, last_finish_);
  last_finish_ = clock_.seconds();
  if (!delays_updates_) last_measured_ = last_finish_;

  read_loss_scale(launched);
  TrainObserver::Step step = shown(launched, by_rank);
  step.step_seconds = last_finish_ - begin;
  trace(launched, fmt::format("step {}", step.step), launched.started);
  on_step_(step, by_rank);
}

void StepRunner::read_losses(StepInFlight& launched) const {
  const Stopwatch watch;
  std::vector<double>& weights = launched.weights;
  const bool weighted = plans_.options().step.passes.weighted_loss;  // relative to a mean micro-batch of all ranks
  if (ranks_.several() && !weighted) std::ranges::fill(weights, 1.0);
  const double sum =
      weighted ? static_cast<double>(weights.size()) : std::accumulate(weights.begin(), weights.end(), 0.0);
  const auto part = [&](Readback& readback, std::size_t micro) {
    float loss = 0;
    std::memcpy(&loss, readback.finish().data(), sizeof loss);
    return sum > 0 ? static_cast<double>(loss) * (weights[micro] / sum) : 0.0;
  };
  launched.term_means.assign(plans_.loss_terms().size(), 0.0);
  for (std::size_t micro = 0; micro < weights.size(); ++micro) {
    launched.mine.loss += part(*launched.losses[micro], micro);
    for (std::size_t term = 0; term < launched.term_means.size(); ++term) {
      launched.term_means[term] += part(*launched.terms[micro * launched.term_means.size() + term], micro);
    }
  }
  launched.mine.compute_seconds += watch.seconds();
}

void StepRunner::read_loss_scale(StepInFlight& launched) {
  if (launched.loss_scale == nullptr) return;
  std::array<float, LossScaleState::size> state{};
  std::memcpy(state.data(), launched.loss_scale->finish().data(), sizeof state);
  const double scale = state[LossScaleState::scale];
  loss_scales_.skipped_steps = std::llround(state[LossScaleState::skipped_steps]);
  std::vector<ScaleChange>& history = loss_scales_.scale_history;
  if (history.empty() || history.back().scale != scale) history.push_back({launched.step + 1, scale});
}

TrainObserver::Step StepRunner::shown(const StepInFlight& launched, std::span<const RankStep> by_rank) const {
  TrainObserver::Step step;
  step.step = launched.step + 1;
  step.total = counts_.total_steps;
  step.phase = counts_.find_phase(launched.step);
  step.epochs = counts_.epochs(step.step);
  step.lr = static_cast<float>(learning_rate(launched.step));
  step.reader_seconds = launched.mine.reader_seconds;
  step.compute_seconds = launched.mine.compute_seconds;
  for (const RankStep& rank : by_rank) {
    step.loss += rank.loss / static_cast<double>(by_rank.size());
    step.samples += std::llround(rank.samples);
  }
  auto sum = launched.term_means.begin();
  for (const auto& [name, weight] : plans_.loss_terms()) {
    step.losses[name] = *sum++ / static_cast<double>(by_rank.size());
  }
  if (!loss_scales_.scale_history.empty()) step.loss_scale = loss_scales_.scale_history.back().scale;
  return step;
}

}  // namespace ptrain
