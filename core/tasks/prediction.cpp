#include "core/tasks/prediction.h"

#include <fmt/format.h>

namespace ptrain {

Prediction::Json list_corners(const Quad& quad) {
  Prediction::Json corners = Prediction::Json::array();
  for (const Point2d& corner : quad) corners.push_back({corner.x, corner.y});
  return corners;
}

std::string format_corners(const Quad& quad) {
  std::string text;
  for (const Point2d& corner : quad) text += fmt::format("{}{},{}", text.empty() ? "" : " ", corner.x, corner.y);
  return text;
}

std::string format_answer(const Prediction::Json& answer) {
  if (answer.is_null()) return {};
  if (answer.is_string()) return answer.get<std::string>();
  if (answer.is_number_float()) return fmt::format("{:.6g}", answer.get<double>());
  return answer.dump(-1, ' ', false, Prediction::Json::error_handler_t::replace);
}

}  // namespace ptrain
