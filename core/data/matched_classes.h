// A data set whose classes are numbered as a trained model numbers them.
#pragma once

#include "core/data/dataset.h"

#include <memory>
#include <string>
#include <vector>

namespace ptrain {

/// `data` with the labels of the classes of these `names`, in their order: matched by name, or by number where either
/// side's classes have none, or where no name is on both. `place` has the names. Adds a note when names are in another
/// order or differ. Throws Error{failed} naming `place` and a class that only the data have, or
/// where the data's characters differ.
std::unique_ptr<Dataset> match_classes(std::unique_ptr<Dataset> data, const std::vector<std::string>& names,
                                       const std::string& place);

}  // namespace ptrain
