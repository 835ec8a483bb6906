#include "core/train/input/image_decoders.h"

#include "core/base/errors.h"
#include "core/config/config_enums.h"
#include "core/data/source_registry.h"

namespace ptrain {
namespace {

[[noreturn]] void reject(std::string_view why) { fail_usage("data.decoder: expected cpu or auto, got gpu: {}", why); }

}  // namespace

MakeImageDecoder image_decoders(const DataConfig& data, Backend& backend, const Ranks& ranks) {
  if (data.decoder != Decoder::gpu || !find_source_row(data.source).entry.has_encoded_images()) return {};
  // A loader's allocation on a device may wait for sums that wait for other ranks.
  if (ranks.world_size() > 1) reject(fmt::format("it supports one rank, here are {}", ranks.world_size()));
  MakeImageDecoder decoders;
  try {
    decoders = backend.image_decoders();
  } catch (const Error& error) {
    reject(error.what());
  }
  if (!decoders) reject(fmt::format("device {} cannot decode images, device cuda is required", backend.name()));
  return decoders;
}

}  // namespace ptrain
