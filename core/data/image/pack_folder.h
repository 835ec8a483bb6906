// Packs a folder of encoded images into decoded ones.
#pragma once

#include "core/data/image/image_pack.h"

#include <filesystem>
#include <functional>

namespace ptrain {

struct PackOptions {
  int short_side = 0;                // px; larger images are resized so that the shorter side is this; 0 keeps their
                                     // size
  std::int64_t max_bad_samples = 0;  // undecodable images to leave out before it is an error
};

struct PackResult {
  ImagePackWriter file;  // all images are added; neither finished nor committed
  std::int64_t images = 0;
  std::vector<std::string> left_out = {};  // reasons, one line per image
  std::vector<std::string> notes = {};     // of the folder's list
};

/// Called with the number of images done and in total.
using PackProgress = std::function<void(std::int64_t done, std::int64_t total)>;

/// Decodes the images of one split below `root`, on all threads, and writes them to `file`, which appears when the
/// result's file is committed. Throws Error as list_images() does, when more than max_bad_samples images cannot be
/// decoded, and when `file` cannot be written.
PackResult pack_folder(const std::filesystem::path& root, Split split, const std::filesystem::path& file,
                       const PackOptions& options, const PackProgress& progress);

}  // namespace ptrain
