// DeepFM (Guo et al. 2017) as PaddleRec builds it: a linear model, a factorisation machine over all pairs of fields,
// and layers over the fields. A category's field is its row of the table; a dense feature's field is its own vector
// times the feature.
#include "models/clicks/click_blocks.h"

#include "core/ops/concat.h"
#include "core/ops/elementwise.h"
#include "core/ops/tensor/binary.h"
#include "core/ops/tensor/reshape.h"

#include <cmath>

namespace ptrain {
namespace {

class DeepFm final : public ClickBlocks {
 public:
  using ClickBlocks::ClickBlocks;

  BuiltModel build() {
    constexpr std::array<std::int64_t, 3> outputs{400, 400, 400};
    const ValueId linear = weigh_features("linear");
    const ValueId all = fields();
    const ValueId pairs = multiply_pairs(all);
    return finish(sum("logits", sum("fm", linear, pairs), score_deeply({all}, outputs)));
  }

 private:
  /// [B, features, embedding size]
  ValueId fields() {
    const Initializer start = normal_start(0.1f / std::sqrt(static_cast<float>(spec_.embedding_size)));
    const ValueId words = look_up("fields.words", start);
    if (dense_features_ == no_value) return words;
    const std::int64_t rows = graph_.desc(dense_features_).shape[0];
    const ValueId column =
        add("fields.column", std::make_shared<Reshape>(Shape{rows, spec_.dense_features, 1}), {dense_features_});
    const ValueId vectors =
        parameter(make_variable("fields.numbers.weight", Shape{spec_.dense_features, spec_.embedding_size}, start));
    const ValueId numbers = multiply("fields.numbers", column, vectors);
    return add("fields", std::make_shared<Concat>(1), {words, numbers});
  }

  /// [B, 1]: the sum of the products of all pairs of fields, half of the square of their sum without their own squares.
  ValueId multiply_pairs(ValueId x) {
    const ValueId total = total_over("fm.sum", x, KeepDims::no);
    const ValueId squares = total_over("fm.squares.sum", multiply("fm.squares", x, x), KeepDims::no);
    const ValueId both = add("fm.difference", std::make_shared<Binary>(BinaryFunction::sub),
                             {multiply("fm.square", total, total), squares});
    return add("fm.pairs", std::make_shared<Scale>(0.5f), {total_over("fm.total", both, KeepDims::yes)});
  }

  ValueId multiply(const std::string& name, ValueId a, ValueId b) {
    return add(name, std::make_shared<Binary>(BinaryFunction::mul), {a, b});
  }
};

}  // namespace

BuiltModel build_deepfm(const ClickSpec& spec, const Bucket& batch, Mode mode) {
  return DeepFm(spec, batch, mode).build();
}

}  // namespace ptrain
