// What decodes the images of a run.
#pragma once

#include "core/config/config.h"
#include "core/exec/backend.h"
#include "core/train/ranks.h"

namespace ptrain {

/// The device's decoders where data.decoder is gpu and read; empty: the host decodes. Throws Error{usage} saying why
/// they cannot decode.
MakeImageDecoder image_decoders(const Config& config, Backend& backend, const Ranks& ranks);

}  // namespace ptrain
