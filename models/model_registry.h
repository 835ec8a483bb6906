// Every model: a row with its names, its kind of input and its factory.
#pragma once

#include "core/config/model_catalog.h"
#include "core/data/dataset.h"
#include "core/model/model.h"

#include <memory>

namespace ptrain {

struct Config;

/// The rows for the configuration's Catalogs, in the order of listings.
std::vector<ModelEntry> model_entries();
/// The rows of models that are read from GGUF files, whose architectures have their names.
std::vector<ModelEntry> gguf_model_entries();
/// Throws Error{usage} when no model has this name (aliases do not count).
const ModelEntry& find_model(std::string_view name);

/// The default model for texts, for tables or for images of `image_size`; for clips, `frames` is their number.
/// `has_few_samples`: too few to teach a large network from random weights.
std::string find_default_model(DataKind kind, ImageSize image_size, int frames = 0, bool has_few_samples = false);

/// The data that a model's listed parameters and arithmetic refer to: images or clips of 1000 classes, or texts or
/// clicks of two, in the default size of configurations.
DatasetInfo described_data(const ModelEntry& model);

/// Makes the model of `config` for `data`. Throws Error{usage} when the two do not fit (an image model over text, a
/// vocabulary larger than the embedding table, more classes in the data than in the model).
std::unique_ptr<Model> make_model(const Config& config, const DatasetInfo& data);

}  // namespace ptrain
