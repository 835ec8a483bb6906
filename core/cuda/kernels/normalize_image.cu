// Pixels to normalised floats by a table of 256 values per channel, which every block computes in shared memory; each
// thread has four pixels, whose bytes are three words.
#include "core/ops/image/normalize_image.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/dispatch.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/vector.cuh"

namespace ptrain::cuda {
namespace {

constexpr int quad = 4;

struct Normalization {
  float mean[3];
  float deviation[3];
};

template <typename T, int channels>
__device__ void normalise_pixel(const float (&table)[3][256], const std::uint8_t* x, T* y) {
  for (int c = 0; c < 3; ++c) y[c] = from_float<T>(table[c][x[c]]);
  if constexpr (channels == 4) y[3] = from_float<T>(0.0f);
}

template <typename T, int channels>
__global__ void __launch_bounds__(block_threads)
    normalize_kernel(const std::uint8_t* x, std::int64_t pixels, Normalization n, T* y) {
  __shared__ float table[3][256];
  for (int i = static_cast<int>(threadIdx.x); i < 3 * 256; i += block_threads) {
    const int c = i / 256, v = i % 256;
    table[c][v] = (static_cast<float>(v) / 255.0f - n.mean[c]) / n.deviation[c];
  }
  __syncthreads();
  struct alignas(4) Bytes {
    std::uint8_t values[3 * quad];
  };
  struct alignas(channels == 4 ? 16 : 8) Values {
    T values[channels * quad];
  };
  const std::int64_t quads = pixels / quad;
  for (std::int64_t q = grid_thread(); q < quads; q += grid_threads()) {
    const Bytes bytes = reinterpret_cast<const Bytes*>(x)[q];
    Values values;
#pragma unroll
    for (int i = 0; i < quad; ++i) {
      normalise_pixel<T, channels>(table, bytes.values + 3 * i, values.values + channels * i);
    }
    reinterpret_cast<Values*>(y)[q] = values;
  }
  for (std::int64_t i = quads * quad + grid_thread(); i < pixels; i += grid_threads()) {
    normalise_pixel<T, channels>(table, x + 3 * i, y + channels * i);
  }
}

/// Pixels of `inputs` channels, those of several images: a thread computes an element.
template <typename T>
__global__ void __launch_bounds__(block_threads)
    normalize_stacked_kernel(const std::uint8_t* x, std::int64_t elements, int inputs, int channels, Normalization n,
                             T* y) {
  for (std::int64_t i = grid_thread(); i < elements; i += grid_threads()) {
    const std::int64_t pixel = i / channels;
    const int channel = static_cast<int>(i % channels), c = channel % 3;
    const float value = channel < inputs
                            ? (static_cast<float>(x[pixel * inputs + channel]) / 255.0f - n.mean[c]) / n.deviation[c]
                            : 0.0f;
    y[i] = from_float<T>(value);
  }
}

class NormalizeImageKernel final : public Kernel {
 public:
  NormalizeImageKernel(const KernelContext& context, Device& device)
      : device_(device),
        channels_(context.op_as<NormalizeImage>().attrs().channels),
        dtype_(context.outputs[0].dtype),
        inputs_(static_cast<int>(context.inputs[0].shape[3])),
        pixels_(context.inputs[0].count() / inputs_) {
    const NormalizeImage::Attributes& attrs = context.op_as<NormalizeImage>().attrs();
    for (std::size_t c = 0; c < 3; ++c) {
      normalization_.mean[c] = attrs.mean[c];
      normalization_.deviation[c] = attrs.deviation[c];
    }
  }

  void run(const KernelArgs& args) override {
    visit_floating(dtype_, [&](auto zero) {
      using T = decltype(zero);
      if (inputs_ > 3) {
        const std::int64_t elements = pixels_ * channels_;
        launch(normalize_stacked_kernel<T>, grid_blocks(device_, elements), block_threads, device_,
               static_cast<const std::uint8_t*>(args.inputs[0]), elements, inputs_, channels_, normalization_,
               static_cast<T*>(args.outputs[0]));
      } else if (channels_ == 4) {
        normalize<T, 4>(args);
      } else {
        normalize<T, 3>(args);
      }
    });
  }

 private:
  template <typename T, int channels>
  void normalize(const KernelArgs& args) {
    launch(normalize_kernel<T, channels>, grid_blocks(device_, pixels_ / quad + 1), block_threads, device_,
           static_cast<const std::uint8_t*>(args.inputs[0]), pixels_, normalization_, static_cast<T*>(args.outputs[0]));
  }

  Device& device_;
  int channels_;
  DType dtype_;
  int inputs_;  // channels
  std::int64_t pixels_;
  Normalization normalization_;
};

}  // namespace

std::unique_ptr<Kernel> make_normalize_image(const KernelContext& context, Device& device) {
  return std::make_unique<NormalizeImageKernel>(context, device);
}

}  // namespace ptrain::cuda
