// Records the losses of a run's steps and detects divergence.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ptrain {

/// One term of a summed loss.
struct TrainedTerm {
  double first = 0, last = 0;  // of this run's steps
};

struct TrainedSteps {
  std::int64_t steps = 0;                              // in this run
  std::vector<double> losses;                          // of each
  std::map<std::string, TrainedTerm> loss_terms = {};  // by name; empty for a single loss
  std::optional<double> last_loss;                     // of the whole training; absent before this run's first step
};

/// Whether the loss is scaled; then a few non-finite losses are overflow, which the scaler handles.
enum class LossScaling { off, on };

class LossRecord {
 public:
  /// Adds the loss of the next step. Returns whether training has diverged: the loss is not finite or, with loss
  /// scaling, was not for many steps in a row.
  bool add(double loss, LossScaling scaling);
  /// Adds the terms of that step's loss, by name.
  void add_terms(const std::map<std::string, double>& terms);

  const TrainedSteps& figures() const { return figures_; }

 private:
  TrainedSteps figures_;
  int bad_losses_ = 0;  // in a row
};

}  // namespace ptrain
