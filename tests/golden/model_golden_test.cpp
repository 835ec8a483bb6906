// Whole models against PyTorch in double precision: every gradient of the first step, then ten losses.
// With PTRAIN_GOLDEN_DUMP set to a folder, the full gradients, the trained weights and their logits are also written
// there, for parity.py; with PTRAIN_GOLDEN_AMP=O1 or O2 as well, only the gradients of that level, which are not
// compared with anything.
#include "core/base/parallel.h"
#include "core/io/safetensors.h"
#include "tests/case_name.h"
#include "tests/golden/golden_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <iostream>

namespace ptrain::golden {
namespace {

constexpr double negligible_tolerance = 1e-5;  // of the largest gradient's norm
constexpr double loss_tolerance = 1e-3;        // relative, each step

double root_mean_square(const std::array<double, sketches>& sums) { return relative_error(sums, {}, 1.0); }

/// Largest relative error; fails for every gradient out of tolerance.
double compare_gradients(const Golden& golden, const GoldenRun& run) {
  double largest_norm = 0;
  for (const Gradient& expected : golden.gradients) largest_norm = std::max(largest_norm, expected.norm);
  double worst = 0;
  for (const Gradient& expected : golden.gradients) {
    const std::vector<float> values = run.gradient(expected.name);
    EXPECT_EQ(static_cast<std::int64_t>(values.size()), expected.shape.count()) << expected.name;
    const std::array<double, sketches> sums = sketch(expected.name, values);
    if (expected.negligible) {
      EXPECT_LE(root_mean_square(sums), negligible_tolerance * largest_norm) << expected.name;
      continue;
    }
    const double error = relative_error(sums, expected.sums, expected.norm);
    EXPECT_LE(error, std::max(golden.gradient_tolerance, 2 * golden.pytorch_error)) << expected.name;
    worst = std::max(worst, error);
  }
  return worst;
}

/// What parity.py compares in full; nothing is kept unless PTRAIN_GOLDEN_DUMP asks for it.
class Dump {
 public:
  void keep_gradients(const Golden& golden, const GoldenRun& run) {
    if (!on()) return;
    for (const Gradient& gradient : golden.gradients) gradients_.push_back(run.gradient(gradient.name));
  }

  bool on() const { return folder_ != nullptr; }

  void write(const Golden& golden, GoldenRun& run, const std::vector<float>& losses) const {
    if (!on()) return;
    const auto line = [](const std::vector<float>& values) { return Shape{static_cast<std::int64_t>(values.size())}; };
    const std::vector<float> logits = run.evaluate();
    run.save(std::filesystem::path(folder_) / (golden.name + ".weights.safetensors"));
    write_tensors(golden, {{"losses", DType::f32, line(losses), std::as_bytes(std::span(losses))},
                           {"logits", DType::f32, line(logits), std::as_bytes(std::span(logits))}});
  }

  void write_gradients(const Golden& golden) const { write_tensors(golden, {}); }

 private:
  void write_tensors(const Golden& golden, std::vector<NamedTensor> tensors) const {
    for (std::size_t i = 0; i < gradients_.size(); ++i) {
      const Gradient& gradient = golden.gradients[i];
      tensors.push_back({"grad." + gradient.name, DType::f32, gradient.shape, std::as_bytes(std::span(gradients_[i]))});
    }
    write_safetensors(std::filesystem::path(folder_) / (golden.name + ".safetensors"), tensors);
  }

