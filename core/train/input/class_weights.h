// Class weights in the training loss.
#pragma once

#include "core/config/config.h"
#include "core/data/dataset.h"

#include <vector>

namespace ptrain {

/// By class, as `requested`; empty if not set. balanced: n / (classes * n_c), for the n samples of `training`
/// (scikit-learn's definition), and 1 for a class without samples.
std::vector<float> class_weights(const ClassWeights& requested, std::int64_t classes, const Dataset& training);

}  // namespace ptrain
