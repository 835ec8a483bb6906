#include "core/tasks/prediction.h"

#include <fmt/format.h>

namespace ptrain {

std::string format_answer(const Prediction::Json& answer) {
  if (answer.is_null()) return {};
  if (answer.is_string()) return answer.get<std::string>();
  if (answer.is_number_float()) return fmt::format("{:.6g}", answer.get<double>());
  return answer.dump(-1, ' ', false, Prediction::Json::error_handler_t::replace);
}

}  // namespace ptrain
