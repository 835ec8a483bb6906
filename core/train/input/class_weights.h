// What classes weigh in the training loss.
#pragma once

#include "core/config/config.h"
#include "core/data/dataset.h"

#include <vector>

namespace ptrain {

/// By class, as data.class_weights says; empty where it says nothing. balanced: n / (classes * n_c), of the n samples
/// of `training` (scikit-learn's definition), and 1 for a class without any.
std::vector<float> class_weights(const Config& config, const Dataset& training);

}  // namespace ptrain
