// JPEGs decoded by nvJPEG: whole, into device memory, and from there into the host's.
#pragma once

#include "core/cuda/device/device.h"
#include "core/io/image_decoder.h"

namespace ptrain::cuda {

/// Each decoder has a stream, nvJPEG's state and memory of its own, so that threads work beside each other. Throws
/// Error{failed} when the library is not there, saying how to get it, or does not start.
MakeImageDecoder make_nvjpeg_decoders(const Device& device);

}  // namespace ptrain::cuda
