// Evaluations of images and of their mirror images.
#include "core/train/evaluator.h"
#include "core/data/tensor_names.h"
#include "tests/unit/train/small_training.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ptrain {
namespace {

using namespace testing;

enum class Side { as_they_are, mirrored };

/// The images of another data set, the labels by number.
class Mirror final : public Dataset {
 public:
  Mirror(const Dataset& images, Side side) : images_(images), side_(side) { info_ = images.info(); }
  std::int64_t size() const override { return images_.size(); }
  void load(std::int64_t index, SampleRandom random, Scratch& scratch, const SampleRow& out) const override {
    images_.load(index, random, scratch, out);
    if (side_ == Side::as_they_are) return;
    const auto pixels = out.at<std::uint8_t>(tensor_names::images);
    const std::ptrdiff_t width = std::ptrdiff_t{3} * info_.image_size.width;
    for (auto row = pixels.begin(); row != pixels.end(); row += width) {
      for (std::ptrdiff_t x = 0; x < info_.image_size.width / 2; ++x) {
        std::swap_ranges(row + 3 * x, row + 3 * x + 3, row + width - 3 * x - 3);
      }
    }
  }

  std::int32_t label(std::int64_t index) const override { return images_.label(index); }

 private:
  const Dataset& images_;
  Side side_;
};

double get_top1(const Config& config, Side side) {
  set_thread_count(1);
  const auto training = open_dataset(data_settings(config), Split::train);
  const auto evaluation = open_dataset(data_settings(config), Split::eval);
  const Mirror images(*evaluation, side);
  const auto model = small_model(config, training->info());
  const auto backend = make_test_backend();
  NoteKeeper observer;
  Trainer trainer(config, "hash", *backend, *model, *training, &images, observer);
  trainer.compile();
  trainer.prepare();
  trainer.train();
  return get_value(trainer.result().evaluations.at(0), "top1");
}

TEST(Evaluator, GivesAnImageAndItsMirrorImageTheSameAnswerByBoth) {
  Config config = resnet_config();
  config.data.synthetic_samples = 512;
  config.data.image_size = 12;
  config.train.steps = 24;
  config.eval.every_epochs = 1;
  EXPECT_NE(get_top1(config, Side::as_they_are), get_top1(config, Side::mirrored)) << "or this shows nothing";
  config.eval.flip = true;
  EXPECT_EQ(get_top1(config, Side::as_they_are), get_top1(config, Side::mirrored));
  config.data.image_size = {8, 14};
  EXPECT_EQ(get_top1(config, Side::as_they_are), get_top1(config, Side::mirrored)) << "whatever their sides";
}

}  // namespace
}  // namespace ptrain
