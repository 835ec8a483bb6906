#include "core/train/measure/step_timer.h"

#include "core/base/counted.h"
#include "core/base/errors.h"
#include "core/comm/bench.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ptrain {
namespace {

/// Null if the device has no readable sensors.
std::unique_ptr<SensorWatch> watch_sensors(const Instruments& instruments, TrainObserver& observer) {
  try {
    std::unique_ptr<Sensors> sensors = instruments.make_sensors();
    return sensors ? std::make_unique<SensorWatch>(std::move(sensors)) : nullptr;
  } catch (const Error& error) {
    observer.on_note(fmt::format("power and clocks of the GPU are not in the report: {}", error.what()));
    return nullptr;
  }
}

}  // namespace

void RankTotals::add(const RankStep& step) {
  samples += step.samples;
  step_seconds += step.step_seconds;
  reader_seconds += step.reader_seconds;
  compute_seconds += step.compute_seconds;
  waited_seconds += step.waited_seconds;
}

StepTimer::StepTimer(const Instruments& instruments, Ranks& ranks, TrainObserver& observer)
    : ranks_(ranks), observer_(observer) {
  if (ranks_.is_main()) sensor_watch_ = watch_sensors(instruments, observer_);
}

void StepTimer::start(std::int64_t planned, std::int64_t warmup) {
  figures_.warmup_steps = std::min(warmup, planned / 2);
  begin();
}

void StepTimer::begin() {
  if (sensor_watch_) sensor_watch_->start();
  if (!ranks_.several() || ranks_.communicator()->transport().engine() == "threads") load_watch_.emplace();
  if (ranks_.several()) exchanged_before_ = ranks_.communicator()->times();
}

void StepTimer::add(const TrainObserver::Step& step, std::span<const RankStep> by_rank) {
  ++steps_;
  if (steps_ <= figures_.warmup_steps) {
    if (steps_ == figures_.warmup_steps) begin();
    return;
  }
  if (std::any_of(by_rank.begin(), by_rank.end(), [](const RankStep& rank) { return rank.sets_up > 0; })) {
    ++figures_.set_up_steps;
    return;
  }
  figures_.samples += step.samples;
  figures_.seconds += step.step_seconds;
  figures_.step_ms.push_back(step.step_seconds * 1e3);
  figures_.reader_ms.push_back(step.reader_seconds * 1e3);
  figures_.compute_ms.push_back(step.compute_seconds * 1e3);
  figures_.by_phase.resize(std::max(figures_.by_phase.size(), step.phase + 1));
  PhaseTotals& phase = figures_.by_phase[step.phase];
  ++phase.steps;
  phase.samples += step.samples;
  phase.seconds += step.step_seconds;
  figures_.ranks.resize(by_rank.size());
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    figures_.flops += by_rank[rank].flops;
    figures_.tokens.valid += std::llround(by_rank[rank].tokens);
    figures_.tokens.computed += std::llround(by_rank[rank].computed_tokens);
    figures_.ranks[rank].add(by_rank[rank]);
  }
}

void StepTimer::end(Collectives* gradients, Backend& backend, std::int64_t bucket_bytes) {
  if (sensor_watch_) figures_.gpu = sensor_watch_->stop();
  if (load_watch_) figures_.other_load = load_watch_->measure();
  if (figures_.set_up_steps > 0) {
    observer_.on_note(fmt::format("left out of the timing: {} that set up a plan for batches of a new shape",
                                  counted(figures_.set_up_steps, "step")));
  }
  if (ranks_.several()) measure_exchange(*gradients, backend, bucket_bytes);
}

void StepTimer::measure_exchange(Collectives& gradients, Backend& backend, std::int64_t bucket_bytes) {
  const Communicator& communicator = *ranks_.communicator();
  Exchanged exchanged;
  exchanged.engine = std::string(communicator.transport().engine());
  exchanged.steps = std::max<std::int64_t>(0, steps_ - figures_.warmup_steps);  // since begin(), if it was called
  exchanged.times = communicator.times() - exchanged_before_;
  for (std::size_t rank = 0; rank < figures_.ranks.size(); ++rank) {
    figures_.ranks[rank].host = communicator.transport().host_index(static_cast<int>(rank));
  }
  std::array<double, 1> worth{worth_a_peak_measurement(figures_.seconds) ? 1.0 : 0.0};
  ranks_.broadcast(worth);
  if (worth[0] > 0) {
    exchanged.peak_bus_bandwidth = measure_all_reduce(gradients, backend, bucket_bytes).bus_bandwidth;
  }
  figures_.exchanged = exchanged;
}

}  // namespace ptrain
