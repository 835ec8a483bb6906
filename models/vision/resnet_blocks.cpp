#include "models/vision/resnet_blocks.h"

#include "core/base/errors.h"

#include <array>

namespace ptrain {
namespace {

struct Stages {
  int depth;
  std::array<int, 4> blocks;
  bool bottleneck;
};

constexpr std::array<Stages, 5> architectures{{{18, {2, 2, 2, 2}, false},
                                               {34, {3, 4, 6, 3}, false},
                                               {50, {3, 4, 6, 3}, true},
                                               {101, {3, 4, 23, 3}, true},
                                               {152, {3, 8, 36, 3}, true}}};

const Stages& get_stages(int depth) {
  for (const Stages& stages : architectures) {
    if (stages.depth == depth) return stages;
  }
  fail_usage("model.name: resnet{} does not exist: expected resnet18, 34, 50, 101 or 152", depth);
}

}  // namespace

bool has_bottlenecks(int depth) { return get_stages(depth).bottleneck; }

ValueId ResNetBlocks::layer(int stage, ValueId x) {
  const Stages& stages = get_stages(spec_.depth);
  const std::int64_t width = spec_.base_channels << (stage - 1);
  int stride = stage > 1 ? 2 : 1;
  const int first_dilation = dilation_;
  if (output_stride_ * stride > spec_.output_stride) {
    dilation_ *= stride;
    stride = 1;
  }
  output_stride_ *= stride;
  for (int block = 0; block < stages.blocks[static_cast<std::size_t>(stage - 1)]; ++block) {
    const std::string name = fmt::format("{}layer{}.{}", prefix_, stage, block);
    const int block_stride = block == 0 ? stride : 1, dilation = block == 0 ? first_dilation : dilation_;
    x = stages.bottleneck ? bottleneck(name, x, width, block_stride, dilation)
                          : basic_block(name, x, width, block_stride, dilation);
  }
  return x;
}

ValueId ResNetBlocks::stem(ValueId images) {
  const std::int64_t channels = spec_.base_channels;
  if (spec_.stem == Stem::small) return conv_norm_relu(prefix_ + "conv1", prefix_ + "bn1", images, {channels, 3});
  if (spec_.form == ResNetForm::d) {
    ValueId x = conv_norm_relu(prefix_ + "conv1.0", prefix_ + "conv1.1", images, {channels / 2, 3, 2});
    x = conv_norm_relu(prefix_ + "conv1.3", prefix_ + "conv1.4", x, {channels / 2, 3});
    return pooled(prefix_ + "maxpool", conv_norm_relu(prefix_ + "conv1.6", prefix_ + "bn1", x, {channels, 3}));
  }
  return pooled(prefix_ + "maxpool", conv_norm_relu(prefix_ + "conv1", prefix_ + "bn1", images, {channels, 7, 2}));
}

ValueId ResNetBlocks::pooled(const std::string& name, ValueId x) {
  if (!spec_.blur_pool) return max_pool(name, x, 3, 2, 1);
  return blur_pool(name + ".1", max_pool(name + ".0", x, 3, 1, 1));
}

/// A 3x3 convolution, norm and ReLU; with blur pooling they run at full size and the blur has the stride.
ValueId ResNetBlocks::strided(const std::string& name, int number, ValueId x, ConvSpec spec) {
  const bool blur = spec_.blur_pool && spec.stride == 2;
  if (blur) spec.stride = 1;
  const ValueId y =
      conv_norm_relu(fmt::format("{}.conv{}", name, number), fmt::format("{}.bn{}", name, number), x, spec);
  return blur ? blur_pool(name + ".aa", y) : y;
}

ValueId ResNetBlocks::bottleneck(const std::string& name, ValueId x, std::int64_t width, int stride, int dilation) {
  const std::int64_t inner = width * spec_.group_width / 64 * spec_.groups;
  ValueId y = conv_norm_relu(name + ".conv1", name + ".bn1", x, {inner, 1});
  y = strided(name, 2, y,
              {.channels = inner, .kernel = 3, .stride = stride, .groups = spec_.groups, .dilation = dilation});
  y = conv_norm(name + ".conv3", name + ".bn3", y, {4 * width, 1}, last_norm_);
  return add_relu(name, y, shortcut(name, x, 4 * width, stride));
}

ValueId ResNetBlocks::basic_block(const std::string& name, ValueId x, std::int64_t width, int stride, int dilation) {
  ValueId y = strided(name, 1, x, {.channels = width, .kernel = 3, .stride = stride, .dilation = dilation});
  y = conv_norm(name + ".conv2", name + ".bn2", y, {width, 3}, last_norm_);
  return add_relu(name, y, shortcut(name, x, width, stride));
}

/// The identity, or a projection if the shape changes.
ValueId ResNetBlocks::shortcut(const std::string& name, ValueId x, std::int64_t width, int stride) {
  if (stride == 1 && channels(x) == width) return x;
  if (spec_.form == ResNetForm::plain) {
    return conv_norm(name + ".downsample.0", name + ".downsample.1", x, {width, 1, stride});
  }
  if (stride > 1) x = avg_pool(name + ".downsample.0", x, stride);
  return conv_norm(name + ".downsample.1", name + ".downsample.2", x, {width, 1});
}

}  // namespace ptrain
