// PP-OCR's recogniser: size, names, steps and what it refuses.
#include "models/vision/ppocr_recognizer.h"

#include "core/data/tensor_names.h"
#include "tests/error_message.h"

#include <gtest/gtest.h>

#include <set>

namespace ptrain {
namespace ppocr_recognizer_test {

PpocrRecognizerSpec published_spec() {
  PpocrRecognizerSpec spec;
  spec.classes = 18'710;
  spec.image_size = ImageSize(48, 320);
  spec.max_length = 25;
  return spec;
}

TEST(PpocrRecognizer, HasThePublishedNumberOfParametersAndPaddlesNames) {
  std::set<std::string> names;
  std::int64_t count = 0;
  for (const WeightMapping& mapping : make_ppocr_recognizer(published_spec())->weights()) {
    names.insert(mapping.external);
    if (!is_running_statistic(mapping.variable)) count += mapping.external_shape.count();
  }
  EXPECT_EQ(count, 5'277'446);
  for (const char* name :
       {"backbone.conv1.stem2a.bn.running_var", "backbone.blocks2.0.token_mixer.rep_dw.conv.weight",
        "backbone.blocks4.0.token_mixer.dw_conv.bn.weight", "backbone.blocks4.1.token_mixer.se.conv2.bias",
        "backbone.blocks5.2.channel_mixer.compress.conv.weight", "head.ctc_encoder.encoder.skip_conv.norm.bias",
        "head.ctc_encoder.encoder.local_conv.0.weight", "head.ctc_encoder.encoder.svtr_block.1.mixer.qkv.weight",
        "head.ctc_encoder.encoder.norm.weight", "head.ctc_head.fc.bias"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(PpocrRecognizer, ReadsAStepForEachEightColumns) {
  for (const ImageSize size : {ImageSize(48, 320), ImageSize(32, 104), ImageSize(16, 8)}) {
    const Bucket batch(3, {{extent_names::height, size.height}, {extent_names::width, size.width}});
    const Graph graph = make_ppocr_recognizer(published_spec())->build(batch, Mode::training);
    EXPECT_EQ(graph.desc(graph.find_output(tensor_names::logits)).shape, (Shape{3, size.width / 8, 18'710}));
    EXPECT_EQ(graph.desc(graph.find_value(tensor_names::characters)).shape, (Shape{3, 25}));
  }
  EXPECT_EQ(make_ppocr_recognizer(published_spec())->build(1, Mode::deployment).find_value(tensor_names::characters),
            no_value);
}

TEST(PpocrRecognizer, RefusesOtherSizesAndTextsLongerThanItsSteps) {
  PpocrRecognizerSpec spec = published_spec();
  const auto refuse = [&] { return get_error([&] { make_ppocr_recognizer(spec); }, ExitCode::usage); };
  for (const ImageSize size : {ImageSize(40, 320), ImageSize(48, 100)}) {
    spec.image_size = size;
    EXPECT_EQ(refuse(),
              fmt::format("data.image_size: ppocrv6_rec_small reads images whose height is a multiple of 16 px "
                          "and whose width is one of 8 px, such as 48x320; got {}",
                          size));
  }
  spec.image_size = ImageSize(48, 320);
  spec.max_length = 41;
  EXPECT_EQ(
      refuse(),
      "data.max_length: 41 characters need 41 steps, but ppocrv6_rec_small makes 40 of images 320 px wide; expected "
      "at most 40, or wider images (data.image_size)");
}

}  // namespace ppocr_recognizer_test
}  // namespace ptrain
