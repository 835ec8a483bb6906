#include "models/vision/image_model.h"

namespace ptrain {

Stem stem_for(Stem requested, ImageSize image_size) {
  if (requested != Stem::automatic) return requested;
  return image_size.is_small() ? Stem::small : Stem::imagenet;
}

ImageSpec image_spec(const Config& config, const DatasetInfo& data) {
  const ModelEntry& model = config.model.entry;
  ImageSpec spec;
  spec.classes = config.model.classes;
  spec.image_size = data.image_size;
  spec.stem = stem_for(config.model.stem, data.image_size);
  spec.attention = config.model.attention;
  if (model.reads_key("model.dropout")) spec.dropout = static_cast<float>(config.model.dropout);
  if (model.reads_key("model.stochastic_depth")) {
    spec.stochastic_depth = static_cast<float>(config.model.stochastic_depth);
  }
  spec.pixels = {data.mean, data.stddev};
  return spec;
}

}  // namespace ptrain
