#include "models/vision/ppocr_recognizer.h"

#include "core/base/errors.h"
#include "core/ops/concat.h"
#include "core/ops/tensor/batched_matmul.h"
#include "core/ops/tensor/reduce.h"
#include "core/ops/tensor/reshape.h"
#include "core/ops/tensor/slice.h"
#include "core/ops/tensor/transpose.h"
#include "core/ops/tensor/unary.h"
#include "models/vision/lcnet.h"
#include "models/vision/text_recognizer.h"

#include <cmath>

namespace ptrain {
namespace {

constexpr int ppocr_height_step = 16, ppocr_width_step = 8;  // px
constexpr int neck_blocks = 2, neck_expansion = 2, local_width = 7;

const std::vector<LcnetStage>& list_recognizer_stages() {
  using enum LcnetStride;
  static constexpr bool excites = true;
  static const std::vector<LcnetStage> stages{
      {"blocks2", {{1, none, excites}}},
      {"blocks3", {{1}, {1}}},
      {"blocks4", {{2, rows}, {2, none, excites}, {2}, {2, none, excites}, {2}, {2, none, excites}, {2}}},
      {"blocks5", {{4, rows}, {4, none, excites}, {4}}}};
  return stages;
}

std::int64_t count_ppocr_steps(int width) { return width / ppocr_width_step; }

void require_ppocr_size(const PpocrRecognizerSpec& spec, const char* key, ImageSize size) {
  if (size.height < ppocr_height_step || size.height % ppocr_height_step != 0 || size.width < ppocr_width_step ||
      size.width % ppocr_width_step != 0) {
    fail_usage(
        "{}: {} reads images whose height is a multiple of {} px and whose width is one of {} px, such as 48x320; got "
        "{}",
        key, spec.name, ppocr_height_step, ppocr_width_step, size);
  }
}

class PpocrRecognizerBuilder final : public LcnetBlocks {
 public:
  PpocrRecognizerBuilder(const PpocrRecognizerSpec& spec, Mode mode)
      : LcnetBlocks(spec, mode, spec.channels), spec_(spec) {}

  BuiltModel build(const Bucket& batch) {
    require_ppocr_size(spec_, "train.phases.image_size", image_size(batch));
    declare_characters(graph_, mode(), batch.rows, spec_.max_length);
    ValueId x = lcnet_stem("backbone.conv1", inputs(batch));
    for (const LcnetStage& stage : list_recognizer_stages()) x = lcnet_stage(stage, x);
    x = neck("head.ctc_encoder.encoder", pool("backbone.pool", x));
    const Initializer start = uniform_start(1 / std::sqrt(static_cast<float>(channels(x))));
    return finish(classifier("head.ctc_head.fc", x, spec_.classes, start, start));
  }

 private:
  /// [N,H,W,C] to [N,1,W/2,C]: means over all rows of pairs of columns.
  ValueId pool(const std::string& name, ValueId x) {
    const Shape shape = graph_.desc(x).shape;
    const Shape pairs{shape[0], shape[1], shape[2] / 2, 2, shape[3]};
    x = add(name + ".pairs", std::make_shared<Reshape>(pairs), {x});
    x = add(name, std::make_shared<Reduce>(ReduceAttributes{ReduceKind::mean, {1, 3}}), {x});
    return add(name + ".row", std::make_shared<Reshape>(Shape{shape[0], 1, shape[2] / 2, shape[3]}), {x});
  }

  /// [N,1,T,C] to [N,T,neck_channels].
  ValueId neck(const std::string& name, ValueId x) {
    const ConvSpec narrow{.channels = spec_.neck_channels, .kernel = 1};
    const auto conv_swish = [&](const std::string& part) {
      return swish(part, conv_norm(part + ".conv", part + ".norm", x, narrow));
    };
    const ValueId skipped = to_columns(name + ".skip_conv.columns", conv_swish(name + ".skip_conv"));
    ValueId y = conv_swish(name + ".conv_reduce");
    y = to_columns(name + ".columns", sum(name + ".add_local", y, mix_columns(name + ".local_conv", y)));
    for (int i = 0; i < neck_blocks; ++i) y = attention_block(fmt::format("{}.svtr_block.{}", name, i), y);
    return sum(name + ".add", layer_norm(name + ".norm", y), skipped);
  }

  ValueId swish(const std::string& name, ValueId x) { return activate(Activation::silu, name + ".swish", x); }

  ValueId to_columns(const std::string& name, ValueId x) {
    const Shape shape = graph_.desc(x).shape;
    return add(name, std::make_shared<Reshape>(Shape{shape[0], shape[2], shape[3]}), {x});
  }

