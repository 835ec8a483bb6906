// Tests whether cuDNN orders the bits of masks as this project does, which cuDNN does not document.
#pragma once

#include "core/cuda/device/device.h"

namespace ptrain::cuda {

/// Whether the mask that cuDNN writes with a batch norm's result has each element's bit where mask_desc says. Tested
/// once per device, on 16 KiB; for a device that is only described it is assumed. False where cuDNN writes no mask.
bool numbers_masks_alike(Device& device);

}  // namespace ptrain::cuda
