// JPEG decoding by nvJPEG: whole images, into device memory and from there to the host.
#pragma once

#include "core/cuda/device/device.h"
#include "core/io/image_decoder.h"

namespace ptrain::cuda {

/// Each decoder has its own stream, nvJPEG state and memory, so that threads work independently. Throws Error{failed}
/// when the library does not start, or is missing, saying how to get it.
MakeImageDecoder make_nvjpeg_decoders(const Device& device);

}  // namespace ptrain::cuda
