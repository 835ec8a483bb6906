#include "core/train/measure/loss_record.h"

#include <cmath>

namespace ptrain {

bool LossRecord::add(double loss, LossScaling scaling) {
  constexpr int overflows_in_a_row = 20;
  figures_.losses.push_back(loss);
  figures_.last_loss = loss;
  ++figures_.steps;
  bad_losses_ = std::isfinite(loss) ? 0 : bad_losses_ + 1;
  return bad_losses_ > (scaling == LossScaling::on ? overflows_in_a_row : 0);
}

void LossRecord::add_terms(const std::map<std::string, double>& terms) {
  for (const auto& [name, loss] : terms) {
    figures_.loss_terms.try_emplace(name, TrainedTerm{loss, loss}).first->second.last = loss;
  }
}

}  // namespace ptrain
