#include "core/infer/inputs.h"

#include "core/infer/input_sources.h"

#include <fmt/ranges.h>

namespace ptrain {

std::map<std::int64_t, std::string> InputSet::unread() const {
  const std::lock_guard lock(mutex_);
  return unread_;
}

void InputSet::refuse(std::int64_t index, const std::string& message) const {
  {
    const std::lock_guard lock(mutex_);
    unread_[index] = message;
  }
  throw BadSample(message);
}

namespace {

std::unique_ptr<InputSet> open_kind(const TrainedModel& model, const std::vector<std::string>& arguments,
                                    const InputOptions& options) {
  switch (model.data.kind) {
    case DataKind::image:
      return model.data.frames > 0 ? open_clip_inputs(model, arguments) : open_image_inputs(model, arguments);
    case DataKind::text:
      return open_text_inputs(model, arguments, options);
    case DataKind::table:
      return open_table_inputs(model, arguments);
    case DataKind::tokens:
      break;
  }
  fail_usage("{}: goes on with texts (ptrain infer), and has no classes to answer with", model.folder.string());
}

}  // namespace

std::unique_ptr<InputSet> open_inputs(const TrainedModel& model, const std::vector<std::string>& arguments,
                                      const InputOptions& options) {
  auto inputs = open_kind(model, arguments, options);
  if (inputs->size() == 0) fail("nothing to infer: no input in {}", fmt::join(arguments, ", "));
  return inputs;
}

}  // namespace ptrain
