// Compares the speed of two models, interleaved on the same batch.
#include "core/base/clock.h"
#include "core/base/signals.h"
#include "core/deploy/quantization/quantizer.h"

#include <algorithm>

namespace ptrain {
namespace {

/// Samples per second over at least one run, and as many as fit into `seconds`.
double measure_rate(DeployedModel& model, const Batch& batch, double seconds) {
  InterruptibleWork::check("while speed was compared");
  const Stopwatch watch;
  std::int64_t samples = 0;
  do {
    model.run(batch);
    samples += batch.count;
  } while (watch.seconds() < seconds);
  return static_cast<double>(samples) / watch.seconds();
}

}  // namespace

SpeedBeforeAndAfter compare_speed(DeployedModel& before, DeployedModel& after, const InferenceDataset& inputs,
                                  double seconds) {
  Loader loader(inputs, every_input_once(before, inputs, 1));
  return compare_speed(before, after, loader.next(), seconds);
}

SpeedBeforeAndAfter compare_speed(DeployedModel& before, DeployedModel& after, const Batch& batch, double seconds) {
  const InterruptibleWork interruptible;
  before.run(batch);
  after.run(batch);
  SpeedBeforeAndAfter speed{before.batch_size(), 5};
  struct Round {
    double before, after;
    double ratio() const { return after / before; }
  };
  std::vector<Round> rounds;
  for (int round = 0; round < speed.rounds; ++round) {
    const double was = measure_rate(before, batch, seconds);
    rounds.push_back({was, measure_rate(after, batch, seconds)});
  }
  const auto median = rounds.begin() + speed.rounds / 2;
  std::nth_element(rounds.begin(), median, rounds.end(),
                   [](const Round& a, const Round& b) { return a.ratio() < b.ratio(); });
  speed.before = median->before;
  speed.after = median->after;
  speed.ratio = median->ratio();
  return speed;
}

}  // namespace ptrain
