// Every model: a row with its names, what it reads and how it is made.
#pragma once

#include "core/config/model_catalog.h"
#include "core/data/dataset.h"
#include "core/model/model.h"

#include <memory>

namespace ptrain {

struct Config;

/// The rows as the configuration knows them, in the order to list them: for Catalogs.
std::vector<ModelEntry> model_entries();
/// Throws Error{usage} when no model has this name (its own, not one of the others).
const ModelEntry& find_model(std::string_view name);

/// A model to begin with, for texts, for tables or for images of `image_size`, `frames` to a clip where they are of
/// clips.
std::string usual_model(DataKind kind, ImageSize image_size, int frames = 0);

/// What figures of a model are told for: images or clips of 1000 classes, or texts or clicks of two, in the size that
/// configurations default to.
DatasetInfo described_data(const ModelEntry& model);

/// The model that `config` asks for, made to read `data`. Throws Error{usage} when the two do not fit (an image model
/// over text, a vocabulary larger than the embedding table, more classes in the data than in the model).
std::unique_ptr<Model> make_model(const Config& config, const DatasetInfo& data);

}  // namespace ptrain
