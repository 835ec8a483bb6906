// Names of sources and augmentations, and the choice among the sources.
#include "core/data/factory.h"

#include "core/data/sources.h"

#include <utility>

namespace ptrain {
namespace {

constexpr std::pair<const char*, SourceKind> sources[] = {
    {"idx", SourceKind::idx},
    {"image_folder", SourceKind::image_folder},
    {"packed", SourceKind::packed},
    {"cifar", SourceKind::cifar},
    {"tsv", SourceKind::tsv},
    {"synthetic", SourceKind::synthetic_image},
    {"synthetic_text", SourceKind::synthetic_text},
};

constexpr std::pair<const char*, Augmentation> augments[] = {
    {"auto", Augmentation::automatic},
    {"none", Augmentation::none},
    {"crop_flip", Augmentation::crop_flip},
    {"random_resized_crop", Augmentation::random_resized_crop},
};

}  // namespace

SourceKind data_source_from_name(const std::string& name) {
  for (const auto& [known, source] : sources) {
    if (name == known) return source;
  }
  fail_usage("unknown data source \"{}\", expected idx, image_folder, packed, cifar, tsv, synthetic or synthetic_text",
             name);
}

Augmentation augment_from_name(const std::string& name) {
  for (const auto& [known, augment] : augments) {
    if (name == known) return augment;
  }
  fail_usage("unknown augmentation \"{}\", expected auto, none, crop_flip or random_resized_crop", name);
}

Augmentation resolve_augment(const DataSettings& settings, Split split, Augmentation natural) {
  if (split == Split::eval) return Augmentation::none;
  return settings.augment == Augmentation::automatic ? natural : settings.augment;
}

void require_path(const DataSettings& settings, std::string_view source) {
  if (settings.path.empty()) fail_usage("data source {} needs a path", source);
}

std::vector<std::string> numbered_classes(int classes) {
  std::vector<std::string> names;
  for (int i = 0; i < classes; ++i) names.push_back(std::to_string(i));
  return names;
}

std::unique_ptr<Dataset> open_dataset(const DataSettings& settings, Split split) {
  switch (settings.source) {
    case SourceKind::idx:
      return open_idx(settings, split);
    case SourceKind::image_folder:
      return open_image_folder(settings, split);
    case SourceKind::packed:
      return open_packed(settings, split);
    case SourceKind::cifar:
      return open_cifar(settings, split);
    case SourceKind::tsv:
      return open_tsv(settings, split);
    case SourceKind::synthetic_image:
      return open_synthetic_images(settings, split);
    case SourceKind::synthetic_text:
      return open_synthetic_text(settings, split);
  }
  fail_usage("unknown data source");
}

}  // namespace ptrain
