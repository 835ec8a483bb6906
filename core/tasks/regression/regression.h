// A value for each sample.
#pragma once

#include "core/tasks/task.h"

namespace ptrain {

class Regression final : public Task {
 public:
  using Task::Task;

  std::string_view name() const override { return "regression"; }
  /// Mean squared error of predictions [N, 1] against values [N].
  std::vector<Loss> add_losses(Graph& graph, Mode mode) const override;
};

}  // namespace ptrain
