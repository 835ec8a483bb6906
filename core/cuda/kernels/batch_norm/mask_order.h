// Whether masks mean to cuDNN what they mean here: no document says how it orders their bits.
#pragma once

#include "core/cuda/device/device.h"

namespace ptrain::cuda {

/// Whether the mask that cuDNN writes beside a batch norm's result has each element's bit where mask_desc says. Tried
/// once on a device, on 16 KiB; of one that is only described nothing can be tried, and plans for it are made as if.
/// False where cuDNN writes none.
bool numbers_masks_alike(Device& device);

}  // namespace ptrain::cuda
