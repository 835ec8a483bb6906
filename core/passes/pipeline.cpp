#include "core/passes/pipeline.h"

#include "core/base/errors.h"
#include "core/ops/tensor/binary.h"
#include "core/ops/training/loss_gradient.h"
#include "core/passes/autodiff.h"
#include "core/passes/delay_updates.h"
#include "core/passes/exchange_tables.h"
#include "core/passes/fuse.h"
#include "core/passes/fuse_casts.h"
#include "core/passes/fuse_gradient_sums.h"
#include "core/passes/fuse_gradients.h"
#include "core/passes/fuse_output_layer.h"
#include "core/passes/keep_outputs.h"
#include "core/passes/pointwise/fuse_pointwise.h"
#include "core/passes/recompute.h"

#include <algorithm>
#include <stdexcept>

namespace ptrain {
namespace {

void check(std::string_view pass, const Graph& graph, const PipelineOptions& options) {
  try {
    verify(graph);
  } catch (const std::logic_error& error) {
    throw std::logic_error(fmt::format("{} (after pass {})", error.what(), pass));
  }
  if (options.dump) options.dump(pass, graph);
}

/// Mixed precision, with casts fused into ops that support two precisions.
AmpResult lower_precision(const Graph& graph, const PipelineOptions& options) {
  AmpResult amp = apply_amp(graph, options.amp);
  check("amp", amp.graph, options);
  if (options.amp.level == AmpLevel::O0 || options.fusion == Fusion::off) return amp;
  amp.graph = fuse_casts(amp.graph);
  check("fuse_casts", amp.graph, options);
  const auto& nodes = amp.graph.nodes();
  amp.summary.casts = static_cast<int>(
      std::count_if(nodes.begin(), nodes.end(), [](const Node& node) { return node.op->type() == "cast"; }));
  return amp;
}

/// Null if norms are not fused into convolutions.
FusionPolicy choose_convolution_fusion(const PipelineOptions& options) {
  switch (options.fusion) {
    case Fusion::off:
      return nullptr;
    case Fusion::full:
      return options.choose_fusion;
    case Fusion::always:
      return [](const FusionChoice&) { return true; };
  }
  return nullptr;
}

/// The graph of a forward pass: fused and cast.
PipelineResult build_forward_graph(const Graph& forward, const PipelineOptions& options, const SumsApart& sums_apart) {
  check("model", forward, options);
  Graph fused = forward;
  if (options.block_weights) {
    fused = use_frozen_block_weights(fused, options.block_weights);
    check("block_weights", fused, options);
  }
  if (options.fusion != Fusion::off) fused = fuse(fused);
  check("fuse", fused, options);
  if (options.fusion != Fusion::off) {
    fused = fuse_output_layer(fused, sums_apart);
    check("fuse_output_layer", fused, options);
  }
  AmpResult amp = lower_precision(fused, options);
  return {std::move(amp.graph), amp.summary};
}

/// The loss times the batch's weight.
ValueId add_weight(Graph& graph, ValueId loss) {
  const ValueId weight = graph.add_input(loss_weight, {DType::f32, Shape{}});
  return graph.add("loss.weighted", std::make_shared<Binary>(BinaryFunction::mul), {loss, weight});
}

}  // namespace

PipelineResult build_inference_graph(const Graph& forward, const PipelineOptions& options) {
  return build_forward_graph(forward, options, {});
}

PipelineResult build_evaluation_graph(const Graph& forward, const PipelineOptions& options) {
  PipelineResult result = build_inference_graph(forward, options);
  if (!options.distribution) return result;
  if (options.distribution->shard && !options.distribution->whole_masters) drop_masters(result.graph);
  if (!options.distribution->tables) return result;
  result.graph = exchange_tables(result.graph, *options.distribution);
  check("exchange_tables", result.graph, options);
  return result;
}

DeployedGraph build_deployed_graph(const Graph& forward, const std::vector<std::string>& outputs,
                                   const PipelineOptions& options) {
  check("model", forward, options);
  DeployedGraph deployed{keep_outputs(forward, outputs), {}, {}, {}};
  check("keep_outputs", deployed.graph, options);
  if (options.fusion != Fusion::off) {
    deployed.graph = fuse(deployed.graph);
    check("fuse", deployed.graph, options);
    FoldedGraph folded = fold_batch_norms(deployed.graph);
    check("fold_batch_norms", folded.graph, options);
    MergedGraph merged = merge_convolutions(folded.graph);
    check("merge_convolutions", merged.graph, options);
    deployed.folded = std::move(folded.norms);
    deployed.merged = std::move(merged.convolutions);
    deployed.graph = keep_outputs(fuse_epilogues(merged.graph), outputs);
    check("fuse_epilogues", deployed.graph, options);
  }
  if (options.quantization) {
    deployed.graph = keep_outputs(quantize_layers(deployed.graph, *options.quantization), outputs);
    check("quantize_layers", deployed.graph, options);
  }
  if (options.block_weights) {
    deployed.graph = keep_outputs(use_block_weights(deployed.graph, options.block_weights), outputs);
    check("block_weights", deployed.graph, options);
  }
  AmpResult amp = lower_precision(deployed.graph, options);
  if (options.fusion != Fusion::off) {
    amp.graph = fuse_pointwise(amp.graph);
    check("fuse_pointwise", amp.graph, options);
  }
  return {std::move(amp.graph), amp.summary, std::move(deployed.folded), std::move(deployed.merged)};
}

PipelineResult build_training_graph(const Graph& forward, const PipelineOptions& options) {
  check_groups(options.groups, forward);
  const bool sync = options.distribution && options.distribution->sync_batch_norm;
  const auto trains = [&](std::string_view parameter) { return is_trainable(options.groups, parameter); };
  SumsApart sums_apart;
  if (options.amp.level != AmpLevel::O0) sums_apart = trains;
  PipelineResult result = build_forward_graph(sync ? synchronize_batch_norm(forward) : forward, options, sums_apart);

  const ValueId scale = options.loss_scaling
                            ? result.graph.add_state(loss_scale_state, {DType::f32, Shape{LossScaleState::size}})
                            : no_value;
  ValueId loss = result.graph.find_output(loss_output);
  invariant(loss != no_value, "the model has no output named loss");
  if (options.weighted_loss) loss = add_weight(result.graph, loss);
  const bool reproducible = options.distribution && options.distribution->reproducible;
  const int added_up = options.accumulate_steps * (reproducible ? options.distribution->world_size : 1);
  const auto seed_op = std::make_shared<LossGradient>(1.0f / static_cast<float>(added_up));
  const ValueId seed = result.graph.add("loss.grad", seed_op, {scale}, Pass::backward);
  Differentiated differentiated = differentiate(std::move(result.graph), {{loss, seed}}, trains);
  check("autodiff", differentiated.graph, options);
  if (options.fusion != Fusion::off) {
    differentiated = join_loss_with_gradient(differentiated);
    check("join_loss_with_gradient", differentiated.graph, options);
    differentiated = fuse_gradients(differentiated);
    check("fuse_gradients", differentiated.graph, options);
    differentiated = fuse_gradient_sums(differentiated);
    check("fuse_gradient_sums", differentiated.graph, options);
  }
  if (const FusionPolicy choose = choose_convolution_fusion(options)) {
    differentiated = fuse_convolutions(std::move(differentiated), choose);
    check("fuse_convolutions", differentiated.graph, options);
  }
  if (options.fusion != Fusion::off) {
    differentiated = fuse_pointwise(differentiated);
    check("fuse_pointwise", differentiated.graph, options);
  }
  if (options.recompute != Recompute::none) {
    differentiated = recompute(differentiated, options.recompute);
    check("recompute", differentiated.graph, options);
  }

  if (options.distribution) {
    differentiated = exchange_tables(differentiated, *options.distribution);
    check("exchange_tables", differentiated.graph, options);
  }
  OptimizerPassOptions optimizer;
  optimizer.settings = options.optimizer;
  optimizer.decays = options.decays;
  optimizer.groups = options.groups;
  optimizer.average_decay = options.average_decay;
  if (!options.distribution) optimizer.early_updates = options.early_updates;
  if (options.distribution) {
    optimizer.shard = options.distribution->shard;
    optimizer.whole_masters = options.distribution->whole_masters;
    optimizer.whole_sums = options.distribution->whole_sums;
    optimizer.tables = options.distribution->tables;
  }
  optimizer.accumulate = options.accumulate_steps > 1;
  optimizer.loss_scale = differentiated.graph.find_value(loss_scale_state);  // passes renumber values
  optimizer.loss_scale_attributes = options.loss_scale;
  result.graph = add_optimizer(std::move(differentiated), optimizer);
  check("optimizer", result.graph, options);
  if (options.distribution) {
    result.graph = add_grad_allreduce(result.graph, *options.distribution);
    check("grad_allreduce", result.graph, options);
    if (options.distribution->delays_updates) {
      result.graph = delay_updates(result.graph);
      check("delay_updates", result.graph, options);
    }
  }
  return result;
}

}  // namespace ptrain
