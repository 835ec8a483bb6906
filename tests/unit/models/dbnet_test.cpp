// DB's outputs, variables and what it refuses.
#include "models/vision/dbnet.h"

#include "core/data/boxes/text_boxes.h"
#include "tests/error_message.h"

#include <gtest/gtest.h>

#include <set>

namespace ptrain {
namespace dbnet_test {

DbnetSpec published_spec() {
  Config config;
  DatasetInfo data;
  data.classes = 1;
  data.image_size = 640;
  return dbnet_spec(config, data);
}

Bucket make_batch(int height, int width) { return {2, {{extent_names::height, height}, {extent_names::width, width}}}; }

TEST(Dbnet, ComputesThresholdsInTrainingAlone) {
  const auto model = make_dbnet(published_spec());
  const Graph training = model->build(make_batch(64, 96), Mode::training);
  for (const char* name : {tensor_names::logits, tensor_names::threshold_logits}) {
    EXPECT_EQ(training.desc(training.find_output(name)).shape, (Shape{2, 64, 96, 1})) << name;
  }
  const Graph deployed = model->build(make_batch(64, 96), Mode::deployment);
  EXPECT_EQ(deployed.find_output(tensor_names::threshold_logits), no_value);
}

TEST(Dbnet, TakesItsBackboneFromAClassifiersFile) {
  std::int64_t count = 0;
  std::set<std::string> backbone;
  for (const WeightMapping& mapping : make_dbnet(published_spec())->weights()) {
    if (!is_running_statistic(mapping.variable)) count += mapping.external_shape.count();
    if (mapping.part == WeightMapping::Part::body) backbone.insert(mapping.other_names.at(0));
  }
  EXPECT_TRUE(backbone.contains("conv1.weight"));
  EXPECT_TRUE(backbone.contains("layer4.1.bn2.running_var"));
  // The ResNet's 11,176,512; 1x1 and 3x3 convolutions of the pyramid; two heads.
  const std::int64_t pyramid = (64 + 128 + 256 + 512 + 4) * 256 + 4 * (256 * 9 + 1) * 64;
  const std::int64_t head = 256 * 9 * 64 + 2 * 64 + (64 * 4 + 1) * 64 + 2 * 64 + 64 * 4 + 1;
  EXPECT_EQ(count, 11'176'512 + pyramid + 2 * head);
}

TEST(Dbnet, RefusesSizesThatAreNoMultiplesOfItsStride) {
  const auto model = make_dbnet(published_spec());
  EXPECT_EQ(get_error([&] { model->build(make_batch(64, 100), Mode::training); }, ExitCode::usage),
            "data.image_size or train.multi_scale: dbnet_resnet18 needs multiples of 32 px, got 64x100");
}

}  // namespace dbnet_test
}  // namespace ptrain
