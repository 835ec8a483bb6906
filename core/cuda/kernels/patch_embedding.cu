// Tokens from patches, and the gradient: each thread has a pack of a position's channels, over all images in order.
#include "core/ops/image/patch_embedding.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/dispatch.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/vector.cuh"

namespace ptrain::cuda {
namespace {

struct PatchExtent {
  std::int64_t images, length, width;

  explicit PatchExtent(const TensorDesc& tokens)
      : images(tokens.shape[0]), length(tokens.shape[1]), width(tokens.shape[2]) {}
  /// Elements in the tokens of one image.
  __host__ __device__ std::int64_t image() const { return length * width; }
};

template <int n, typename T>
__global__ void __launch_bounds__(block_threads) embed_kernel(PatchExtent e, const T* x, const float* class_token,
                                                              const float* position, T* tokens, std::int32_t* lengths) {
  for (std::int64_t i = grid_thread(); i < e.images; i += grid_threads()) {
    lengths[i] = static_cast<std::int32_t>(e.length);
  }
  for (std::int64_t at = grid_thread() * n; at < e.images * e.image(); at += grid_threads() * n) {
    const std::int64_t image = at / e.image(), within = at % e.image();
    float values[n], offset[n];
    if (within < e.width) {
      load(class_token + within, values);
    } else {
      load(x + image * (e.image() - e.width) + within - e.width, values);
    }
    load(position + within, offset);
#pragma unroll
    for (int i = 0; i < n; ++i) values[i] += offset[i];
    store(tokens + at, values);
  }
}

/// The class token is at position 0.
template <int n, typename T>
__global__ void __launch_bounds__(block_threads)
    embed_grad_kernel(PatchExtent e, const T* dtokens, T* dx, float* dclass_token, float* dposition) {
  const std::int64_t within = grid_thread() * n;
  if (within >= e.image()) return;
  float sum[n] = {};
  for (std::int64_t image = 0; image < e.images; ++image) {
    float g[n];
    load(dtokens + image * e.image() + within, g);
#pragma unroll
    for (int i = 0; i < n; ++i) sum[i] += g[i];
    if (within >= e.width) store(dx + image * (e.image() - e.width) + within - e.width, g);
  }
  store(dposition + within, sum);
  if (within < e.width) store(dclass_token + within, sum);
}

class PatchEmbeddingKernel final : public Kernel {
 public:
  using Op = PatchEmbedding;

  PatchEmbeddingKernel(const TensorDesc& tokens, Device& device)
      : device_(device), dtype_(tokens.dtype), extent_(tokens) {}

  void run(const KernelArgs& args) override {
    visit_row_pack(extent_.width, dtype_, [&](auto n, auto zero) {
      using T = decltype(zero);
      launch(embed_kernel<decltype(n)::value, T>, grid_blocks(device_, extent_.images * extent_.image() / n),
             block_threads, device_, extent_, static_cast<const T*>(args.inputs[Op::x]),
             static_cast<const float*>(args.inputs[Op::class_token]),
             static_cast<const float*>(args.inputs[Op::position]), static_cast<T*>(args.outputs[Op::tokens]),
             static_cast<std::int32_t*>(args.outputs[Op::lengths]));
    });
  }

 private:
  Device& device_;
  DType dtype_;
  PatchExtent extent_;
};

class PatchEmbeddingGradKernel final : public Kernel {
 public:
  using Op = PatchEmbeddingGrad;

  PatchEmbeddingGradKernel(const TensorDesc& dtokens, Device& device)
      : device_(device), dtype_(dtokens.dtype), extent_(dtokens) {}

  void run(const KernelArgs& args) override {
    visit_row_pack(extent_.width, dtype_, [&](auto n, auto zero) {
      using T = decltype(zero);
      launch(embed_grad_kernel<decltype(n)::value, T>, blocks_for(extent_.image() / n), block_threads, device_, extent_,
             static_cast<const T*>(args.inputs[0]), static_cast<T*>(args.outputs[Op::dx]),
             static_cast<float*>(args.outputs[Op::dclass_token]), static_cast<float*>(args.outputs[Op::dposition]));
    });
  }

 private:
  Device& device_;
  DType dtype_;
  PatchExtent extent_;
};

}  // namespace

std::unique_ptr<Kernel> make_patch_embedding(const KernelContext& context, Device& device) {
  return std::make_unique<PatchEmbeddingKernel>(context.outputs[PatchEmbedding::tokens], device);
}
std::unique_ptr<Kernel> make_patch_embedding_grad(const KernelContext& context, Device& device) {
  return std::make_unique<PatchEmbeddingGradKernel>(context.inputs[0], device);
}

}  // namespace ptrain::cuda
