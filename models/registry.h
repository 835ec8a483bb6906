// From configuration to model.
#pragma once

#include "core/config/config.h"
#include "core/data/dataset.h"
#include "core/model/model.h"

namespace ptrain {

/// Names that `model.name` takes, in the order to list them.
std::vector<std::string> model_names();

/// The model that `config` asks for, made to read `data`. Throws Error{usage} when the two do not fit (an image model
/// over text, a vocabulary larger than the embedding table, more classes in the data than in the model).
std::unique_ptr<Model> make_model(const Config& config, const DatasetInfo& data);

}  // namespace ptrain
