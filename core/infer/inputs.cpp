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

std::unique_ptr<InputSet> open_inputs(const TrainedModel& model, const std::vector<std::string>& arguments,
                                      const InputOptions& options) {
  auto inputs = model.data.kind == DataKind::text ? open_text_inputs(model, arguments, options)
                : model.data.frames > 0           ? open_clip_inputs(model, arguments)
                                                  : open_image_inputs(model, arguments);
  if (inputs->size() == 0) fail("nothing to infer: no input in {}", fmt::join(arguments, ", "));
  return inputs;
}

}  // namespace ptrain
