// Event files of TensorBoard and VisualDL.
#include "core/analysis/export/export.h"
#include "core/report/event_file.h"

namespace ptrain {

std::string export_tensorboard(const ExportInput& input) {
  return format_events(EventFormat::tensorboard, input.metrics);
}

std::string export_visualdl(const ExportInput& input) { return format_events(EventFormat::visualdl, input.metrics); }

}  // namespace ptrain
