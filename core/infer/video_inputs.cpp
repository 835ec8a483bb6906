// Reads videos in YouTube-8M's records, with or without labels.
#include "core/data/video/video_records.h"
#include "core/infer/inference_sources.h"

namespace ptrain {
namespace {

class VideoInputs final : public InferenceDataset {
 public:
  VideoInputs(const DatasetInfo& data, const std::vector<std::filesystem::path>& files) : videos_(files) {
    info_ = data;
    for (std::int64_t video = 0; video < videos_.size(); ++video) names_.push_back(videos_.place(video));
  }

  std::int64_t size() const override { return videos_.size(); }
  const std::string& name(std::int64_t index) const override { return names_[static_cast<std::size_t>(index)]; }
  std::int32_t label(std::int64_t) const override { return no_label; }

  void load(std::int64_t index, SampleRandom, Scratch& scratch, const SampleRow& out) const override {
    try {
      videos_.load(index, scratch.file, out);
    } catch (const Error& error) {
      reject(index, error.what());
    }
  }

 private:
  VideoRecords videos_;
  std::vector<std::string> names_;
};

}  // namespace

std::unique_ptr<InferenceDataset> open_video_inputs(const ModelArtifact& model,
                                                    const std::vector<std::string>& arguments) {
  std::vector<std::filesystem::path> files;
  for (const std::string& argument : arguments) {
    const std::vector<std::string> paths = argument == "-" ? read_paths() : std::vector{argument};
    files.insert(files.end(), paths.begin(), paths.end());
  }
  return std::make_unique<VideoInputs>(model.data, files);
}

}  // namespace ptrain
