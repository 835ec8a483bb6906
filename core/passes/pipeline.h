// The passes in their order: from a model's forward graph to the graph of one training step, or of a deployed model.
#pragma once

#include "core/passes/amp.h"
#include "core/passes/block_weights.h"
#include "core/passes/fold_batch_norms.h"
#include "core/passes/fuse_convolutions.h"
#include "core/passes/fuse_epilogues.h"
#include "core/passes/grad_allreduce.h"
#include "core/passes/merge_convolutions.h"
#include "core/passes/optimizer.h"
#include "core/passes/quantize_layers.h"

#include <functional>
#include <optional>

namespace ptrain {

inline constexpr const char* loss_output = "loss";
inline constexpr const char* loss_scale_state = "loss_scale";
inline constexpr const char* loss_weight = "loss_weight";

struct PipelineOptions {
  Fusion fusion = Fusion::full;
  FusionPolicy choose_fusion;  // for Fusion::full; none: norms are not fused into convolutions
  AmpOptions amp;
  bool loss_scaling = false;
  LossScaleAttributes loss_scale;
  OptimizerSettings optimizer;
  std::function<bool(std::string_view, const Shape&)> decays;
  std::vector<ParameterGroup> groups;         // a parameter belongs to the first group whose pattern matches it
  float average_decay = 0;                    // decay of a moving average of the parameters; 0: no average
  std::optional<EarlyUpdates> early_updates;  // as in OptimizerPassOptions; not where ranks exchange gradients
  Recompute recompute = Recompute::none;
  int accumulate_steps = 1;
  bool weighted_loss = false;  // by the input loss_weight f32 []: a batch's weight in its step; 1: as any other's
  std::optional<DistributionOptions> distribution;  // none: a single rank
  std::optional<QuantizationScheme> quantization;   // for a deployed graph
  /// Called with each pass's name and result, already verified.
  std::function<void(std::string_view, const Graph&)> dump;
  bool delays_updates() const { return distribution && distribution->delays_updates; }
  BlockFormats block_weights = {};  // of frozen weights, or of a deployed graph's; none: all in full precision
};

struct PipelineResult {
  Graph graph;
  AmpSummary amp;
};

/// The graph of a training step; `forward` must have an output named "loss". Throws std::logic_error naming the pass
/// that broke the graph, and Error{usage} as check_groups and add_optimizer do.
PipelineResult build_training_graph(const Graph& forward, const PipelineOptions& options);
/// The graph of inference: only fused and cast.
PipelineResult build_inference_graph(const Graph& forward, const PipelineOptions& options);
/// The same for an evaluation during a training, whose ranks may divide tables (DistributionOptions::tables).
PipelineResult build_evaluation_graph(const Graph& forward, const PipelineOptions& options);

/// A graph for inference only, with the recipes of its parameters that are not the model's own.
struct DeployedGraph {
  Graph graph;
  AmpSummary amp;
  std::vector<FoldedNorm> folded;
  std::vector<MergedConvolution> merged;  // of parameters of the model and of folded ones
};

/// From an evaluation graph: `outputs` and what they depend on, without loss and labels; batch norms folded into
/// convolutions, parallel convolutions merged, activations and residuals fused into the ops before them; with a
/// quantization, its layers in 8 bits; with block_weights, weights in these formats. Throws as quantize_layers does.
DeployedGraph build_deployed_graph(const Graph& forward, const std::vector<std::string>& outputs,
                                   const PipelineOptions& options);

}  // namespace ptrain
