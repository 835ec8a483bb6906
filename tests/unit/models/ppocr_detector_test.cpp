// PP-OCR's detector: its outputs, size, names and what it refuses.
#include "models/vision/ppocr_detector.h"

#include "core/data/boxes/text_boxes.h"
#include "tests/error_message.h"

#include <gtest/gtest.h>

#include <set>

namespace ptrain {
namespace ppocr_detector_test {

PpocrDetectorSpec published_spec() {
  PpocrDetectorSpec spec;
  spec.classes = 1;
  spec.image_size = 736;
  return spec;
}

Bucket make_batch(int height, int width) { return {2, {{extent_names::height, height}, {extent_names::width, width}}}; }

TEST(PpocrDetector, HasThePublishedNumberOfParametersAndPaddlesNames) {
  std::set<std::string> names;
  std::int64_t count = 0, thresholds = 0;
  for (const WeightMapping& mapping : make_ppocr_detector(published_spec())->weights()) {
    names.insert(mapping.external);
    if (is_running_statistic(mapping.variable)) continue;
    count += mapping.external_shape.count();
    if (mapping.external.starts_with("head.thresh.")) thresholds += mapping.external_shape.count();
  }
  // The file has a bias for each norm here, which has a scale too, and so has a transposed convolution; it lacks the
  // thresholds.
  EXPECT_EQ(count - thresholds, 2'453'353 + 9'540 + 24);
  for (const char* name :
       {"backbone.stem.stem2a.bn.running_var", "backbone.blocks_s1.0.token_mixer.rep_dw.conv.weight",
        "backbone.blocks_s2.0.token_mixer.dw_conv.bn.weight", "backbone.blocks_s3.3.token_mixer.se.conv2.bias",
        "backbone.blocks_s4.2.channel_mixer.compress.conv.weight", "neck.ins_conv.3.in_conv.weight",
        "neck.ins_conv.0.se_block.conv1.bias", "neck.inp_conv_dw.2.lk_origin.weight",
        "neck.inp_conv_dw.2.origin_bn.bias", "neck.inp_conv_pw.1.weight", "neck.inp_conv_se.1.conv2.weight",
        "head.binarize.conv_bn2.weight", "head.thresh.conv3.bias"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(PpocrDetector, ComputesThresholdsInTrainingAlone) {
  const auto model = make_ppocr_detector(published_spec());
  const Graph training = model->build(make_batch(64, 96), Mode::training);
  for (const char* name : {tensor_names::logits, tensor_names::threshold_logits}) {
    EXPECT_EQ(training.desc(training.find_output(name)).shape, (Shape{2, 64, 96, 1})) << name;
  }
  const Graph deployed = model->build(make_batch(64, 96), Mode::deployment);
  EXPECT_EQ(deployed.find_output(tensor_names::threshold_logits), no_value);
}

TEST(PpocrDetector, RefusesSizesThatAreNoMultiplesOfItsStride) {
  const auto model = make_ppocr_detector(published_spec());
  EXPECT_EQ(get_error([&] { model->build(make_batch(80, 96), Mode::training); }, ExitCode::usage),
            "data.image_size or train.multi_scale: ppocrv6_det_small needs multiples of 32 px, got 80x96");
}

}  // namespace ppocr_detector_test
}  // namespace ptrain
