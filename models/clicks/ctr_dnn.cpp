// Fluid 1.3's CTR-DNN (its PaddleRec/ctr): each category's row and the dense features through three layers.
#include "models/clicks/click_blocks.h"

namespace ptrain {
namespace {

class CtrDnn final : public ClickBlocks {
 public:
  using ClickBlocks::ClickBlocks;

  BuiltModel build() {
    constexpr std::array<std::int64_t, 3> outputs{400, 400, 400};
    const ValueId rows = look_up("deep.words", uniform_start(1));
    return finish(score_deeply(with_dense_features(rows), outputs));
  }
};

}  // namespace

BuiltModel build_ctr_dnn(const ClickSpec& spec, const Bucket& batch, Mode mode) {
  return CtrDnn(spec, batch, mode).build();
}

}  // namespace ptrain
