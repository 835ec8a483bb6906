// Wide & Deep (Cheng et al. 2016). The deep part is PaddleRec's. The wide part is PaddleRec's linear layer over the
// dense features and, as in the paper, a weight per category.
#include "models/clicks/click_blocks.h"

namespace ptrain {
namespace {

class WideDeep final : public ClickBlocks {
 public:
  using ClickBlocks::ClickBlocks;

  BuiltModel build() {
    constexpr std::array<std::int64_t, 4> outputs{512, 256, 128, 32};
    const ValueId wide = weigh_features("wide");
    const ValueId rows = look_up("deep.words", uniform_start(1));
    return finish(sum("logits", wide, score_deeply(with_dense_features(rows), outputs)));
  }
};

}  // namespace

BuiltModel build_wide_deep(const ClickSpec& spec, const Bucket& batch, Mode mode) {
  return WideDeep(spec, batch, mode).build();
}

}  // namespace ptrain
