#include "models/vision/resnet_body.h"

#include "core/base/errors.h"

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

std::array<ValueId, 4> ResNetBody::body(ValueId images, std::size_t stages) {
  std::array<ValueId, 4> maps{no_value, no_value, no_value, no_value};
  ValueId x = stem(images);
  int output_stride = 4, dilation = 1;
  for (std::size_t i = 0; i < stages; ++i) {
    const int stride = i > 0 ? 2 : 1;
    const bool strides = output_stride * stride <= spec_.output_stride;
    const int first_dilation = dilation;
    (strides ? output_stride : dilation) *= stride;
    x = maps[i] = stage(prefix_, i + 1, x, {strides ? stride : 1, first_dilation, dilation});
  }
  return maps;
}

ValueId ResNetBody::stage(const std::string& prefix, std::size_t number, ValueId x, const Sampling& sampling) {
  const Stages& stages = get_stages(spec_.depth);
  const std::int64_t width = spec_.base_channels << (number - 1);
  for (int block = 0; block < stages.blocks[number - 1]; ++block) {
    const std::string name = fmt::format("{}layer{}.{}", prefix, number, block);
    const int stride = block == 0 ? sampling.stride : 1;
    const int dilation = block == 0 ? sampling.first_dilation : sampling.dilation;
    x = stages.bottleneck ? bottleneck(name, x, width, stride, dilation)
                          : basic_block(name, x, width, stride, dilation);
  }
  return x;
}

ValueId ResNetBody::stem(ValueId images) {
  const std::int64_t channels = spec_.base_channels;
  const std::string conv = prefix_ + "conv1", norm = prefix_ + "bn1", pool = prefix_ + "maxpool";
  if (spec_.stem == Stem::small) return conv_norm_relu(conv, norm, images, {channels, 3});
  if (spec_.form == ResNetForm::d) {
    ValueId x = conv_norm_relu(conv + ".0", conv + ".1", images, {channels / 2, 3, 2});
    x = conv_norm_relu(conv + ".3", conv + ".4", x, {channels / 2, 3});
    return pooled(pool, conv_norm_relu(conv + ".6", norm, x, {channels, 3}));
  }
  return pooled(pool, conv_norm_relu(conv, norm, images, {channels, 7, 2}));
}

ValueId ResNetBody::pooled(const std::string& name, ValueId x) {
  if (!spec_.blur_pool) return max_pool(name, x, 3, 2, 1);
  return blur_pool(name + ".1", max_pool(name + ".0", x, 3, 1, 1));
}

ValueId ResNetBody::strided(const std::string& name, int number, ValueId x, ConvSpec spec) {
  const bool blur = spec_.blur_pool && spec.stride == 2;
  if (blur) spec.stride = 1;
  const ValueId y =
      conv_norm_relu(fmt::format("{}.conv{}", name, number), fmt::format("{}.bn{}", name, number), x, spec);
  return blur ? blur_pool(name + ".aa", y) : y;
}

ValueId ResNetBody::bottleneck(const std::string& name, ValueId x, std::int64_t width, int stride, int dilation) {
  const std::int64_t inner = width * spec_.group_width / 64 * spec_.groups;
  ValueId y = conv_norm_relu(name + ".conv1", name + ".bn1", x, {inner, 1});
  y = strided(name, 2, y,
              {.channels = inner, .kernel = 3, .stride = stride, .groups = spec_.groups, .dilation = dilation});
  y = conv_norm(name + ".conv3", name + ".bn3", y, {4 * width, 1}, last_norm_);
  return add_relu(name, y, shortcut(name, x, 4 * width, stride));
}

ValueId ResNetBody::basic_block(const std::string& name, ValueId x, std::int64_t width, int stride, int dilation) {
  ValueId y = strided(name, 1, x, {.channels = width, .kernel = 3, .stride = stride, .dilation = dilation});
  y = conv_norm(name + ".conv2", name + ".bn2", y, {width, 3}, last_norm_);
  return add_relu(name, y, shortcut(name, x, width, stride));
}

ValueId ResNetBody::shortcut(const std::string& name, ValueId x, std::int64_t width, int stride) {
  if (stride == 1 && channels(x) == width) return x;
  if (spec_.form == ResNetForm::plain) {
    return conv_norm(name + ".downsample.0", name + ".downsample.1", x, {width, 1, stride});
  }
  if (stride > 1) x = avg_pool(name + ".downsample.0", x, stride);
  return conv_norm(name + ".downsample.1", name + ".downsample.2", x, {width, 1});
}

}  // namespace ptrain
