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
  return option_effects(options, std::vector<KernelRecord>(kernels), true);
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
  const OptionEffects applied = option_effects(options, {}, true);
  EXPECT_FALSE(applied.exhaustive_search.value);
  EXPECT_EQ(applied.workspace_limit.value, std::size_t{64} << 20);
}

TEST(OptionEffects, SaysHowManyProductsAreInFp8AndWhyOthersAreNot) {
  const KernelRecord taken{"fp8 cublaslt:algo66", BatchNormPart::none, Fp8Part::taken};
  const KernelRecord left{"cublaslt:algo66", BatchNormPart::none, Fp8Part::left};
  KernelOptions options;
  const auto effect = [&](std::vector<KernelRecord> kernels, bool has_fp8 = true) {
    return option_effects(options, kernels, has_fp8).fp8;
  };
  EXPECT_FALSE(effect({taken}).value) << "not requested";
  options.fp8 = true;
  EXPECT_TRUE(effect({taken, convolution}).value);
  EXPECT_EQ(effect({taken, convolution}).reason, "");
  EXPECT_EQ(effect({taken, left, left}).reason,
            "1 of 3 products of linear layers; of the others FP8 is no faster, or does not allow their sizes "
            "(multiples of 16)");
  EXPECT_FALSE(effect({left}).value);
  EXPECT_EQ(effect({convolution}).reason, "no linear layer computes in 16 bits: see amp.level");
  EXPECT_FALSE(effect({left}, false).value);
  EXPECT_EQ(effect({left}, false).reason, "this GPU has no FP8, which begins with compute capability 8.9");
  options.exhaustive_search = false;
  EXPECT_EQ(effect({left}).reason,
            "0 of 1 products of linear layers; of the others FP8 does not allow the sizes (multiples of 16)");
}

}  // namespace
}  // namespace ptrain::cuda
