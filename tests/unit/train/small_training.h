// A small training run from a configuration, and its outcome.
#pragma once

#include "core/base/clock.h"
#include "core/base/parallel.h"
#include "core/data/factory.h"
#include "core/io/checkpoint.h"
#include "core/io/safetensors.h"
#include "core/train/options_from_config.h"
#include "core/train/trainer.h"
#include "models/model_registry.h"
#include "tests/small_models.h"
#include "tests/temporary_directory.h"
#include "tests/test_backend.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>

namespace ptrain::testing {

struct Outcome {
  RunResult result;
  std::vector<std::string> notes;
  /// The last checkpoint's tensors, when one was written.
  std::map<std::string, std::vector<std::byte>> state;
};

/// The value of a metric of an evaluation; NaN, which equals nothing, where it has none.
inline double get_value(const EvalResult& result, const std::string& metric) {
  const MetricValue* found = result.evaluation.find(metric);
  return found != nullptr && found->value ? *found->value : std::nan("");
}

/// Largest relative difference of two loss curves; NaN when there is one.
inline double difference(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double worst = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double error = std::abs(a[i] - b[i]) / std::abs(b[i]);
    if (std::isnan(error)) return error;
    worst = std::max(worst, error);
  }
  return worst;
}

class NoteKeeper final : public TrainObserver {
 public:
  void on_note(const std::string& line) override { notes.push_back(line); }
  std::vector<std::string> notes;
};

/// What `config` asks for; a ResNet with half the channels.
inline std::unique_ptr<Model> small_model(const Config& config, const DatasetInfo& data) {
  if (config.model.entry.name != resnet_config().model.entry.name) return make_model(config, data);
  ResNetSpec spec = resnet_spec(config, data);
  spec.depth = 18;
  spec.base_channels = small_channels;
  return make_resnet(spec);
}

/// Trains as `config` says on the backend under test. `after` sees the trainer when it is done.
inline Outcome train(const Config& config, const std::function<void(Trainer&)>& after = {},
                     const std::function<std::unique_ptr<Backend>()>& make_backend = make_test_backend,
                     Communicator* communicator = nullptr) {
  set_thread_count(1);  // tiny kernels only wait for each other on a busy machine
  const DataSettings data = data_settings(config);
  const auto training = open_dataset(data, Split::train);
  const auto evaluation = config.eval.any() ? open_dataset(data, Split::eval) : nullptr;
  const auto model = small_model(config, training->info());
  const auto backend = make_backend();
  NoteKeeper observer;
  Trainer trainer(config, "hash", *backend, *model, *training, evaluation.get(), observer, communicator);
  trainer.compile();
  trainer.prepare();
  trainer.train();
  if (after) after(trainer);
  Outcome outcome{trainer.result(), observer.notes, {}};
  if (!outcome.result.checkpoint.empty()) {
    const Checkpoint checkpoint = load_checkpoint(outcome.result.checkpoint);
    for (const NamedTensor& tensor : checkpoint.tensors()) {
      outcome.state[tensor.name].assign(tensor.bytes.begin(), tensor.bytes.end());
    }
  }
  return outcome;
}

inline std::vector<double> losses(const Config& config) { return train(config).result.losses; }

/// With checkpoints in `directory`.
inline Config saved_to(const TemporaryDirectory& directory, Config config) {
  config.output.save = true;
  config.output.dir = directory.path().string();
  return config;
}

using Weights = std::map<std::string, std::vector<std::byte>>;
/// The weights file in a trained model's folder.
inline Weights read_weights(const std::filesystem::path& folder) {
  const SafetensorsFile file(folder / "model.safetensors");
  Weights weights;
  for (const NamedTensor& tensor : file.tensors())
    weights[tensor.name].assign(tensor.bytes.begin(), tensor.bytes.end());
  return weights;
}

/// The weights file that a training leaves.
inline Weights trained_weights(const Config& config) {
  const TemporaryDirectory directory;
  train(config, [&](Trainer& trainer) { trainer.export_model(directory.path()); });
  return read_weights(directory.path());
}

/// Trains in a directory of its own, with the last checkpoint's tensors in the outcome.
inline Outcome train_and_save(const Config& config) {
  const TemporaryDirectory directory;
  return train(saved_to(directory, config));
}

inline void expect_same_state(const Outcome& a, const Outcome& b) {
  ASSERT_FALSE(a.state.empty());
  ASSERT_EQ(a.state.size(), b.state.size());
  for (const auto& [name, bytes] : a.state) EXPECT_TRUE(b.state.at(name) == bytes) << name;
}

/// Trains to the end, and again in two parts; both must agree in every loss and every saved byte.
inline void expect_resumes_exactly(Config config, std::int64_t stop, std::int64_t end) {
  config.train.steps = end;
  const Outcome whole = train_and_save(config);

  const TemporaryDirectory directory;
  config = saved_to(directory, config);
  config.train.steps = stop;
  const Outcome first = train(config);
  config.train.steps = end;
  config.resume = "auto";
  const Outcome second = train(config);
  EXPECT_EQ(second.result.first_step, stop);

  std::vector<double> all = first.result.losses;
  all.insert(all.end(), second.result.losses.begin(), second.result.losses.end());
  EXPECT_EQ(all, whole.result.losses);
  expect_same_state(whole, second);
  EXPECT_EQ(second.result.first_loss, whole.result.first_loss);
}

/// With output.per_op: every op has a time in every step, and together they are most of the steps and no more than the
/// run.
inline void expect_ops_add_up(Config config) {
  config.output.per_op = true;
  config.train.steps = 8;
  config.train.measure_after_steps = 3;
  const Stopwatch watch;
  const RunResult result = train(config).result;
  const double run = watch.seconds();
  double ops = 0;
  for (const NodeProfile& node : result.kernels) {
    EXPECT_EQ(node.runs, 5) << node.name;
    EXPECT_GE(node.seconds, 0) << node.name;
    ops += node.seconds;
  }
  double steps = 0;
  for (const double milliseconds : result.step_ms) steps += milliseconds * 1e-3;
  EXPECT_GT(ops, steps / 2 * 5 / 8);
  EXPECT_LT(ops, run);
}

/// The first loss in low precision is that of fp32 within a tenth.
inline void expect_alike_in_low_precision(Config config) {
  config.train.steps = 1;
  const double exact = train(config).result.losses.front();
  for (const AmpLevel level : {AmpLevel::O1, AmpLevel::O2}) {
    config.amp.level = level;
    EXPECT_NEAR(train(config).result.losses.front(), exact, 0.1 * exact) << enum_name(level);
  }
}

inline double mean(std::span<const double> values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

}  // namespace ptrain::testing
