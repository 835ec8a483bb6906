// A golden (tests/golden/<case>.safetensors) and the same training in this program: same weights, batches and
// optimizer.
#pragma once

#include "core/passes/pipeline.h"
#include "core/runtime/plan_set.h"
#include "core/tasks/detected_box.h"
#include "models/clicks/click_model.h"
#include "models/text/bert.h"
#include "tests/golden/sketch.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ptrain::golden {

struct Gradient {
  std::string name;  // PyTorch's
  Shape shape;       // PyTorch's layout
  double norm = 0;
  bool negligible = false;  // zero but for rounding
  std::array<double, sketches> sums{};
};

struct GoldenStep {
  int batch = 0;
  int size = 0;         // px, or tokens
  float lr_factor = 1;  // of the learning rate
};

/// An object that PyTorch finds in the first batch, by the weights as they start.
struct FoundObject {
  std::int64_t image = 0, label = 0;
  double score = 0;
  std::array<double, 4> corners{};  // px
  double mask_area = 0;             // px
};

struct Golden {
  std::string name;
  std::vector<GoldenStep> steps;
  int classes = 0;
  int frames = 1;         // images of a sample
  bool pixels = false;    // each pixel has a class
  int vocab_size = 0;     // text only
  ClickSpec clicks = {};  // tables only
  OptimizerSettings optimizer;
  std::vector<ParameterGroup> groups;  // of frozen weights
  float learning_rate = 0;
  std::vector<double> losses;
  double gradient_tolerance = 0;    // relative L2, each tensor; or twice pytorch_error
  double pytorch_error = 0;         // largest relative L2 error of a gradient in PyTorch's own fp32
  std::vector<Gradient> gradients;  // of the first step
  std::vector<FoundObject> found;   // by detectors with masks
  std::unique_ptr<Model> model;     // without dropout
};

/// `padding` is how the model takes text. Throws when the file is absent or lacks a field.
Golden load_golden(const std::string& name, Padding padding = Padding::max_length);

/// Training on the backend under test.
class GoldenRun {
 public:
  /// `golden` must outlive the run.
  GoldenRun(const Golden& golden, Fusion fusion, AmpLevel level = AmpLevel::O0);

  /// Trains on batch `step`; the loss before the update.
  float step(int step);
  /// The last step's gradient in PyTorch's layout. Throws std::logic_error when no parameter has that name there, or
  /// it is not trained.
  std::vector<float> gradient(std::string_view name) const;
  /// Logits of the first batch at evaluation, as the weights are now; of detectors with masks the corners of boxes.
  std::vector<float> evaluate();
  /// The objects in that batch, image by image; of detectors with masks.
  std::vector<std::vector<DetectedBox>> find_objects();
  /// Writes the weights, under the names that files have.
  void save(const std::filesystem::path& path) const;

 private:
  Batch batch(int step) const;
  /// All outputs of the first batch at evaluation.
  Batch read_answers(const Batch& fed);

  const Golden& golden_;
  std::unique_ptr<Backend> backend_;
  Variables variables_;
  std::vector<WeightMapping> weights_;
  std::optional<PlanSet> plans_;
  Plan* plan_ = nullptr;  // the last step's
  std::optional<PlanMemory> memory_;
};

}  // namespace ptrain::golden
