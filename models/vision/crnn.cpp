#include "models/vision/crnn.h"

#include "core/base/errors.h"
#include "core/ops/concat.h"
#include "core/ops/sequence/recurrent.h"
#include "core/ops/tensor/reduce.h"
#include "core/ops/tensor/reshape.h"
#include "core/ops/tensor/transpose.h"
#include "models/vision/text_recognizer.h"
#include "models/vision/vision_blocks.h"

#include <cmath>

namespace ptrain {
namespace {

constexpr int height_step = 16, least_height = 2 * height_step;  // px

std::int64_t count_steps(int width) { return width / 4 - 1; }

void require_crnn_size(const CrnnSpec& spec, const char* key, ImageSize size) {
  if (size.height < least_height || size.height % height_step != 0) {
    fail_usage("{}: {} reads images whose height is a multiple of {} px, from {} px on, such as 32x100; got {}", key,
               spec.name, height_step, least_height, size);
  }
  if (count_steps(size.width) < 1)
    fail_usage("{}: {} reads images from 8 px of width on, got {}", key, spec.name, size);
}

class CrnnBuilder final : public VisionBlocks {
 public:
  CrnnBuilder(const CrnnSpec& spec, Mode mode) : VisionBlocks(spec, mode), spec_(spec) {}

  BuiltModel build(const Bucket& batch) {
    require_crnn_size(spec_, "train.phases.image_size", image_size(batch));
    declare_characters(graph_, mode(), batch.rows, spec_.max_length);
    ValueId x = to_sequence(features(inputs(batch)));
    x = bidirectional("_l1", bidirectional("_l0", x));
    const Initializer start = uniform_start(1 / std::sqrt(static_cast<float>(channels(x))));
    x = classifier("fc", x, spec_.classes, start, start);
    return finish(add("logits", std::make_shared<Transpose>(std::vector{1, 0, 2}), {x}));
  }

 private:
  ValueId features(ValueId x) {
    const std::int64_t c = spec_.channels;
    x = max_pool("cnn.pooling0", conv_relu("0", x, c), 2, 2, 0);
    x = max_pool("cnn.pooling1", conv_relu("1", x, 2 * c), 2, 2, 0);
    x = pool_rows("cnn.pooling2", conv_relu("3", conv_relu("2", x, 4 * c), 4 * c));
    for (const char* index : {"4", "5"}) {
      const std::string number = index;
      x = conv_norm_relu("cnn.conv" + number, "cnn.batchnorm" + number, x, {.channels = 8 * c, .kernel = 3});
    }
    x = pool_rows("cnn.pooling3", x);
    return relu("cnn.relu6",
                convolution("cnn.conv6", x, {.channels = 8 * c, .kernel = 2, .bias = ConvBias::zero, .padding = 0}));
  }

  ValueId conv_relu(const std::string& index, ValueId x, std::int64_t outputs) {
    return relu("cnn.relu" + index,
                convolution("cnn.conv" + index, x, {.channels = outputs, .kernel = 3, .bias = ConvBias::zero}));
  }

  /// Maximum pooling over 2 rows and 1 column.
  ValueId pool_rows(const std::string& name, ValueId x) {
    const Shape shape = graph_.desc(x).shape;
    const Shape pairs{shape[0], shape[1] / 2, 2, shape[2] * shape[3]};
    x = add(name + ".pairs", std::make_shared<Reshape>(pairs), {x});
    x = add(name, std::make_shared<Reduce>(ReduceAttributes{.kind = ReduceKind::max, .axes = {2}}), {x});
    return add(name + ".rows", std::make_shared<Reshape>(Shape{shape[0], shape[1] / 2, shape[2], shape[3]}), {x});
  }

  /// [N,H,T,C] to [T,N,C].
  ValueId to_sequence(ValueId x) {
    const Shape shape = graph_.desc(x).shape;
    x = shape[1] == 1 ? add("columns", std::make_shared<Reshape>(Shape{shape[0], shape[2], shape[3]}), {x})
                      : add("columns", std::make_shared<Reduce>(ReduceAttributes{ReduceKind::mean, {1}}), {x});
    return add("steps", std::make_shared<Transpose>(std::vector{1, 0, 2}), {x});
  }

  ValueId bidirectional(const std::string& layer, ValueId x) {
    return add("rnn" + layer, std::make_shared<Concat>(2), {lstm(layer, x, false), lstm(layer + "_reverse", x, true)});
  }

  ValueId lstm(const std::string& suffix, ValueId x, bool reverse) {
    const std::int64_t units = spec_.units, gates = count_gates(RecurrentCell::lstm) * units;
    const Initializer start = uniform_start(1 / std::sqrt(static_cast<float>(units)));
    const auto variable = [&](const char* kind, const Shape& shape) {
      return make_variable(fmt::format("rnn.{}{}", kind, suffix), shape, start);
    };
    const ValueId projected = linear("rnn.gates" + suffix, x, variable("weight_ih", Shape{gates, channels(x)}),
                                     variable("bias_ih", Shape{gates}));
    const ValueId weight = parameter(variable("weight_hh", Shape{gates, units}));
    const ValueId bias = parameter(variable("bias_hh", Shape{gates}));
    const RecurrentAttributes attributes{.cell = RecurrentCell::lstm, .reverse = reverse};
    return graph_.add_node("rnn" + suffix, std::make_shared<Recurrent>(attributes),
                           {projected, weight, bias})[Recurrent::y];
  }

  const CrnnSpec& spec_;
};

}  // namespace

CrnnSpec crnn_spec(const Config& config, const DatasetInfo& data) {
  CrnnSpec spec{{image_spec(config, data)}};
  if (data.max_length > 0) spec.max_length = data.max_length;
  return spec;
}

CrnnSpec crnn_tiny_spec(const Config& config, const DatasetInfo& data) {
  CrnnSpec spec = crnn_spec(config, data);
  spec.name = "crnn_tiny";
  spec.channels = 16;
  spec.units = 64;
  return spec;
}

std::unique_ptr<Model> make_crnn(const CrnnSpec& spec) {
  require_crnn_size(spec, "data.image_size", spec.image_size);
  require_steps(spec.name, spec.image_size, count_steps(spec.image_size.width), spec.max_length);
  return std::make_unique<ImageModel<CrnnBuilder, CrnnSpec>>(spec.name, spec);
}

}  // namespace ptrain
