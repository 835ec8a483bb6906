// DLRM with crosses of low rank (Wang et al. 2021), as torchrec's DLRM_DCN and MLPerf define it: the dense features
// through layers to a vector like a category's row, or a bag's sum, all vectors crossed with themselves, and layers
// over that.
#include "models/clicks/click_blocks.h"

#include "core/ops/concat.h"
#include "core/ops/linear.h"
#include "core/ops/tensor/binary.h"

#include <fmt/format.h>

#include <cmath>

namespace ptrain {
namespace {

constexpr int crosses = 3;
constexpr std::int64_t cross_rank = 512;

class DlrmDcnV2 final : public ClickBlocks {
 public:
  using ClickBlocks::ClickBlocks;

  BuiltModel build() {
    constexpr std::array<std::int64_t, 4> top{1024, 1024, 512, 256};
    const ValueId inputs = add("inputs", std::make_shared<Concat>(), vectors());
    ValueId x = inputs;
    for (int i = 0; i < crosses; ++i) x = cross(fmt::format("cross.{}", i), inputs, x);
    return finish(dense("output", dense_layers("top", x, top), 1));
  }

 private:
  /// Of the dense features, if there are any, and of all categories.
  std::vector<ValueId> vectors() {
    std::vector<ValueId> all;
    const std::array<std::int64_t, 3> bottom{512, 256, spec_.embedding_size};
    if (dense_features_ != no_value) all.push_back(dense_layers("bottom", dense_features_, bottom));
    const float bound = 1 / std::sqrt(static_cast<float>(spec_.hash_buckets));
    all.push_back(look_up("words", uniform_start(bound)));
    return all;
  }

  /// inputs * (w(v(x)) + bias) + x, element by element.
  ValueId cross(const std::string& name, ValueId inputs, ValueId x) {
    const std::int64_t width = channels(x);
    const Initializer start = normal_start(std::sqrt(2 / static_cast<float>(width + cross_rank)));
    const ValueId v = parameter(make_variable(name + ".v.weight", Shape{cross_rank, width}, start));
    const ValueId low = add(name + ".v", std::make_shared<Linear>(), {x, v});
    const ValueId w = linear(name + ".w", low, make_variable(name + ".w.weight", Shape{width, cross_rank}, start),
                             make_variable(name + ".w.bias", Shape{width}, constant_start(0)));
    const ValueId product = add(name + ".product", std::make_shared<Binary>(BinaryFunction::mul), {inputs, w});
    return sum(name, product, x);
  }
};

}  // namespace

BuiltModel build_dlrm_dcnv2(const ClickSpec& spec, const Bucket& batch, Mode mode) {
  return DlrmDcnV2(spec, batch, mode).build();
}

}  // namespace ptrain
