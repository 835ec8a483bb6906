// What every run opens first: device, data and model.
#pragma once

#include "core/data/dataset.h"
#include "core/exec/backend.h"
#include "core/model/model.h"

#include <memory>

namespace ptrain {

struct Workload {
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Dataset> training;
  std::unique_ptr<Dataset> evaluation;  // null without evaluation
  std::unique_ptr<Model> model;
};

}  // namespace ptrain
