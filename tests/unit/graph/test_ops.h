// Ops that exist only to build graphs in tests.
#pragma once

#include "core/graph/graph.h"

#include <stdexcept>

namespace ptrain::testing {

/// One or two inputs of one descriptor, `outputs` outputs like them; may claim to write input 0 in place.
class FakeOp final : public Op {
 public:
  struct Attributes {
    std::size_t outputs = 1;
    bool mutates = false;
    int inplace = -1;
  };
  FakeOp() = default;
  explicit FakeOp(Attributes attributes) : attributes_(attributes) {}

  std::string_view type() const override { return "fake"; }
  std::string attributes() const override { return "fashion=plain"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override {
    if (inputs.empty() || is_absent(inputs[0])) throw std::invalid_argument("expected an input");
    return std::vector<TensorDesc>(attributes_.outputs, inputs[0]);
  }
  bool mutates_input(int input) const override { return attributes_.mutates && input == 0; }
  int inplace_input(int) const override { return attributes_.inplace; }

 private:
  Attributes attributes_;
};

inline OpPtr fake(FakeOp::Attributes attributes = {}) { return std::make_shared<FakeOp>(attributes); }

}  // namespace ptrain::testing
