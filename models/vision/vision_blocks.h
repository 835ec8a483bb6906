// Blocks shared by image models. Images are NHWC; variables have torchvision's names.
#pragma once

#include "core/ops/activation.h"
#include "models/blocks.h"
#include "models/vision/image_model.h"

#include <optional>

namespace ptrain {

/// Whether a convolution adds a bias, which starts at 0, to each output channel.
enum class ConvBias { none, zero };

struct ConvSpec {
  std::int64_t channels;  // output channels
  int kernel;             // height and width, unless it has another width
  int stride = 1;
  int groups = 1;  // groups of input and output channels
  ConvBias bias = ConvBias::none;
  std::optional<int> padding = {};      // none: half of the kernel, times the dilation
  std::optional<float> deviation = {};  // of the filters' initialisation; none: He et al. 2015
  int dilation = 1;                     // distance of a filter's pixels
  std::optional<int> width = {};        // of the kernel; none: as its height
};

/// A convolution with a bias that may be applied to several tensors.
struct SharedConvolution {
  ValueId filters, bias;
  int kernel, stride;
};

/// Initial scale of a norm: 1, or 0 for a residual branch that starts as zero (Goyal et al. 2017).
enum class NormStart { one, zero };

/// Squeeze and excitation (Hu et al. 2018). Both layers are 1x1 convolutions with a bias in files, named after the
/// block.
struct SqueezeExcite {
  std::int64_t channels;  // between the two layers
  Activation activation;  // after the first layer
  Activation gate;        // after the second layer
  const char* first = ".fc1";
  const char* second = ".fc2";
};

/// Standard deviation of the initial weights in networks with layer norms, as in timm.
inline constexpr float layer_norm_networks_deviation = 0.02f;

/// The multiple of 8 nearest to `channels`, or the next one if that is less than nine tenths of it.
std::int64_t multiple_of_eight(double channels);

class VisionBlocks : public Blocks {
 public:
  /// `spec` must outlive this.
  VisionBlocks(const ImageSpec& spec, Mode mode, Norms norms = Norms::batch)
      : Blocks(mode, spec.dropout, spec.stochastic_depth), image_spec_(spec), norms_(norms) {}

 protected:
  /// The batch's size if given, else the specification's.
  ImageSize image_size(const Bucket& batch) const {
    return ImageSize(batch.height(), batch.width()).value_or(image_spec_.image_size);
  }
  /// Throws Error{usage} unless images have sides of multiples of `step` px. `model` is its name.
  void require_multiples(const Bucket& batch, int step, const std::string& model) const;
  /// Adds images u8 [rows * frames, height, width, 3] of image_size() with `frames` images per row: normalised, with
  /// `stacked` successive ones side by side in the channels of one, and zeros up to a multiple of four channels, which
  /// makes the first convolution faster.
  ValueId inputs(const Bucket& batch, std::int64_t frames = 1, std::int64_t stacked = 1);
  const ImageSpec& spec() const { return image_spec_; }
  /// The stride of the first convolution; small images have none.
  int first_stride() const { return image_spec_.stem == Stem::small ? 1 : 2; }

