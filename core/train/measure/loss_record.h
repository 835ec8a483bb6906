// The losses of a run's steps, and when they mean that training has diverged.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ptrain {

/// One of several losses that are summed up.
struct TrainedTerm {
  double first = 0, last = 0;  // of this run's steps
};

struct TrainedSteps {
  std::int64_t steps = 0;                              // done by this run
  std::vector<double> losses;                          // of each
  std::map<std::string, TrainedTerm> loss_terms = {};  // by name; none of one loss
  std::optional<double> last_loss;                     // of the whole training; absent until this run's first step
};

/// Whether the loss is scaled, so that a few bad losses are overflow, which the scaler takes care of.
enum class LossScaling { off, on };

class LossRecord {
 public:
  /// Takes in the loss of the next step. Returns whether training has diverged: the loss is not finite or, with loss
  /// scaling, was not for many steps in a row.
  bool add(double loss, LossScaling scaling);
  /// The losses of that step that are summed up, by name.
  void add_terms(const std::map<std::string, double>& terms);

  const TrainedSteps& figures() const { return figures_; }

 private:
  TrainedSteps figures_;
  int bad_losses_ = 0;  // in a row
};

}  // namespace ptrain
