// Blocks that image classifiers share. Images are NHWC; variables bear torchvision's names.
#pragma once

#include "core/ops/activation.h"
#include "models/blocks.h"
#include "models/vision/image_model.h"

#include <optional>

namespace ptrain {

/// Whether a convolution adds a bias, which starts at 0, to each channel that it makes.
enum class ConvBias { none, zero };

struct ConvSpec {
  std::int64_t channels;  // it makes
  int kernel;             // height and width
  int stride = 1;
  int groups = 1;  // that divide the channels, in and out
  ConvBias bias = ConvBias::none;
  std::optional<int> padding = {};      // none given: half of the kernel
  std::optional<float> deviation = {};  // of what filters start from; none given: He et al. 2015
};

/// What a norm's scale starts at: 1, or 0 where a residual branch is to start as nothing (Goyal et al. 2017).
enum class NormStart { one, zero };

/// Squeeze and excitation (Hu et al. 2018). Both layers are 1x1 convolutions with a bias in files.
struct SqueezeExcite {
  std::int64_t channels;  // between the two layers
  Activation activation;  // behind the first
  Activation gate;        // behind the second
};

/// What the weights of networks with layer norms start from, as timm's.
inline constexpr float layer_norm_networks_deviation = 0.02f;

/// The multiple of 8 nearest to `channels`, or the next where that is less than nine tenths of it.
std::int64_t multiple_of_eight(double channels);

class VisionBlocks : public Blocks {
 public:
  /// `spec` outlives this.
  VisionBlocks(const ImageSpec& spec, Mode mode)
      : Blocks(mode, spec.dropout, spec.stochastic_depth), image_spec_(spec) {}

 protected:
  /// The batch's own, or the specification's.
  ImageSize image_size(const Bucket& batch) const {
    return ImageSize(batch.height(), batch.width()).value_or(image_spec_.image_size);
  }
  /// Labels, and images u8 [rows * frames, height, width, 3], of image_size() and with `frames` images of a row:
  /// normalised, with a zero fourth channel, which the first convolution runs faster with.
  ValueId inputs(const Bucket& batch, std::int64_t frames = 1);
  const ImageSpec& spec() const { return image_spec_; }
  /// The stride of a first convolution, which small images go without.
  int first_stride() const { return image_spec_.stem == Stem::small ? 1 : 2; }

  /// Filters that start by He et al. 2015 do so over what goes out, as torchvision's.
  ValueId convolution(const std::string& name, ValueId x, const ConvSpec& spec);
  /// Convolution and batch norm.
  ValueId conv_norm(const std::string& conv, const std::string& norm, ValueId x, const ConvSpec& spec,
                    NormStart start = NormStart::one);
  ValueId conv_norm_relu(const std::string& conv, const std::string& norm, ValueId x, const ConvSpec& spec);
  /// torchvision's Conv2dNormActivation: convolution `name`.0 and norm `name`.1.
  ValueId conv_norm_act(const std::string& name, ValueId x, const ConvSpec& spec, Activation activation);
  /// One filter to each channel.
  ConvSpec depthwise(ValueId x, int stride, int kernel = 3) const {
    return {channels(x), kernel, stride, static_cast<int>(channels(x))};
  }
  /// A convolution with a bias that reads squares of `size` pixels a side, each once.
  ValueId patches(const std::string& name, ValueId x, std::int64_t channels, int size);
  ValueId batch_norm(const std::string& name, ValueId x, NormStart start);
  /// Of each pixel or token over its channels.
  ValueId layer_norm(const std::string& name, ValueId x);
  /// A linear layer of each pixel or token.
  ValueId dense(const std::string& name, ValueId x, std::int64_t outputs);
  /// Two of them, GELU between.
  ValueId gelu_layers(const std::string& first, const std::string& second, ValueId x, std::int64_t hidden);
  ValueId activate(Activation activation, const std::string& name, ValueId x);
  ValueId relu(const std::string& name, ValueId x) { return activate(Activation::relu, name, x); }
  ValueId sum(const std::string& name, ValueId x, ValueId y);
  /// x times the gate that its means over the image make of each channel; layers `name`.fc1 and .fc2.
  ValueId squeeze_excite(const std::string& name, ValueId x, const SqueezeExcite& spec);
  /// relu(x + shortcut)
  ValueId add_relu(const std::string& name, ValueId x, ValueId shortcut);
  ValueId max_pool(const std::string& name, ValueId x, int kernel, int stride, int padding);
  /// Half the height and width, behind a low-pass filter.
  ValueId blur_pool(const std::string& name, ValueId x);
  /// The mean of each square of `size` pixels a side.
  ValueId avg_pool(const std::string& name, ValueId x, int size);
  /// The means of a grid of `size` windows a side, as one row, and a linear layer that reads it, without the activation
  /// behind. Files have the layer's columns channel by channel.
  ValueId grid_linear(const std::string& pool, const std::string& linear, ValueId x, std::int64_t size,
                      std::int64_t outputs, const Initializer& weight);
  /// Mean over the image, or over the `frames` images of a row, dropout and a linear classifier, which starts as
  /// PyTorch's linear layers do.
  ValueId pooled_classifier(const std::string& pool, const std::string& linear, ValueId x, std::int64_t frames = 1);
  /// The last linear layer, of features, starting at `weight` and zero.
  ValueId class_scores(const std::string& name, ValueId x, const Initializer& weight);

  float norm_epsilon_ = 1e-5f, norm_momentum_ = 0.1f;  // of every batch norm

 private:
  /// A 1x1 convolution in files, of what has no height and width here.
  ValueId pointwise_linear(const std::string& name, ValueId x, std::int64_t outputs);

  const ImageSpec& image_spec_;
  ValueId images_ = no_value;  // normalised
};

}  // namespace ptrain
