// Group normalisation in three steps: two sums per channel over each image's pixels, in one part per thread; from them
// each group's statistics or mean gradients, by channel; then every pixel, sixteen channels at a time.
#include "core/ops/normalization/group_norm.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/simd/vector.h"

#include <algorithm>
#include <cmath>

namespace ptrain::cpu {
namespace {

/// The pixels of images [N,...,C], and the workspace of a kernel: two sums per image, part and channel, and four values
/// per image and channel.
class ImageChannels {
 public:
  explicit ImageChannels(const Shape& x)
      : images(x[0]), channels(x[-1]), pixels(x.count() / (x[0] * x[-1])), parts_(thread_count()) {}

  const std::int64_t images, channels, pixels;

  std::size_t workspace_bytes() const {
    return static_cast<std::size_t>(images * channels * (2 * parts_ + 4)) * sizeof(float);
  }
  /// Value `k`, from 0 to 3, of the channels of an image.
  float* values(void* workspace, std::int64_t image, int k) const {
    return static_cast<float*>(workspace) + images * channels * 2 * parts_ + (image * 4 + k) * channels;
  }

  /// Sums for each image and channel what add(image, first element of a pixel, sums, other sums) adds, into values
  /// `first` and `first` + 1.
  template <typename Add>
  void sum(void* workspace, int first, const Add& add) const {
    auto* const partials = static_cast<float*>(workspace);
    for_parts([&](std::int64_t image, std::int64_t part, std::int64_t begin, std::int64_t end) {
      float* const sums = partials + (image * parts_ + part) * 2 * channels;
      std::fill(sums, sums + 2 * channels, 0.0f);
      for (std::int64_t p = begin; p < end; ++p) add(image, (image * pixels + p) * channels, sums, sums + channels);
    });
    for (std::int64_t image = 0; image < images; ++image) {
      float* const total = values(workspace, image, first);  // the second sums follow
      std::fill(total, total + 2 * channels, 0.0f);
      for (std::int64_t part = 0; part < parts_; ++part) {
        const float* const sums = partials + (image * parts_ + part) * 2 * channels;
        for (std::int64_t c = 0; c < 2 * channels; ++c) total[c] += sums[c];
      }
    }
  }
  /// Calls body(image, first element) for every pixel.
  template <typename Body>
  void for_pixels(const Body& body) const {
    for_parts([&](std::int64_t image, std::int64_t, std::int64_t begin, std::int64_t end) {
      for (std::int64_t p = begin; p < end; ++p) body(image, (image * pixels + p) * channels);
    });
  }

 private:
  template <typename Body>
  void for_parts(const Body& body) const {
    parallel_for(images * parts_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t part = i % parts_;
        body(i / parts_, part, pixels * part / parts_, pixels * (part + 1) / parts_);
      }
    });
  }

  std::int64_t parts_;
};

class GroupNormKernel final : public Kernel {
  using Op = GroupNorm;

 public:
  explicit GroupNormKernel(const KernelContext& context)
      : dtype_(context.inputs[Op::x].dtype),
        extent_(context.inputs[Op::x].shape),
        attributes_(context.op_as<GroupNorm>().attrs()) {}

  std::size_t workspace_bytes() const override { return extent_.workspace_bytes(); }

