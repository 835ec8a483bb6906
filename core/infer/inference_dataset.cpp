#include "core/infer/inference_dataset.h"

#include "core/infer/inference_sources.h"

#include <fmt/ranges.h>

namespace ptrain {

std::map<std::int64_t, std::string> InferenceDataset::unread() const {
  const std::lock_guard lock(mutex_);
  return unread_;
}

void InferenceDataset::reject(std::int64_t index, const std::string& message) const {
  {
    const std::lock_guard lock(mutex_);
    unread_[index] = message;
  }
  throw BadSample(message);
}

namespace {

std::unique_ptr<InferenceDataset> open_kind(const ModelArtifact& model, const std::vector<std::string>& arguments,
                                            const InferenceDataOptions& options) {
  switch (model.data.kind) {
    case DataKind::image:
      return model.data.frames > 0 ? open_clip_inputs(model, arguments) : open_image_inputs(model, arguments, options);
    case DataKind::text:
      return open_text_inputs(model, arguments, options);
    case DataKind::table:
      return open_table_inputs(model, arguments);
    case DataKind::video:
      return open_video_inputs(model, arguments);
    case DataKind::tokens:
    case DataKind::parallel:
      break;
  }
  fail_usage("{}: is a language model, which generates text (ptrain infer) and has no classes to predict",
             model.folder.string());
}

}  // namespace

std::unique_ptr<InferenceDataset> open_inputs(const ModelArtifact& model, const std::vector<std::string>& arguments,
                                              const InferenceDataOptions& options) {
  auto inputs = open_kind(model, arguments, options);
  if (inputs->size() == 0) fail("nothing to infer: no input in {}", fmt::join(arguments, ", "));
  return inputs;
}

}  // namespace ptrain
