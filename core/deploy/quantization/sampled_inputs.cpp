// A subset of an input data set.
#include "core/deploy/quantization/quantizer.h"

namespace ptrain {
namespace {

class SampledInputs final : public InferenceDataset {
 public:
  SampledInputs(const InferenceDataset& all, std::int64_t samples) : all_(all), samples_(samples) {
    info_ = all.info();
  }

  std::int64_t size() const override { return samples_; }
  const std::string& name(std::int64_t index) const override { return all_.name(place(index)); }
  std::int32_t label(std::int64_t index) const override { return all_.label(place(index)); }
  std::vector<TensorSpec> tensors(const ImageForm& form) const override { return all_.tensors(form); }
  void load(std::int64_t index, SampleRandom random, Scratch& scratch, const SampleRow& out) const override {
    all_.load(place(index), random, scratch, out);
  }

 private:
  std::int64_t place(std::int64_t index) const { return index * all_.size() / samples_; }

  const InferenceDataset& all_;
  std::int64_t samples_;
};

}  // namespace

std::unique_ptr<InferenceDataset> sample_evenly(const InferenceDataset& inputs, std::int64_t samples) {
  return std::make_unique<SampledInputs>(inputs, std::min(samples, inputs.size()));
}

}  // namespace ptrain
