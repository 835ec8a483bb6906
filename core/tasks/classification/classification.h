// One of some classes for each sample.
#pragma once

#include "core/tasks/task.h"

namespace ptrain {

class Classification : public Task {
 public:
  using Task::Task;

  std::string_view name() const override { return "classification"; }
  /// Softmax cross entropy of logits [N, classes] against labels [N].
  std::vector<Loss> add_losses(Graph& graph, Mode mode) const override;
};

}  // namespace ptrain
