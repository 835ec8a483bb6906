// Interface for following a training run.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace ptrain {

struct EvalResult;
struct RunResult;

/// Events of a run; every call comes from the training thread.
class TrainObserver {
 public:
  struct Step {
    std::int64_t step = 0;  // counted from 1
    std::int64_t total = 0;
    double epochs = 0;      // passes over the data so far
    std::size_t phase = 0;  // index in StepCounts::phases
    double loss = 0;
    std::map<std::string, double> losses;  // terms of a summed loss, unweighted
    double lr = 0;
    double step_seconds = 0, reader_seconds = 0, compute_seconds = 0;
    std::int64_t samples = 0;
    double loss_scale = 0;          // 0: no scaler
    std::int64_t memory_bytes = 0;  // in use after the step; 0: not one of train.log_every_steps
  };

  virtual ~TrainObserver() = default;
  virtual void on_start(const RunResult& /*prepared*/) {}
  virtual void on_step(const Step& /*step*/) {}
  /// Activities other than steps, "evaluating"; `total` 0: unknown.
  virtual void on_activity(std::string_view /*what*/, std::int64_t /*done*/, std::int64_t /*total*/) {}
  virtual void on_eval(const EvalResult& /*result*/) {}
  virtual void on_note(const std::string& /*line*/) {}
  /// Details shown only on request.
  virtual void on_detail(const std::string& /*line*/) {}
};

}  // namespace ptrain
