// A part of an axis, and its gradient.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

struct SliceAttributes {
  int axis = 0;  // a negative one counts from the last
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// inputs: x [...], of any dtype.  outputs: y, the elements [begin, end) of the axis.
class Slice final : public OpWith<SliceAttributes> {
 public:
  using OpWith::OpWith;
  std::string_view type() const override { return "slice"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
};

/// inputs: dy [...].  outputs: dx of `extent` along the axis, zero but for [begin, end), which is dy. As a layer by
/// itself it pads with zeros.
class SliceGrad final : public OpWith<SliceAttributes> {
 public:
  SliceGrad(SliceAttributes attributes, std::int64_t extent) : OpWith(attributes), extent_(extent) {}
  std::string_view type() const override { return "slice_grad"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;

 private:
  std::int64_t extent_;
};

/// A slice as `outer` blocks: `part` of `whole` elements each, from `begin` on.
struct SliceExtent {
  std::int64_t outer, whole, begin, part;
};
/// The extent of a slice of a tensor of `shape`.
SliceExtent slice_extent(const SliceAttributes& attributes, const Shape& shape);

}  // namespace ptrain