  /// A depthwise convolution over the columns of a single row. Padding is the same on all sides, so that rows of
  /// padding come out beside it.
  ValueId mix_columns(const std::string& name, ValueId x) {
    ConvSpec spec = depthwise(x, 1, 1);
    spec.width = local_width;
    spec.padding = local_width / 2;
    const SliceAttributes row{1, local_width / 2, local_width / 2 + 1};
    x = add(name + ".row", std::make_shared<Slice>(row), {convolution(name + ".0", x, spec)});
    return swish(name, batch_norm(name + ".1", x, NormStart::one));
  }

  ValueId attention_block(const std::string& name, ValueId x) {
    const ValueId attended = attention(name + ".mixer", normalize(name + ".norm1", x));
    x = sum(name + ".add_attention", x, dropout(name + ".mixer.dropout", attended));
    ValueId y = dense(name + ".mlp.fc1", normalize(name + ".norm2", x), neck_expansion * channels(x));
    y = dropout(name + ".mlp.fc1.dropout", swish(name + ".mlp", y));
    return sum(name + ".add", x, dropout(name + ".mlp.fc2.dropout", dense(name + ".mlp.fc2", y, channels(x))));
  }

  ValueId normalize(const std::string& name, ValueId x) {
    constexpr float epsilon = 1e-5f;
    const Shape width{channels(x)};
    return Blocks::layer_norm(name, x, epsilon, make_variable(name + ".weight", width, constant_start(1)),
                              make_variable(name + ".bias", width, constant_start(0)));
  }

  /// Of x [N,T,C]. All columns take part, padding too, as in PaddleOCR.
  ValueId attention(const std::string& name, ValueId x) {
    const Shape shape = graph_.desc(x).shape;
    const std::int64_t rows = shape[0], steps = shape[1], depth = shape[2] / spec_.heads;
    ValueId parts = dense(name + ".qkv", x, 3 * shape[2]);
    parts = add(name + ".heads", std::make_shared<Reshape>(Shape{rows, steps, 3, spec_.heads, depth}), {parts});
    parts = add(name + ".by_head", std::make_shared<Transpose>(std::vector{2, 0, 3, 1, 4}), {parts});
    const auto take = [&](const char* part, std::int64_t i) {
      return add(name + part, std::make_shared<Slice>(SliceAttributes{0, i, i + 1}), {parts});
    };
    const auto transposed = BatchedMatmulAttributes{.b = Orientation::transposed};
    ValueId scores = add(name + ".scores", std::make_shared<BatchedMatmul>(transposed), {take(".q", 0), take(".k", 1)});
    const UnaryAttributes scale{UnaryFunction::affine, {1 / std::sqrt(static_cast<float>(depth)), 0}};
    scores = softmax(name + ".weights", add(name + ".scaled", std::make_shared<Unary>(scale), {scores}));
    const ValueId weights = dropout(name + ".weights.dropout", scores);
    ValueId y =
        add(name + ".means", std::make_shared<BatchedMatmul>(BatchedMatmulAttributes{}), {weights, take(".v", 2)});
    y = add(name + ".by_step", std::make_shared<Transpose>(std::vector{0, 1, 3, 2, 4}), {y});
    return dense(name + ".proj", add(name + ".joined", std::make_shared<Reshape>(shape), {y}), shape[2]);
  }

  const PpocrRecognizerSpec& spec_;
};

}  // namespace

PpocrRecognizerSpec ppocrv6_rec_small_spec(const Config& config, const DatasetInfo& data) {
  PpocrRecognizerSpec spec{{image_spec(config, data)}};
  if (data.max_length > 0) spec.max_length = data.max_length;
  return spec;
}

PpocrRecognizerSpec ppocr_rec_tiny_spec(const Config& config, const DatasetInfo& data) {
  PpocrRecognizerSpec spec = ppocrv6_rec_small_spec(config, data);
  spec.name = "ppocr_rec_tiny";
  spec.channels = 16;
  spec.neck_channels = 24;
  spec.heads = 4;
  return spec;
}

std::unique_ptr<Model> make_ppocr_recognizer(const PpocrRecognizerSpec& spec) {
  require_ppocr_size(spec, "data.image_size", spec.image_size);
  require_steps(spec.name, spec.image_size, count_ppocr_steps(spec.image_size.width), spec.max_length);
  return std::make_unique<ImageModel<PpocrRecognizerBuilder, PpocrRecognizerSpec>>(spec.name, spec);
}

}  // namespace ptrain
