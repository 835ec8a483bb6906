#include "core/cuda/option_effects.h"

#include <gtest/gtest.h>

#include <vector>

namespace ptrain::cuda {
namespace {

const KernelRecord convolution{"cudnn:eng1"};
const KernelRecord persistent{"persistent cudnn:eng0_k1=2", BatchNormPart::persistent};
const KernelRecord refused{"native:spatial (no plan)", BatchNormPart::plain};
const KernelRecord evaluated{"native:inference"};

OptionEffects effects(std::initializer_list<KernelRecord> kernels, bool asked = true) {
  KernelOptions options;
  options.persistent_batch_norm = asked;
  return option_effects(options, std::vector<KernelRecord>(kernels));
}

TEST(OptionEffects, PersistentWhereEveryBatchNormIs) {
  const OptionEffects all = effects({convolution, persistent, evaluated});
  EXPECT_TRUE(all.persistent_batch_norm.value);
  EXPECT_EQ(all.persistent_batch_norm.reason, "");
}

TEST(OptionEffects, SaysHowManyAreNotPersistentAndWhy) {
  const OptionEffects some = effects({persistent, refused});
  EXPECT_TRUE(some.persistent_batch_norm.value);
  EXPECT_EQ(some.persistent_batch_norm.reason,
            "1 of 2 batch norm kernels are persistent; another: native:spatial (no plan)");
  EXPECT_FALSE(effects({refused}).persistent_batch_norm.value);
}

TEST(OptionEffects, NotPersistentWithoutBatchNormOrWithoutBeingAsked) {
  EXPECT_FALSE(effects({convolution}).persistent_batch_norm.value);
  EXPECT_EQ(effects({convolution}).persistent_batch_norm.reason, "the model has no batch norm");
  EXPECT_FALSE(effects({refused}, false).persistent_batch_norm.value);
  EXPECT_EQ(effects({refused}, false).persistent_batch_norm.reason, "");
}

TEST(OptionEffects, SearchAndWorkspaceApplyAsAsked) {
  KernelOptions options;
  options.exhaustive_search = false;
  options.workspace_limit = std::size_t{64} << 20;
  const OptionEffects applied = option_effects(options, {});
  EXPECT_FALSE(applied.exhaustive_search.value);
  EXPECT_EQ(applied.workspace_limit.value, std::size_t{64} << 20);
}

}  // namespace
}  // namespace ptrain::cuda
