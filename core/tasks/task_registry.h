// Every task, by its name.
#pragma once

#include "core/tasks/task.h"

#include <memory>

namespace ptrain {

/// Throws std::logic_error for an unknown name: models' rows contain only known ones.
std::unique_ptr<Task> make_task(std::string_view name, const TaskOptions& options = {});
/// The names in the order of the registry.
std::vector<std::string> task_names();
/// For Catalogs.
std::vector<TaskEntry> task_entries();

}  // namespace ptrain
