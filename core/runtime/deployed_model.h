// A trained model prepared for inference: its graph without the training-only parts, weights folded and packed.
#pragma once

#include "core/data/batch.h"
#include "core/model/model.h"
#include "core/passes/pipeline.h"
#include "core/runtime/model_artifact.h"
#include "core/runtime/plan_set.h"
#include "core/tasks/task.h"

#include <set>

namespace ptrain {

/// Keys and values of the texts that a language model continues.
struct CacheOptions {
  std::int64_t length = 0;  // tokens of a text, at most
  DType dtype = DType::f32;
  std::int64_t slots = 0;  // texts that are kept, and rows of the largest decoding step; 0: batch_size
};

struct DeployOptions {
  std::int64_t batch_size = 1;  // rows of the largest batch
  std::int64_t max_length = 0;  // tokens of the longest sequence; 0: no text
  AmpOptions amp;
  KernelOptions kernels;                   // constant_weights is always set
  std::set<std::string> readable;          // values of the graph that can be read after a run
  bool per_op = false;                     // times every op
  std::optional<CacheOptions> cache = {};  // of a language model or a translator
  ImageSize image_size = {};               // of the model's images, where batches may have other sizes; empty: not so
  BlockFormats block_weights = {};         // of weights that are kept in 8 or 4 bits; none: in full precision
  std::int64_t rows_at_once = 0;           // as DeployedModel::rows_at_once(), where it divides a batch; 0: the fastest

  /// Rows of the largest batch in that mode.
  std::int64_t rows(Mode mode) const { return mode == Mode::decoding && cache->slots > 0 ? cache->slots : batch_size; }
};

/// Bytes that a DeployedModel takes once it is ready, workspace aside: weights, also in the kernels' layouts, caches,
/// activations and inputs. Allocates none.
std::int64_t estimate_deployed_memory(const Model& model, const Task& task, const DeployOptions& options,
                                      const KernelLibrary& kernels);

class DeployedModel {
 public:
  /// Reads the weights and compiles. Backend, model and task must outlive it. Throws Error{failed} naming the file and
  /// the tensor that is missing, of another shape or not finite; OutOfMemory.
  DeployedModel(Backend& backend, const Model& model, const Task& task, const TrainedWeights& weights,
                const DeployOptions& options);
  /// The same with the present weights of a model in training.
  DeployedModel(Backend& backend, const Model& model, const Task& task, const Variables& trained,
                const DeployOptions& options);
  /// Quantizes `precise`, which is at AMP level O0 and not quantized, by `scheme`.
  DeployedModel(Backend& backend, const DeployedModel& precise, const QuantizationScheme& scheme,
                const DeployOptions& options);
  DeployedModel(const DeployedModel&) = delete;
  DeployedModel& operator=(const DeployedModel&) = delete;

  /// The task's scores() of a batch of at most batch_size rows (for language models, of the token after each text). The
  /// first batch of each number of rows compiles its plans.
  Batch run(const Batch& batch) { return run(batch, first_mode()); }
  /// The same in prefill or decoding, with a cache: the batch names each text's slot, and its tokens before these
  /// (tensor_names::cache_slots and past). The scores are written over those of a step `before`, where they fit.
  Batch run(const Batch& batch, Mode mode, Batch before = {});
  /// The tensors in a row of the task's answers().
  const std::vector<TensorSpec>& outputs() const { return outputs_; }
  const Task& task() const { return task_; }

  /// The plan of the last run(), whose outputs are the model's and DeployOptions::readable.
  const Plan& last_plan() const { return *last_plan_; }

  /// Of a batch of `rows`, those that all ops compute before the next ones: fewer than it has where what an op writes
  /// is still in the processor's caches when the next one reads it. Timed once, on the model's usual inputs.
  std::int64_t rows_at_once(std::int64_t rows);

  std::int64_t batch_size() const { return options_.batch_size; }
  std::int64_t batch_size(Mode mode) const { return options_.rows(mode); }
  bool has_cache() const { return options_.cache.has_value(); }
  /// The graph of the largest batch.
  const Graph& graph() { return graph(first_mode()); }
  /// The same in prefill or decoding, with a cache.
  const Graph& graph(Mode mode) { return find_plans(options_.rows(mode), mode).largest().graph(); }
  const Variables& variables() const { return variables_; }
  /// Seconds of choosing and compiling kernels so far.
  double compile_seconds() const;

 private:
  /// The mode of its largest plan.
  Mode first_mode() const { return options_.cache ? Mode::prefill : Mode::deployment; }
  PlanSet& find_plans(std::int64_t rows, Mode mode);
  PlanSet::Shapes shapes(std::int64_t rows, Mode mode);
  PlanOptions plan_options(ConstantStore& constants) const;
  bool may_divide_batches() const;
  std::string make_search_key(std::int64_t rows);
  std::optional<std::int64_t> find_known_rows_at_once(std::int64_t rows);
  std::int64_t search_rows_at_once(std::int64_t rows);
  /// Bytes for the plans so far.
  std::size_t arena_bytes() const;
  std::size_t workspace_bytes() const;
  Graph build(const Bucket& bucket, Mode mode);
  DeployedModel(Backend& backend, const Model& model, const Task& task, std::optional<QuantizationScheme> scheme,
                const DeployOptions& options);
  void require_enough_memory();
  void finish();

  Backend& backend_;
  const Model& model_;
  const Task& task_;
  std::optional<QuantizationScheme> scheme_;
  DeployOptions options_;
  std::vector<FoldedNorm> folded_;
  std::vector<MergedConvolution> merged_;
  Variables variables_;
  ConstantStore constants_;                                 // weights in the layouts of the plans' kernels
  std::map<std::pair<Mode, std::int64_t>, PlanSet> plans_;  // by number of rows
  std::map<std::int64_t, std::int64_t> rows_at_once_;       // by number of rows
  const Plan* last_plan_ = nullptr;
  std::optional<PlanMemory> memory_;
  std::vector<std::string> output_names_;  // the model's own
  std::vector<TensorSpec> outputs_;
};

/// Throws Error{failed} naming the input if a score in the row is not finite.
void require_finite(const Batch& scores, std::int64_t row, const std::string& input);

}  // namespace ptrain