  /// Filters initialised by He et al. 2015 use fan-out, as in torchvision.
  ValueId convolution(const std::string& name, ValueId x, const ConvSpec& spec);
  /// Declares a convolution of `inputs` channels whose filters start by `filters` and whose bias is `bias` at first.
  SharedConvolution shared_convolution(const std::string& name, std::int64_t inputs, const ConvSpec& spec,
                                       const Initializer& filters, float bias = 0);
  ValueId apply(const std::string& name, const SharedConvolution& convolution, ValueId x);
  /// Convolution and batch norm.
  ValueId conv_norm(const std::string& conv, const std::string& norm, ValueId x, const ConvSpec& spec,
                    NormStart start = NormStart::one);
  ValueId conv_norm_relu(const std::string& conv, const std::string& norm, ValueId x, const ConvSpec& spec);
  /// torchvision's Conv2dNormActivation: convolution `name`.0 and norm `name`.1.
  ValueId conv_norm_act(const std::string& name, ValueId x, const ConvSpec& spec, Activation activation);
  /// Depthwise: one filter per channel.
  ConvSpec depthwise(ValueId x, int stride, int kernel = 3) const {
    return {channels(x), kernel, stride, static_cast<int>(channels(x))};
  }
  /// A convolution with a bias over non-overlapping squares of `size` pixels.
  ValueId patches(const std::string& name, ValueId x, std::int64_t channels, int size);
  ValueId batch_norm(const std::string& name, ValueId x, NormStart start);
  /// Over the channels of each pixel or token.
  ValueId layer_norm(const std::string& name, ValueId x, WeightMapping::Part part = WeightMapping::Part::body);
  /// A linear layer applied to each pixel or token.
  ValueId dense(const std::string& name, ValueId x, std::int64_t outputs);
  /// Two dense layers with GELU between them.
  ValueId gelu_layers(const std::string& first, const std::string& second, ValueId x, std::int64_t hidden);
  ValueId activate(Activation activation, const std::string& name, ValueId x);
  /// A linear layer that is a 1x1 convolution in files. `deviation` is of its initial weights; none: He et al. 2015.
  ValueId pointwise_linear(const std::string& name, ValueId x, std::int64_t outputs,
                           std::optional<float> deviation = {});
  ValueId relu(const std::string& name, ValueId x) { return activate(Activation::relu, name, x); }
  ValueId sum(const std::string& name, ValueId x, ValueId y);
  /// Scales x per channel by a gate computed from the means over the image.
  ValueId squeeze_excite(const std::string& name, ValueId x, const SqueezeExcite& spec);
  /// What squeeze_excite() computes its gates from, [N,C].
  ValueId gate_logits(const std::string& name, ValueId x, const SqueezeExcite& spec);
  /// relu(x + shortcut)
  ValueId add_relu(const std::string& name, ValueId x, ValueId shortcut);
  ValueId max_pool(const std::string& name, ValueId x, int kernel, int stride, int padding);
  /// Halves height and width after a low-pass filter.
  ValueId blur_pool(const std::string& name, ValueId x);
  /// Average pooling over squares of `size` pixels.
  ValueId avg_pool(const std::string& name, ValueId x, int size);
  /// `factor` times the height and width: each pixel a square of equal ones.
  ValueId enlarge(const std::string& name, ValueId x, std::int64_t factor = 2);
  /// x plus `coarse` enlarged to twice its height and width, which are x's.
  ValueId add_enlarged(const std::string& name, ValueId x, ValueId coarse);
  /// A transposed 2x2 convolution of stride 2 with a bias, which doubles height and width.
  ValueId transposed_convolution(const std::string& name, ValueId x, std::int64_t outputs);
  /// Average pooling to a grid of `size` x `size`, flattened, and the head's first linear layer, without activation.
  /// Files order its columns channel by channel.
  ValueId grid_linear(const std::string& pool, const std::string& linear, ValueId x, std::int64_t size,
                      std::int64_t outputs, const Initializer& weight);
  /// Mean over the image, or over the `frames` images of a row, dropout and a linear classifier, initialised as
  /// PyTorch's linear layers.
  ValueId pooled_classifier(const std::string& pool, const std::string& linear, ValueId x, std::int64_t frames = 1);
  /// The final linear layer, with weights initialised by `weight` and biases zero.
  ValueId class_scores(const std::string& name, ValueId x, const Initializer& weight);

  float norm_epsilon_ = 1e-5f, norm_momentum_ = 0.1f;  // of every batch norm

 private:
  NormVariables norm_variables(const std::string& name, std::int64_t channels, NormStart start);
  /// A convolution followed by a frozen norm, in training: the norm is computed with the filters, which have fewer
  /// elements than its input.
  ValueId frozen_conv_norm(const std::string& conv, const std::string& norm, ValueId x, const ConvSpec& spec,
                           NormStart start);
  ValueId declare_filters(const std::string& name, ValueId x, const ConvSpec& spec);
  const ImageSpec& image_spec_;
  Norms norms_;
  /// [N stacked, H, W, 3] to [N, H, W, 3 stacked].
  ValueId stack(ValueId pixels, std::int64_t stacked);
  ValueId images_ = no_value;  // normalised
  std::int64_t images_stacked_ = 1;
};

}  // namespace ptrain
