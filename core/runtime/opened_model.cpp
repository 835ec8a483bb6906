#include "core/runtime/opened_model.h"

#include "core/base/errors.h"

namespace ptrain {

OpenedModel open_model(const std::filesystem::path& folder, ModelMaker make) {
  OpenedModel opened;
  opened.trained = open_trained_model(folder);
  try {
    opened.model = make(opened.trained.config, opened.trained.data);
  } catch (const Error& error) {
    fail("{}: {}", (opened.trained.folder / model_files::document).string(), error.what());
  }
  require_same_model(opened.trained, *opened.model);
  return opened;
}

}  // namespace ptrain
