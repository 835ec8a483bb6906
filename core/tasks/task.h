// A task: what is learnt from a model's outputs, with its target tensors and training losses. One folder per task, and
// a row in task_registry.cpp.
#pragma once

#include "core/config/config_enums.h"
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

/// Options of a task's losses, for training only.
struct TaskOptions {
  float label_smoothing = 0;  // weight of the uniform label
  bool mixed = false;         // rows have two labels each
  bool weighted = false;      // classes have weights
  ItemLoss item_loss = ItemLoss::cross_entropy;
  float bpr_regularization = 0;
  float hinge_margin = 0;
  float logq = 0;
};

struct DataConfig;

/// Rejects class keys (weights, names, balanced sampling) for tasks without classes.
void reject_class_keys(const DataConfig& data, const RejectKey& reject, const std::string& reason);

/// One term of the training loss.
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
  /// The target tensors (core/data/tensor_names.h) that samples have; none where collate() makes them.
  virtual std::vector<std::string> targets() const = 0;
  /// Rejects configuration values that the task does not support.
  virtual void check(const Config& /*config*/, const RejectKey& /*reject*/) const {}
  /// Whether it has losses in that mode, training or evaluation.
  virtual bool has_losses(Mode /*mode*/) const { return true; }
  /// Adds targets as inputs, and the losses of the graph's outputs against them.
  virtual std::vector<Loss> add_losses(Graph& graph, Mode mode) const = 0;
  /// Whether a model's outputs are read in that mode; if not, their memory may be reused.
  virtual bool reads_outputs(Mode /*mode*/) const { return true; }
  /// Adds to an evaluated or deployed graph what is computed from the model's outputs, and may replace them by it.
  virtual void postprocess(Graph& /*graph*/) const {}
  /// Whether samples differ in the number of their targets, all of which weigh the same in a step, whichever
  /// micro-batch or rank they are in.
  virtual bool weighs_targets() const { return false; }
  /// Computes targets that samples do not store, for the rows of a batch.
  virtual void collate(Batch& /*batch*/) const {}

  /// Its metrics, the primary one first; `classes` 0: not known yet.
  virtual std::vector<MetricInfo> metrics(std::int64_t classes) const = 0;
  /// Makes the metrics object; classes without a name in `names` are shown by their number.
  virtual std::unique_ptr<Metrics> make_metrics(std::int64_t classes, const std::vector<std::string>& names) const = 0;

  /// The scores that metrics and predictions read, from a model's outputs: the same by default.
  virtual Batch scores(Batch outputs) const { return outputs; }
  /// The scores of images, from those of their mirror images.
  virtual Batch mirrored(Batch scores) const { return scores; }
  /// Whether a deployed model predicts each sample separately, with the functions below.
  virtual bool predicts_samples() const { return true; }
  /// Whether evaluations translate the samples too, for metrics of the texts.
  virtual bool translates() const { return false; }
  /// Outputs of deployed models: scores() first, and tensors that the task computes from them.
  virtual Batch answers(Batch scores) const { return scores; }
  /// Whether predictions can have a label map; of at most 256 classes.
  virtual bool predicts_label_maps() const { return false; }
  /// Whether predictions have objects.
  virtual bool predicts_objects() const { return false; }
  /// Whether predictions have boxes around texts.
  virtual bool predicts_text_boxes() const { return false; }
  /// Whether the answers of predictions are the texts of images.
  virtual bool predicts_texts() const { return false; }
  /// The columns of Prediction::cells.
  virtual std::vector<std::string> columns(const PredictionOptions& /*form*/) const { return {}; }
  /// For the first `count` rows of a batch, from their scores(). The label is known if the batch has it.
  virtual std::vector<Prediction> predictions(const Batch& /*batch*/, const Batch& /*scores*/,
                                              const PredictionOptions& /*form*/) const {
    return {};
  }

 protected:
  /// The options in training; defaults in other modes.
  TaskOptions options(Mode mode) const { return mode == Mode::training ? options_ : TaskOptions{}; }

 private:
  TaskOptions options_;
};

/// A model's graph with a task's losses, and the losses' weights by name if there are several.
struct LossGraph {
  Graph graph;
  std::map<std::string, float> terms;
};

/// Outputs are "loss", the weighted sum if there are losses, and the model's own if they are read. Each of several
/// losses is an output too.
LossGraph build_with_losses(const Model& model, const Task& task, const Bucket& batch, Mode mode);

/// The name of the output of one of several losses.
std::string loss_term_output(const std::string& name);

/// The outputs of such a graph that are the model's own, in their order.
std::vector<std::string> names_of_outputs(const Graph& graph);

/// The output of that name. Throws std::logic_error where the model has none.
ValueId require_output(const Graph& graph, std::string_view name);

}  // namespace ptrain
