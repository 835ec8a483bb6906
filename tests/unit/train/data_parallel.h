// Small training runs whose ranks are threads of the test.
#pragma once

#include "tests/unit/comm/run_ranks.h"
#include "tests/unit/train/small_training.h"

namespace ptrain::testing {

/// Trains on `world_size` ranks as `config` says for each; what every rank had in the end. `after` sees each one's
/// trainer when it is done. Rethrows the first rank's exception.
inline std::vector<Outcome> train_on_ranks(const Config& config, int world_size,
                                           const std::function<void(Trainer&)>& after = {}) {
  std::vector<Outcome> outcomes(static_cast<std::size_t>(world_size));
  const auto failures = run_ranks(world_size, 60, [&](Communicator& communicator) {
    outcomes[static_cast<std::size_t>(communicator.rank())] = train(config, after, make_test_backend, &communicator);
  });
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  return outcomes;
}

/// The same samples a step on `world_size` ranks.
inline Config shared_out(Config config, int world_size) {
  config.data.batch_size /= world_size;
  return config;
}

/// A training whose batches one to four ranks divide, and whose moments must go with its rows: twelve steps.
inline Config divisible(Config config) {
  config.data.batch_size = 12;
  config.train.steps = 12;
  config.train.optimizer.name = OptimizerKind::adam;
  config.train.optimizer.lr = 1e-3;
  return config;
}

/// The losses of a training whose ranks change, in steps of three.
inline std::vector<double> train_in_parts(Config config, std::initializer_list<int> world_sizes) {
  const TemporaryDirectory directory;
  config = saved_to(directory, config);
  config.resume = "auto";
  config.train.steps = 0;
  std::vector<double> losses;
  for (const int world_size : world_sizes) {
    config.train.steps += 3;
    const auto part = train_on_ranks(shared_out(config, world_size), world_size)[0].result.losses;
    losses.insert(losses.end(), part.begin(), part.end());
  }
  return losses;
}

}  // namespace ptrain::testing
