// What builders of every family share: a graph under construction, and its variables declared once with shape, starting
// values and names in weights files.
#pragma once

#include "core/model/model.h"

namespace ptrain {

/// Every element `value`, and normal around 0.
inline Initializer constant_start(float value) { return {Initializer::Kind::constant, value}; }
inline Initializer normal_start(float deviation) { return {Initializer::Kind::normal, deviation}; }
/// Uniform in [-bound, bound).
inline Initializer uniform_start(float bound) { return {Initializer::Kind::uniform, bound}; }

/// A variable that weights files hold under its own name and in its own shape.
ModelVariable make_variable(const std::string& name, const Shape& shape, Initializer start);

class Blocks {
 public:
  /// `dropout` is the probability in training, and `sample_dropout` the largest of leaving a sample's branch out.
  explicit Blocks(Mode mode, float dropout = 0, float sample_dropout = 0)
      : dropout_(mode == Mode::training ? dropout : 0.0f),
        sample_dropout_(mode == Mode::training ? sample_dropout : 0.0f),
        mode_(mode) {}

 protected:
  bool training() const { return mode_ == Mode::training; }
  std::int64_t channels(ValueId x) const { return graph_.desc(x).shape[-1]; }

  ValueId parameter(ModelVariable variable);
  ValueId state(ModelVariable variable);
  ValueId add(const std::string& name, OpPtr op, std::vector<ValueId> inputs) {
    return graph_.add(name, std::move(op), std::move(inputs));
  }

  /// x * weight^T + bias; `weight` [outputs, channels of x] and `bias` [outputs].
  ValueId linear(const std::string& name, ValueId x, ModelVariable weight, ModelVariable bias);
  /// Over the last axis, with a scale and an offset for each of its channels.
  ValueId layer_norm(const std::string& name, ValueId x, float epsilon, ModelVariable scale, ModelVariable offset);
  /// The linear layer that the data set decides on: weights files may lack it or have another number of classes.
  ValueId classifier(const std::string& name, ValueId x, std::int64_t classes, const Initializer& weight,
                     const Initializer& bias);
  /// The input that dropout draws by; none without any.
  void add_rng();
  ValueId dropout(const std::string& name, ValueId x);
  /// All of a sample zeroed by `share` of the largest probability.
  ValueId sample_dropout(const std::string& name, ValueId x, float share);
  std::uint32_t next_stream() { return ++streams_; }
  /// The model with these logits as its output.
  BuiltModel finish(ValueId logits);

  Graph graph_;
  float dropout_, sample_dropout_;
  ValueId rng_ = no_value;

 private:
  Mode mode_;
  std::uint32_t streams_ = 0;
  std::vector<ModelVariable> variables_;
};

}  // namespace ptrain
