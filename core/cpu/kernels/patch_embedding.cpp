// Tokens from patches, one row at a time, and the gradient, one position at a time over all images.
#include "core/ops/image/patch_embedding.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/simd/vector.h"

#include <cstring>

namespace ptrain::cpu {
namespace {

class PatchEmbeddingKernel final : public Kernel {
 public:
  using Op = PatchEmbedding;

  explicit PatchEmbeddingKernel(const KernelContext& context) : tokens_(context.outputs[Op::tokens]) {}

  void run(const KernelArgs& args) override {
    const std::int64_t images = tokens_.shape[0], length = tokens_.shape[1], width = tokens_.shape[2];
    const auto* class_token = static_cast<const float*>(args.inputs[Op::class_token]);
    const auto* position = static_cast<const float*>(args.inputs[Op::position]);
    std::fill_n(static_cast<std::int32_t*>(args.outputs[Op::lengths]), images, static_cast<std::int32_t>(length));
    visit_floating(tokens_.dtype, [&](auto zero) {
      using T = decltype(zero);
      const auto* x = static_cast<const T*>(args.inputs[Op::x]);
      auto* tokens = static_cast<T*>(args.outputs[Op::tokens]);
      parallel_for(images * length, 8, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t token = begin; token < end; ++token) {
          const std::int64_t n = token / length, s = token % length;
          const T* patch = x + (n * (length - 1) + s - 1) * width;
          for_channels(width, [&](std::int64_t c, auto access) {
            const f32x16 value = s == 0 ? access.load(class_token + c) : access.load(patch + c);
            access.store(tokens + token * width + c, value + access.load(position + s * width + c));
          });
        }
      });
    });
  }

 private:
  TensorDesc tokens_;
};

class PatchEmbeddingGradKernel final : public Kernel {
 public:
  using Op = PatchEmbeddingGrad;

  explicit PatchEmbeddingGradKernel(const KernelContext& context) : dtokens_(context.inputs[0]) {}

  void run(const KernelArgs& args) override {
    const std::int64_t images = dtokens_.shape[0], length = dtokens_.shape[1], width = dtokens_.shape[2];
    auto* dposition = static_cast<float*>(args.outputs[Op::dposition]);
    visit_floating(dtokens_.dtype, [&](auto zero) {
      using T = decltype(zero);
      const auto* dtokens = static_cast<const T*>(args.inputs[0]);
      auto* dx = static_cast<T*>(args.outputs[Op::dx]);
      parallel_for(length, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t s = begin; s < end; ++s) {
          for_channels(width, [&](std::int64_t c, auto access) {
            f32x16 sum{};
            for (std::int64_t n = 0; n < images; ++n) {
              const f32x16 g = access.load(dtokens + (n * length + s) * width + c);
              sum += g;
              if (s > 0) access.store(dx + (n * (length - 1) + s - 1) * width + c, g);
            }
            access.store(dposition + s * width + c, sum);
          });
        }
      });
    });
    // The class token is at position 0.
    std::memcpy(args.outputs[Op::dclass_token], dposition, static_cast<std::size_t>(width) * sizeof(float));
  }

 private:
  TensorDesc dtokens_;
};

}  // namespace

std::unique_ptr<Kernel> make_patch_embedding(const KernelContext& context) {
  return std::make_unique<PatchEmbeddingKernel>(context);
}
std::unique_ptr<Kernel> make_patch_embedding_grad(const KernelContext& context) {
  return std::make_unique<PatchEmbeddingGradKernel>(context);
}

}  // namespace ptrain::cpu