  void run(const KernelArgs& args) override {
    const auto* beta = static_cast<const float*>(args.inputs[Op::beta]);
    visit_floating(dtype_, [&](auto zero) {
      using T = decltype(zero);
      const auto* x = static_cast<const T*>(args.inputs[Op::x]);
      auto* y = static_cast<T*>(args.outputs[Op::y]);
      const std::int64_t image_size = extent_.pixels * extent_.channels;
      // Differences from the first pixel: squares of values far from zero would cancel.
      extent_.sum(args.workspace, 0, [&](std::int64_t image, std::int64_t at, float* sums, float* squares) {
        for_channels(extent_.channels, [&](std::int64_t c, auto access) {
          const f32x16 d = access.load(x + at + c) - access.load(x + image * image_size + c);
          access.store(sums + c, access.load(sums + c) + d);
          access.store(squares + c, access.load(squares + c) + d * d);
        });
      });
      for (std::int64_t image = 0; image < extent_.images; ++image)
        find_statistics(x + image * image_size, image, args);
      extent_.for_pixels([&](std::int64_t image, std::int64_t at) {
        const float* const mean = extent_.values(args.workspace, image, 2);
        const float* const scale = extent_.values(args.workspace, image, 3);
        for_channels(extent_.channels, [&](std::int64_t c, auto access) {
          access.store(y + at + c, (access.load(x + at + c) - access.load(mean + c)) * access.load(scale + c) +
                                       access.load(beta + c));
        });
      });
    });
  }

 private:
  /// From the sums in values 0 and 1: mean and rstd of each group, and for each channel the mean in value 2 and
  /// rstd * gamma in value 3.
  template <typename T>
  void find_statistics(const T* first_pixel, std::int64_t image, const KernelArgs& args) const {
    const auto* gamma = static_cast<const float*>(args.inputs[Op::gamma]);
    const std::int64_t groups = attributes_.groups, width = extent_.channels / groups;
    const float* const sums = extent_.values(args.workspace, image, 0);
    const float* const squares = extent_.values(args.workspace, image, 1);
    float* const means = extent_.values(args.workspace, image, 2);
    float* const scales = extent_.values(args.workspace, image, 3);
    const auto pixels = static_cast<double>(extent_.pixels);
    for (std::int64_t g = 0; g < groups; ++g) {
      double mean = 0, variance = 0;
      const auto channel_mean = [&](std::int64_t c) {
        return static_cast<double>(static_cast<float>(first_pixel[c])) + static_cast<double>(sums[c]) / pixels;
      };
      for (std::int64_t c = g * width; c < (g + 1) * width; ++c) mean += channel_mean(c) / static_cast<double>(width);
      for (std::int64_t c = g * width; c < (g + 1) * width; ++c) {
        const double shift = static_cast<double>(sums[c]) / pixels, apart = channel_mean(c) - mean;
        variance +=
            (static_cast<double>(squares[c]) / pixels - shift * shift + apart * apart) / static_cast<double>(width);
      }
      const auto rstd =
          static_cast<float>(1.0 / std::sqrt(std::max(0.0, variance) + static_cast<double>(attributes_.epsilon)));
      static_cast<float*>(args.outputs[Op::mean])[image * groups + g] = static_cast<float>(mean);
      static_cast<float*>(args.outputs[Op::rstd])[image * groups + g] = rstd;
      for (std::int64_t c = g * width; c < (g + 1) * width; ++c) {
        means[c] = static_cast<float>(mean);
        scales[c] = rstd * gamma[c];
      }
    }
  }

  DType dtype_;
  ImageChannels extent_;
  GroupNormAttributes attributes_;
};

class GroupNormGradKernel final : public Kernel {
  using Op = GroupNormGrad;

 public:
  explicit GroupNormGradKernel(const KernelContext& context)
      : dy_dtype_(context.inputs[Op::dy].dtype),
        dtype_(context.inputs[Op::x].dtype),
        extent_(context.inputs[Op::x].shape),
        groups_(context.inputs[Op::mean].shape[1]) {}

  std::size_t workspace_bytes() const override { return extent_.workspace_bytes(); }

  void run(const KernelArgs& args) override {
    visit_floating(dy_dtype_, [&](auto dy_zero) {
      visit_floating(dtype_, [&](auto zero) {
        run_as(static_cast<const decltype(dy_zero)*>(args.inputs[Op::dy]),
               static_cast<const decltype(zero)*>(args.inputs[Op::x]),
               static_cast<decltype(zero)*>(args.outputs[Op::dx]), args);
      });
    });
  }

