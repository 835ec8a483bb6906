// The version of the NVIDIA driver, as nvidia-smi shows it.
#pragma once

#include <string>

namespace ptrain::cuda {

/// "580.95.05"; empty when there is no driver.
std::string driver_version();

}  // namespace ptrain::cuda
