// Selects the image decoders of a run.
#pragma once

#include "core/config/config.h"
#include "core/exec/backend.h"
#include "core/train/ranks.h"

namespace ptrain {

/// The device's decoders if data.decoder is gpu and applies; empty: the host decodes. Throws Error{usage} saying why
/// they are unavailable.
MakeImageDecoder image_decoders(const DataConfig& data, Backend& backend, const Ranks& ranks);

}  // namespace ptrain
