// The evaluation samples of data sets with boxes.
#include "core/data/sources.h"
#include "core/infer/inference_sources.h"

#include <filesystem>

namespace ptrain {
namespace {

class AnnotatedInputs final : public InferenceDataset {
 public:
  AnnotatedInputs(const DatasetInfo& data, std::unique_ptr<Dataset> samples) : samples_(std::move(samples)) {
    info_ = data;
    info_.category_ids = samples_->info().category_ids;
    notes_ = samples_->notes();
    for (std::int64_t i = 0; i < samples_->size(); ++i) names_.push_back(samples_->origin(i).file);
  }

  std::int64_t size() const override { return samples_->size(); }
  const std::string& name(std::int64_t index) const override { return names_[static_cast<std::size_t>(index)]; }
  std::int32_t label(std::int64_t index) const override { return samples_->label(index); }
  SampleOrigin origin(std::int64_t index) const override { return samples_->origin(index); }
  std::vector<TensorSpec> tensors(const ImageForm& form) const override { return samples_->tensors(form); }

  void load(std::int64_t index, SampleRandom random, Scratch& scratch, const SampleRow& out) const override {
    try {
      samples_->load(index, random, scratch, out);
    } catch (const Error& error) {
      reject(index, error.what());
    }
  }

 private:
  std::unique_ptr<Dataset> samples_;
  std::vector<std::string> names_;
};

}  // namespace

bool holds_annotations(const std::string& path) {
  return std::filesystem::is_directory(path) && (holds_coco(path) || holds_voc(path));
}

std::unique_ptr<InferenceDataset> open_annotated_inputs(const ModelArtifact& model,
                                                        const std::vector<std::string>& arguments) {
  const std::string& path = arguments.front();
  if (arguments.size() > 1) fail_usage("a data set with boxes has to be the only input, got {}", listed(arguments));
  const bool is_coco = holds_coco(path);
  DataSettings settings{.path = path, .image_size = model.data.image_size, .classes = model.data.classes};
  settings.targets = is_coco ? model.data.targets : std::vector<std::string>{tensor_names::annotations};
  std::unique_ptr<Dataset> samples = is_coco ? open_coco(settings, Split::eval) : open_voc(settings, Split::eval);
  if (samples->info().class_names != model.data.class_names) {
    fail("{}: has the classes {}, which differ from the model's {}", path, listed(samples->info().class_names),
         listed(model.data.class_names));
  }
  return std::make_unique<AnnotatedInputs>(model.data, std::move(samples));
}

}  // namespace ptrain
