// What is to be learnt of a model's outputs: the tensors that it is told by, and the losses that training makes small.
// One folder a task, and a row in registry.cpp.
#pragma once

#include "core/config/task_catalog.h"
#include "core/data/batch.h"
#include "core/model/model.h"
#include "core/tasks/metrics.h"
#include "core/tasks/prediction.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

/// What a run asks of a task's losses, in training alone.
struct TaskOptions {
  float label_smoothing = 0;  // weight of the uniform label
  bool mixed = false;         // rows have two labels each
  bool weighted = false;      // classes have weights
};

/// Refuses what is said of samples' classes where they have none: keys that weigh, name or draw by them.
void reject_class_keys(const Config& config, const RejectKey& reject, const std::string& reason);

/// One term of what is made small.
struct Loss {
  std::string name;
  ValueId value = no_value;  // f32 []
  float weight = 1;
};

class Task {
 public:
  explicit Task(const TaskOptions& options) : options_(options) {}
  virtual ~Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  virtual std::string_view name() const = 0;
  /// The tensors of samples that are learnt (core/data/tensor_names.h); none where collate() makes them.
  virtual std::vector<std::string> targets() const = 0;
  /// Refuses values of keys that the task has no use for, or that do not fit it.
  virtual void check(const Config& /*config*/, const RejectKey& /*reject*/) const {}
  /// Adds targets as inputs, and the losses of the graph's outputs against them.
  virtual std::vector<Loss> add_losses(Graph& graph, Mode mode) const = 0;
  /// Whether a model's outputs are read in that mode; where they are not, their memory need not last.
  virtual bool reads_outputs(Mode /*mode*/) const { return true; }
  /// Makes targets that samples do not have by themselves, for a batch's rows in the order that they have.
  virtual void collate(Batch& /*batch*/) const {}

  /// What its metrics are, the primary one first; `classes` 0: not known yet.
  virtual std::vector<MetricInfo> metrics(std::int64_t classes) const = 0;
  /// What measures answers; classes that `names` does not name are told by their number.
  virtual std::unique_ptr<Metrics> make_metrics(std::int64_t classes, const std::vector<std::string>& names) const = 0;

  /// What metrics and predictions read, from a model's outputs: the same, unless the task says otherwise.
  virtual Batch scores(Batch outputs) const { return outputs; }
  /// The scores of images, from those of their mirror images.
  virtual Batch mirrored(Batch scores) const { return scores; }
  /// Whether a deployed model answers each sample by itself, as the functions below tell it.
  virtual bool predicts_samples() const { return true; }
  /// What programs that ask a model get: scores(), and tensors that the task makes of them, the scores first.
  virtual Batch answers(Batch scores) const { return scores; }
  /// The columns of Prediction::cells.
  virtual std::vector<std::string> columns(const PredictionOptions& /*form*/) const { return {}; }
  /// Of a batch's `count` first rows, from their scores(). The label is known where the batch holds it.
  virtual std::vector<Prediction> predictions(const Batch& /*batch*/, const Batch& /*scores*/,
                                              const PredictionOptions& /*form*/) const {
    return {};
  }

 protected:
  /// Those of training; none in other modes.
  TaskOptions options(Mode mode) const { return mode == Mode::training ? options_ : TaskOptions{}; }

 private:
  TaskOptions options_;
};

/// A model's graph with a task's losses, and the weights of these by name where there are several.
struct LossGraph {
  Graph graph;
  std::map<std::string, float> terms;
};

/// Outputs are "loss", the weighted sum, and the model's own where they are read. Of several losses each is one too.
LossGraph build_with_losses(const Model& model, const Task& task, const Bucket& batch, Mode mode);

/// The output of one of several losses.
std::string loss_term_output(const std::string& name);

/// The outputs of such a graph that are the model's own, in their order.
std::vector<std::string> names_of_outputs(const Graph& graph);

/// The output of that name. Throws std::logic_error where the model has none.
ValueId require_output(const Graph& graph, std::string_view name);

}  // namespace ptrain
