// CRNN's size, names, steps and what it refuses.
#include "models/vision/crnn.h"

#include "core/data/tensor_names.h"
#include "tests/error_message.h"

#include <gtest/gtest.h>

#include <set>

namespace ptrain {
namespace crnn_test {

CrnnSpec published_spec() {
  CrnnSpec spec;
  spec.classes = 37;
  spec.image_size = ImageSize(32, 100);
  spec.max_length = 20;
  return spec;
}

TEST(Crnn, HasThePublishedNumberOfParametersAndTorchsNames) {
  std::set<std::string> names;
  std::int64_t count = 0;
  for (const WeightMapping& mapping : make_crnn(published_spec())->weights()) {
    names.insert(mapping.external);
    if (!is_running_statistic(mapping.variable)) count += mapping.external_shape.count();
  }
  // Of three colours; the paper says 8.3 M.
  EXPECT_EQ(count, 8'723'877);
  for (const char* name : {"cnn.conv0.weight", "cnn.conv6.bias", "cnn.batchnorm4.running_mean", "cnn.batchnorm5.weight",
                           "rnn.weight_ih_l0", "rnn.weight_hh_l0_reverse", "rnn.bias_ih_l1", "rnn.bias_hh_l1_reverse",
                           "fc.weight", "fc.bias"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(Crnn, ReadsAStepForEachFourColumns) {
  for (const ImageSize size : {ImageSize(32, 100), ImageSize(48, 320), ImageSize(32, 8)}) {
    const Bucket batch(3, {{extent_names::height, size.height}, {extent_names::width, size.width}});
    const Graph graph = make_crnn(published_spec())->build(batch, Mode::training);
    EXPECT_EQ(graph.desc(graph.find_output(tensor_names::logits)).shape, (Shape{3, size.width / 4 - 1, 37}));
    EXPECT_EQ(graph.desc(graph.find_value(tensor_names::characters)).shape, (Shape{3, 20}));
  }
  EXPECT_EQ(make_crnn(published_spec())->build(1, Mode::deployment).find_value(tensor_names::characters), no_value);
}

TEST(Crnn, RefusesOtherHeightsAndTextsLongerThanItsSteps) {
  CrnnSpec spec = published_spec();
  const auto refuse = [&] { return get_error([&] { make_crnn(spec); }, ExitCode::usage); };
  spec.image_size = ImageSize(40, 100);
  EXPECT_EQ(
      refuse(),
      "data.image_size: crnn reads images whose height is a multiple of 16 px, from 32 px on, such as 32x100; got "
      "40x100");
  spec.image_size = ImageSize(32, 7);
  EXPECT_EQ(refuse(), "data.image_size: crnn reads images from 8 px of width on, got 32x7");
  spec.image_size = ImageSize(32, 100);
  spec.max_length = 25;
  EXPECT_EQ(
      refuse(),
      "data.max_length: 25 characters need 25 steps, but crnn makes 24 of images 100 px wide; expected at most 24, "
      "or wider images (data.image_size)");
}

}  // namespace crnn_test
}  // namespace ptrain