  const char* folder_ = std::getenv("PTRAIN_GOLDEN_DUMP");
  std::vector<std::vector<float>> gradients_;
};

/// Checks the first step's gradients and every step's loss, which it returns; `dump` keeps the gradients.
std::vector<float> expect_pytorchs(const Golden& golden, GoldenRun& run, Dump& dump) {
  std::vector<float> losses{run.step(0)};
  std::cout << golden.name << ": largest gradient error " << compare_gradients(golden, run);
  dump.keep_gradients(golden, run);
  double worst_loss = 0;
  for (int step = 0; step < static_cast<int>(golden.losses.size()); ++step) {
    if (step > 0) losses.push_back(run.step(step));
    const double expected = golden.losses.at(static_cast<std::size_t>(step));
    const double error = std::abs(losses.back() - expected) / std::abs(expected);
    EXPECT_LE(error, loss_tolerance) << "step " << step;
    worst_loss = std::max(worst_loss, error);
  }
  std::cout << ", largest loss error " << worst_loss << '\n';
  return losses;
}

struct Case {
  const char* model;
  Fusion fusion;
};
void PrintTo(const Case& c, std::ostream* out) {
  constexpr std::array<const char*, 3> fusions{"unfused", "fused", "always fused"};
  *out << c.model << ' ' << fusions[static_cast<std::size_t>(c.fusion)];
}

class ModelGolden : public ::testing::TestWithParam<Case> {};

TEST_P(ModelGolden, GradientsAndLossesAreThoseOfPyTorch) {
  set_thread_count(1);  // small kernels on several threads only wait for each other on a busy machine
  const auto& [name, fusion] = GetParam();
  const Golden golden = load_golden(name);
  Dump dump;
  const char* level = std::getenv("PTRAIN_GOLDEN_AMP");
  if (dump.on() && level != nullptr) {
    GoldenRun run(golden, fusion, choice_from_name<AmpLevel>(level).value());
    run.step(0);
    dump.keep_gradients(golden, run);
    return dump.write_gradients(golden);
  }
  GoldenRun run(golden, fusion);
  const std::vector<float> losses = expect_pytorchs(golden, run, dump);
  dump.write(golden, run, losses);
}

class PackedGolden : public ::testing::TestWithParam<const char*> {};

TEST_P(PackedGolden, SequencesGiveTheGradientsAndLossesOfPyTorchsPaddedOnes) {
  set_thread_count(1);
  const Golden golden = load_golden(GetParam(), Padding::none);
  ASSERT_GT(
      golden.model->bucket_for({golden.steps.front().batch, {{extent_names::tokens, 1}}}, Mode::training).tokens(), 0)
      << "packed";
  GoldenRun run(golden, Fusion::full);
  Dump unwritten;
  expect_pytorchs(golden, run, unwritten);
}

class MaskRcnnGolden : public ::testing::TestWithParam<const char*> {};

TEST_P(MaskRcnnGolden, FindsTheObjectsAndMasksOfTorchvision) {
  set_thread_count(1);
  const Golden golden = load_golden(GetParam());
  const std::vector<std::vector<DetectedBox>> images = GoldenRun(golden, Fusion::full).find_objects();
  std::size_t count = 0;
  for (const std::vector<DetectedBox>& image : images) count += image.size();
  ASSERT_EQ(count, golden.found.size());
  EXPECT_GT(count, 0U);
  std::vector<std::size_t> next(images.size());
  for (const FoundObject& expected : golden.found) {
    const auto image = static_cast<std::size_t>(expected.image);
    const DetectedBox& one = images.at(image).at(next[image]++);
    const auto& [left, top, right, bottom] = expected.corners;
    EXPECT_EQ(one.category, expected.label);
    EXPECT_NEAR(one.score, expected.score, 1e-4);
    const CocoBox box{left, top, right - left, bottom - top};
    for (std::size_t i = 0; i < box.size(); ++i) EXPECT_NEAR(one.box[i], box[i], 1e-2);
    EXPECT_NEAR(static_cast<double>(one.mask.area()), expected.mask_area, 0.01 * expected.mask_area + 2);
  }
}

INSTANTIATE_TEST_SUITE_P(All, MaskRcnnGolden, ::testing::Values("maskrcnn_resnet50_fpn", "maskrcnn_resnet50_c4"));

INSTANTIATE_TEST_SUITE_P(All, PackedGolden, ::testing::Values("minilm", "llama", "qwen2", "qwen3", "llama_lora"));

INSTANTIATE_TEST_SUITE_P(
    All, ModelGolden,
    ::testing::Values(
        Case{"resnet50", Fusion::full}, Case{"resnet50", Fusion::off}, Case{"resnet50", Fusion::always},
        Case{"resnet50_phases", Fusion::full}, Case{"resnet50_vd", Fusion::full}, Case{"resnet18_blur", Fusion::full},
        Case{"resnet18_blur", Fusion::off}, Case{"resnext50_32x4d", Fusion::full},
        Case{"wide_resnet50_2", Fusion::full}, Case{"mobilenet_v1", Fusion::full}, Case{"mobilenet_v2", Fusion::full},
        Case{"mobilenet_v3_large", Fusion::full}, Case{"mobilenet_v3_large", Fusion::off},
        Case{"efficientnet_b0", Fusion::full}, Case{"efficientnet_b0", Fusion::off},
        Case{"regnet_y_400mf", Fusion::full}, Case{"convnext_tiny", Fusion::full}, Case{"convnext_tiny", Fusion::off},
        Case{"vit_b_16", Fusion::full}, Case{"deit_small", Fusion::full}, Case{"deit_small", Fusion::off},
        Case{"vgg16", Fusion::full}, Case{"vgg16_bn", Fusion::full}, Case{"tsn_resnet50", Fusion::full},
        Case{"stnet_resnet50", Fusion::full}, Case{"stnet_resnet50", Fusion::off},
        Case{"retinanet_resnet50_fpn", Fusion::full}, Case{"maskrcnn_resnet50_fpn", Fusion::full},
        Case{"maskrcnn_resnet50_c4", Fusion::full}, Case{"ppyoloe_tiny", Fusion::full},
        Case{"ppyoloe_tiny", Fusion::off}, Case{"deeplabv3_resnet50", Fusion::full},
        Case{"dbnet_resnet18", Fusion::full}, Case{"dbnet_resnet18", Fusion::off}, Case{"ppocr_det_tiny", Fusion::full},
        Case{"ppocr_det_tiny", Fusion::off}, Case{"crnn_tiny", Fusion::full}, Case{"crnn_tiny", Fusion::off},
        Case{"ppocr_rec_tiny", Fusion::full}, Case{"ppocr_rec_tiny", Fusion::off}, Case{"minilm", Fusion::full},
        Case{"minilm", Fusion::off}, Case{"distilbert", Fusion::full}, Case{"ernie", Fusion::full},
        Case{"roberta", Fusion::full}, Case{"wide_deep", Fusion::full}, Case{"wide_deep", Fusion::off},
        Case{"ctr_dnn", Fusion::full}, Case{"deepfm", Fusion::full}, Case{"deepfm", Fusion::off},
        Case{"dlrm_dcnv2", Fusion::full}, Case{"wide_deep_mean", Fusion::full}, Case{"wide_deep_mean", Fusion::off},
        Case{"dlrm_dcnv2_bags", Fusion::full}, Case{"nextvlad", Fusion::full}, Case{"nextvlad", Fusion::off},
        Case{"attention_cluster", Fusion::full}, Case{"attention_cluster", Fusion::off},
        Case{"attention_lstm", Fusion::full}, Case{"attention_lstm", Fusion::off}, Case{"gru4rec", Fusion::full},
        Case{"gru4rec", Fusion::off}, Case{"ssr", Fusion::full}, Case{"ssr", Fusion::off}, Case{"gpt2", Fusion::full},
        Case{"gpt2", Fusion::off}, Case{"llama", Fusion::full}, Case{"llama", Fusion::off},
        Case{"transformer", Fusion::full}, Case{"transformer", Fusion::off}, Case{"qwen2", Fusion::full},
        Case{"qwen3", Fusion::full}, Case{"qwen3", Fusion::off}, Case{"llama_lora", Fusion::full},
        Case{"llama_lora", Fusion::off}, Case{"gpt2_lora", Fusion::full}, Case{"bert_base", Fusion::full}),
    testing::case_name);

}  // namespace
}  // namespace ptrain::golden
