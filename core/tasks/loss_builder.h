// Losses as compositions of small operators, which passes fuse.
#pragma once

#include "core/graph/graph.h"
#include "core/ops/concat.h"
#include "core/ops/softmax_cross_entropy.h"
#include "core/ops/tensor/binary.h"
#include "core/ops/tensor/gather.h"
#include "core/ops/tensor/reduce.h"
#include "core/ops/tensor/reshape.h"
#include "core/ops/tensor/select.h"
#include "core/ops/tensor/unary.h"
#include "core/tasks/task.h"

#include <fmt/format.h>

#include <limits>
#include <string>
#include <vector>

namespace ptrain {

/// Adds the losses of one part of a network to its graph.
class LossBuilder {
 public:
  LossBuilder(Graph& graph, const char* part) : graph_(graph), part_(part) {}

  ValueId output(const char* name) const { return require_output(graph_, name); }
  ValueId input(const char* name) const { return graph_.find_value(name); }
  const Shape& shape(ValueId x) const { return graph_.desc(x).shape; }

  ValueId add(OpPtr op, std::vector<ValueId> inputs) {
    return graph_.add(fmt::format("{}.{}", part_, nodes_++), std::move(op), std::move(inputs));
  }
  ValueId combine(BinaryFunction function, ValueId a, ValueId b) {
    return add(std::make_shared<Binary>(function), {a, b});
  }
  ValueId apply(UnaryFunction function, ValueId x, PointwiseConstants constants = {}) {
    return add(std::make_shared<Unary>(UnaryAttributes{function, constants}), {x});
  }
  ValueId reshape(ValueId x, Shape to) { return add(std::make_shared<Reshape>(std::move(to)), {x}); }
  ValueId concatenate(std::vector<ValueId> parts, int axis) {
    return add(std::make_shared<Concat>(axis), std::move(parts));
  }
  /// Over the last axis, which is kept as 1.
  ValueId reduce_rows(ReduceKind kind, ValueId x) {
    return add(std::make_shared<Reduce>(ReduceAttributes{kind, {-1}, KeepDims::yes, AmpClass::extra_black}), {x});
  }
  ValueId sum(ValueId x) { return add(std::make_shared<Reduce>(ReduceAttributes{.sums = AmpClass::extra_black}), {x}); }

  /// The rows of x [N,n,..] that `indices` [N,K] name; those of negative ones are zero.
  ValueId pick_rows(ValueId x, ValueId indices, AmpClass amp = AmpClass::grey) {
    return add(std::make_shared<Gather>(GatherAttributes{1, 1, amp}), {x, indices});
  }
  /// The mask where a and b, broadcast to each other, are equal.
  ValueId is_equal(ValueId a, ValueId b) {
    return add(std::make_shared<Compare>(CompareAttributes{Comparison::equal}), {a, b});
  }
  /// `x` where the mask does not hold, a number where it does.
  ValueId replace_where(ValueId mask, float number, ValueId x) {
    return add(std::make_shared<Where>(WhereAttributes{number}), {mask, no_value, x});
  }
  /// Of each row of x [N,K,..], what it has for its class in `classes` [N,K], along `axis`.
  ValueId pick_class(ValueId x, ValueId classes, int axis) {
    return add(std::make_shared<Gather>(GatherAttributes{axis, 2}), {x, classes});
  }
  ValueId is_at_least(ValueId x, std::int32_t least) {
    return add(std::make_shared<Compare>(CompareAttributes{Comparison::greater_equal, static_cast<float>(least)}), {x});
  }
  /// `labels` where the mask holds, ignored_label elsewhere.
  ValueId ignore_others(ValueId mask, ValueId labels) {
    return add(std::make_shared<Where>(WhereAttributes{0, static_cast<float>(ignored_label)}), {mask, labels});
  }
  ValueId to_numbers(ValueId mask, DType dtype) {
    return add(std::make_shared<Where>(WhereAttributes{1, 0, dtype}), {mask});
  }
  /// 1 for labels of at least `least`, else 0: f32, with `ones` more axes of 1.
  ValueId weigh(ValueId labels, std::int32_t least, std::size_t ones = 0) {
    std::vector<std::int64_t> dims = shape(labels).dims();
    dims.insert(dims.end(), ones, 1);
    return reshape(to_numbers(is_at_least(labels, least), DType::f32), Shape(std::move(dims)));
  }

  /// |d| - b / 2 from |d| = b = 1/9 on, d^2 / (2 b) below, for differences d: torch.nn.functional.smooth_l1_loss.
  ValueId smooth_differences(ValueId values, ValueId targets) {
    constexpr float beta = 1.0f / 9;
    const ValueId distance = apply(UnaryFunction::abs, combine(BinaryFunction::sub, values, targets));
    const ValueId clamped = apply(UnaryFunction::clamp, distance, {0, beta});
    const ValueId rest = combine(BinaryFunction::sub, distance, apply(UnaryFunction::affine, clamped, {0.5f, 0}));
    return apply(UnaryFunction::affine, combine(BinaryFunction::mul, clamped, rest), {1 / beta, 0});
  }
  /// The weighted sum over `count`, at least one; a sum in fp32 is last, since losses are.
  ValueId mean(ValueId terms, ValueId weights, ValueId count) {
    const ValueId divisor = apply(UnaryFunction::clamp, count, {1, std::numeric_limits<float>::max()});
    return sum(combine(BinaryFunction::mul, terms, combine(BinaryFunction::div, weights, divisor)));
  }

 private:
  Graph& graph_;
  const char* part_;
  int nodes_ = 0;
};

}  // namespace ptrain