 private:
  template <typename D, typename T>
  void run_as(const D* dy, const T* x, T* dx, const KernelArgs& args) const {
    const auto* gamma = static_cast<const float*>(args.inputs[Op::gamma]);
    void* const workspace = args.workspace;
    spread(args.inputs[Op::mean], 2, workspace);
    spread(args.inputs[Op::rstd], 3, workspace);
    extent_.sum(workspace, 0, [&](std::int64_t image, std::int64_t at, float* gradients, float* projections) {
      const float* const mean = extent_.values(workspace, image, 2);
      const float* const rstd = extent_.values(workspace, image, 3);
      for_channels(extent_.channels, [&](std::int64_t c, auto access) {
        const f32x16 d = access.load(dy + at + c);
        const f32x16 normal = (access.load(x + at + c) - access.load(mean + c)) * access.load(rstd + c);
        access.store(gradients + c, access.load(gradients + c) + d);
        access.store(projections + c, access.load(projections + c) + d * normal);
      });
    });
    add_images(0, static_cast<float*>(args.outputs[Op::dbeta]), workspace);
    add_images(1, static_cast<float*>(args.outputs[Op::dgamma]), workspace);
    find_group_means(gamma, workspace);
    extent_.for_pixels([&](std::int64_t image, std::int64_t at) {
      const float* const gradient = extent_.values(workspace, image, 0);
      const float* const projected = extent_.values(workspace, image, 1);
      const float* const mean = extent_.values(workspace, image, 2);
      const float* const rstd = extent_.values(workspace, image, 3);
      for_channels(extent_.channels, [&](std::int64_t c, auto access) {
        const f32x16 r = access.load(rstd + c);
        const f32x16 normal = (access.load(x + at + c) - access.load(mean + c)) * r;
        access.store(dx + at + c, r * (access.load(dy + at + c) * access.load(gamma + c) - access.load(gradient + c) -
                                       normal * access.load(projected + c)));
      });
    });
  }

  /// Copies a value of each group [N,groups] to its channels.
  void spread(const void* of_groups, int k, void* workspace) const {
    const std::int64_t width = extent_.channels / groups_;
    for (std::int64_t image = 0; image < extent_.images; ++image) {
      float* const by_channel = extent_.values(workspace, image, k);
      const float* const by_group = static_cast<const float*>(of_groups) + image * groups_;
      for (std::int64_t c = 0; c < extent_.channels; ++c) by_channel[c] = by_group[c / width];
    }
  }
  /// The sums over images of value `k`.
  void add_images(int k, float* total, void* workspace) const {
    std::fill(total, total + extent_.channels, 0.0f);
    for (std::int64_t image = 0; image < extent_.images; ++image) {
      const float* const part = extent_.values(workspace, image, k);
      for (std::int64_t c = 0; c < extent_.channels; ++c) total[c] += part[c];
    }
  }
  /// Replaces sums of dy and of dy xhat of each channel by the means of dy gamma and of dy gamma xhat over its group.
  void find_group_means(const float* gamma, void* workspace) const {
    const std::int64_t width = extent_.channels / groups_;
    for (std::int64_t i = 0; i < extent_.images * 2; ++i) {
      float* const sums = extent_.values(workspace, i / 2, static_cast<int>(i % 2));
      for (std::int64_t first = 0; first < extent_.channels; first += width) {
        double mean = 0;
        for (std::int64_t c = first; c < first + width; ++c) mean += static_cast<double>(sums[c] * gamma[c]);
        std::fill(sums + first, sums + first + width,
                  static_cast<float>(mean / static_cast<double>(width * extent_.pixels)));
      }
    }
  }

  DType dy_dtype_, dtype_;
  ImageChannels extent_;
  std::int64_t groups_;
};

}  // namespace

std::unique_ptr<Kernel> make_group_norm(const KernelContext& context) {
  return std::make_unique<GroupNormKernel>(context);
}
std::unique_ptr<Kernel> make_group_norm_grad(const KernelContext& context) {
  return std::make_unique<GroupNormGradKernel>(context);
}

}  // namespace ptrain::cpu
