#include "core/train/plans/step_estimate.h"

#include "core/ops/linear.h"
#include "core/ops/text/attention.h"

#include <algorithm>
#include <optional>
#include <span>

namespace ptrain {
namespace {

// Fractions of a data sheet's rates that kernels reach; on an H100 (results/h100-sxm-80gb) own kernels reached 0.66 to
// 0.8 of its bandwidth, products of 16 bits 0.6 to 0.75, attention of 128 tokens 0.3 of the bandwidth, in which the
// step of ResNet-50 was as predicted. Attention's share of long sequences' arithmetic is assumed, and products' share
// in FP8 that of 16 bits.
constexpr double bandwidth_share = 0.75;
constexpr double attention_bandwidth_share = 0.32;
constexpr double convolution_share = 0.38;
constexpr double product_share = 0.68;
constexpr double attention_share = 0.4;
constexpr double vector_share = 0.5;  // of fp32, for ops that are not products
constexpr double launch_seconds = 2e-6;

/// FLOP/s of an op.
double attained_flops(std::string_view type, DType dtype, const GpuRates& rates, const KernelOptions& kernels) {
  if (type.find("conv2d") != type.npos) return convolution_share * rates.flops(dtype, kernels.tf32);
  if (type.starts_with("linear")) return product_share * rates.flops(dtype, kernels.tf32);
  if (type.starts_with("attention")) return attention_share * rates.flops(dtype, kernels.tf32);
  return vector_share * rates.fp32;
}

/// Bytes of the dropout mask that the CUDA backend's attention: flash_mask writes to memory and reads.
double mask_bytes(const NodeProblem& problem) {
  const std::string_view type = problem.op->type();
  if (!type.starts_with("attention")) return 0;
  const AttentionAttributes& attributes = type == "attention" ? static_cast<const Attention&>(*problem.op).attrs()
                                                              : static_cast<const AttentionGrad&>(*problem.op).attrs();
  const TensorDesc& qkv = problem.inputs[Attention::qkv];
  const bool is_masked = attributes.algorithm == AttentionAlgorithm::flash_mask && attributes.dropout > 0;
  if (!is_masked || !is_low_precision(qkv.dtype)) return 0;
  const AttentionDims dims(attributes, qkv, problem.inputs[Attention::lengths]);
  return 2.0 * static_cast<double>(dims.batch * dims.heads * dims.length * dims.length) *
         static_cast<double>(element_size(qkv.dtype));
}

/// Bytes of the passes that the CUDA backend makes after a product: activations that cuBLASLt does not fuse, and sums
/// of 16-bit bias gradients.
double pass_bytes(const NodeProblem& problem) {
  const std::string_view type = problem.op->type();
  const auto apart = [](Activation activation) {
    return activation != Activation::none && activation != Activation::gelu_tanh;
  };
  const auto bytes = [](const TensorDesc& desc) { return static_cast<double>(desc.bytes()); };
  if (type == "linear" && apart(static_cast<const Linear&>(*problem.op).attrs().activation)) {
    return 2 * bytes(problem.outputs[0]);
  }
  if (type == "linear_grad_input" && apart(static_cast<const LinearGradInput&>(*problem.op).attrs().activation)) {
    return 3 * bytes(problem.outputs[0]);
  }
  if (type != "linear_grad_weight" || problem.outputs.size() == 1) return 0;
  const TensorDesc& dy = problem.inputs[LinearGradWeight::dy];
  return is_low_precision(dy.dtype) ? bytes(dy) : 0;
}

/// Bytes of the passes that round a product's operands to FP8: their largest value, and the rounding itself. Absent
/// where it has none.
std::optional<double> fp8_pass_bytes(const NodeProblem& problem) {
  const std::string_view type = problem.op->type();
  if (type != "linear" && type != "linear_grad_input" && type != "linear_grad_weight") return std::nullopt;
  double bytes = 0;
  for (const TensorDesc& operand : std::span(problem.inputs).first(2)) {
    const std::int64_t width = operand.shape[-1];
    const bool is_allowed = width % fp8_size_multiple == 0 && operand.count() / width % fp8_size_multiple == 0;
    if (!is_allowed) return std::nullopt;
    bytes += 2 * static_cast<double>(operand.bytes()) + static_cast<double>(operand.count());
  }
  return is_low_precision(problem.inputs[0].dtype) ? std::optional(bytes) : std::nullopt;
}

double estimate_seconds(std::span<const NodeProblem> problems, const GpuRates& rates, const KernelOptions& kernels) {
  double seconds = 0;
  for (const NodeProblem& problem : problems) seconds += estimate_node_time(problem, rates, kernels).seconds;
  return seconds;
}

/// The CUDA backend has fused convolutions only in fp16.
FusionPolicy fuse_where_predicted_faster(const GpuRates& rates, const KernelOptions& kernels) {
  return [=](const FusionChoice& choice) {
    const bool is_fp16 = std::all_of(choice.fused.begin(), choice.fused.end(), [](const NodeProblem& problem) {
      return problem.op->type().find("conv2d") == std::string_view::npos || problem.inputs[0].dtype == DType::f16;
    });
    return is_fp16 &&
           estimate_seconds(choice.fused, rates, kernels) < estimate_seconds(choice.separate, rates, kernels);
  };
}

}  // namespace

std::string_view to_string(Bound bound) {
  switch (bound) {
    case Bound::memory:
      return "memory";
    case Bound::arithmetic:
      return "arithmetic";
    case Bound::launch:
      return "launch";
  }
  throw std::logic_error("internal error: a bound without a name");
}

NodeEstimate estimate_node_time(const NodeProblem& problem, const GpuRates& rates, const KernelOptions& kernels) {
  NodeEstimate prediction;
  prediction.type = problem.op->type();
  prediction.cost = problem.op->cost(problem.inputs, problem.outputs);
  prediction.cost.bytes += mask_bytes(problem);
  const DType dtype = problem.inputs.empty() ? DType::f32 : problem.inputs[0].dtype;
  const double share = prediction.type.starts_with("attention") ? attention_bandwidth_share : bandwidth_share;
  const double memory = prediction.cost.bytes / (share * rates.bandwidth);
  const double arithmetic = prediction.cost.flops / attained_flops(prediction.type, dtype, rates, kernels);
  prediction.seconds = std::max({memory, arithmetic, launch_seconds});
  if (prediction.seconds == arithmetic) prediction.bound = Bound::arithmetic;
  const std::optional<double> rounded = kernels.fp8 && rates.fp8 > 0 ? fp8_pass_bytes(problem) : std::nullopt;
  if (rounded) {
    const double product = std::max(memory, prediction.cost.flops / (product_share * rates.fp8));
    prediction.seconds = std::min(prediction.seconds, product + *rounded / (bandwidth_share * rates.bandwidth));
  }
  if (prediction.seconds == launch_seconds) prediction.bound = Bound::launch;
  prediction.seconds += pass_bytes(problem) / (bandwidth_share * rates.bandwidth);
  return prediction;
}

StepEstimate estimate_step_time(StepOptions options, std::int64_t rows, const Model& model, const GpuRates& rates) {
  PipelineOptions& passes = options.passes;
  const KernelOptions& kernels = options.plan.kernels;
  if (passes.fusion == Fusion::full) passes.choose_fusion = fuse_where_predicted_faster(rates, kernels);
  const Graph graph = build_step(model, options, rows);
  StepEstimate step;
  for (const Node& node : graph.nodes()) {
    NodeEstimate prediction =
        estimate_node_time({node.op, graph.input_descs(node), graph.output_descs(node)}, rates, kernels);
    const bool once = node.phase == Pass::exchange || node.phase == Pass::update;
    const double runs = once ? 1 : static_cast<double>(passes.accumulate_steps);
    prediction.name = node.name;
    prediction.cost = {runs * prediction.cost.flops, runs * prediction.cost.bytes};
    prediction.seconds *= runs;
    step.cost.flops += prediction.cost.flops;
    step.cost.bytes += prediction.cost.bytes;
    step.seconds += prediction.seconds;
    step.nodes.push_back(std::move(prediction));
  }
  step.samples_per_second = static_cast<double>(rows * passes.accumulate_steps) / step.seconds;
  return step;
}

}  // namespace ptrain
