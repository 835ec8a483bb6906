// Shared by the builders of every family: a graph under construction, and its variables, each declared once with shape,
// initial values and names in weights files.
#pragma once

#include "core/model/model.h"
#include "core/ops/activation.h"
#include "core/ops/math/binary_math.h"
#include "core/ops/tensor/reduce.h"
#include "core/ops/tensor/unary.h"

namespace ptrain {

/// Constant `value`, and normal around 0.
inline Initializer constant_start(float value) { return {Initializer::Kind::constant, value}; }
inline Initializer normal_start(float deviation) { return {Initializer::Kind::normal, deviation}; }
/// Uniform in [-bound, bound).
inline Initializer uniform_start(float bound) { return {Initializer::Kind::uniform, bound}; }

/// A variable that weights files store under the same name and in the same shape.
ModelVariable make_variable(const std::string& name, const Shape& shape, Initializer start);
/// The same variable as part of the head, which published weights of the body may lack.
ModelVariable of_head(ModelVariable variable);

/// Whether norms follow the batches' statistics, or stay as their weights are (torchvision's FrozenBatchNorm2d).
enum class Norms { batch, frozen };

class Blocks {
 public:
  /// `dropout` is the probability in training; `sample_dropout` is the largest probability of stochastic depth.
  explicit Blocks(Mode mode, float dropout = 0, float sample_dropout = 0)
      : dropout_(mode == Mode::training ? dropout : 0.0f),
        sample_dropout_(mode == Mode::training ? sample_dropout : 0.0f),
        mode_(mode) {}

 protected:
  Mode mode() const { return mode_; }
  bool training() const { return mode_ == Mode::training; }
  std::int64_t channels(ValueId x) const { return graph_.desc(x).shape[-1]; }

  ValueId parameter(ModelVariable variable);
  ValueId state(ModelVariable variable);
  ValueId add(const std::string& name, OpPtr op, std::vector<ValueId> inputs) {
    return graph_.add(name + sharing_, std::move(op), std::move(inputs));
  }

  /// x * weight^T + bias; `weight` [outputs, channels of x] and `bias` [outputs].
  ValueId linear(const std::string& name, ValueId x, ModelVariable weight, ModelVariable bias);
  /// Over the last axis, with a scale and an offset per channel.
  ValueId layer_norm(const std::string& name, ValueId x, float epsilon, ModelVariable scale, ModelVariable offset);
  ValueId reshape(const std::string& name, ValueId x, Shape to);
  ValueId activate(const std::string& name, Activation function, ValueId x);
  ValueId combine(const std::string& name, BinaryFunction function, ValueId a, ValueId b);
  ValueId apply(const std::string& name, UnaryFunction function, ValueId x, PointwiseConstants constants = {});
  /// Keeps the axis, as 1.
  ValueId reduce(const std::string& name, ReduceKind kind, int axis, ValueId x);
  /// To length 1 along the last axis.
  ValueId normalize(const std::string& name, ValueId x);
  /// Over the last axis.
  ValueId softmax(const std::string& name, ValueId x);
  struct NormVariables {
    ValueId scale, offset, mean, variance;
  };
  /// A batch norm's, of which the scales start at `scale`; frozen ones are not trained.
  NormVariables norm_variables(const std::string& name, std::int64_t channels, float scale, Norms norms);
  /// Batch norm over the last axis.
  ValueId batch_norm(const std::string& name, ValueId x);
  /// The final linear layer, whose classes depend on the data set: weights files may lack it or have another number of
  /// classes.
  ValueId classifier(const std::string& name, ValueId x, std::int64_t classes, const Initializer& weight,
                     const Initializer& bias);
  /// Adds dropout's random state as an input, if there is dropout.
  void add_rng();
  ValueId dropout(const std::string& name, ValueId x);
  /// Stochastic depth: zeroes whole samples with `share` of the largest probability.
  ValueId sample_dropout(const std::string& name, ValueId x, float share);
  std::uint32_t next_stream() { return ++streams_; }
  /// Declares the variables of what `build` adds to the graph, which leaves its nodes out: a part that only training
  /// computes has them in every graph.
  template <typename Build>
  void declare_variables(const Build& build) {
    Graph kept = graph_;
    build();
    for (std::size_t i = kept.values().size(); i < graph_.values().size(); ++i) {
      const Value& value = graph_.values()[i];
      const bool persists = value.storage == Storage::parameter || value.storage == Storage::state;
      if (persists) kept.add_value(value.name, value.desc, value.storage);
    }
    graph_ = std::move(kept);
  }
  /// What `build` returns, whose nodes read the variables that were declared before under their names. `suffix` tells
  /// the nodes from those that read them first.
  template <typename Build>
  auto share_variables(const std::string& suffix, const Build& build) {
    sharing_ = suffix;
    const auto built = build();
    sharing_.clear();
    return built;
  }
  /// The model with these logits as its output.
  BuiltModel finish(ValueId logits);
  /// The same with that name for the output, besides those set before.
  BuiltModel finish(const char* output, ValueId value);

  Graph graph_;
  float dropout_, sample_dropout_;
  ValueId rng_ = no_value;

 private:
  /// The variable of that name that was declared before, while variables are shared; else none.
  ValueId find_shared(const ModelVariable& variable) const;

  Mode mode_;
  std::string sharing_;  // a suffix; empty: nodes declare their variables
  std::uint32_t streams_ = 0;
  std::vector<ModelVariable> variables_;
};

}  // namespace ptrain
