#include "models/sessions/gru4rec.h"

#include "core/ops/linear.h"

namespace ptrain {
namespace {

class Gru4RecBuilder final : public SessionBlocks {
 public:
  using SessionBlocks::SessionBlocks;

  BuiltModel build(const Bucket& batch) {
    const ValueId table =
        parameter(make_variable("Wy.weight", Shape{spec_.items, spec_.units}, start(spec_.items, spec_.units)));
    const ValueId x = look_up_steps(batch.rows, table);
    const ValueId states = by_session(dropout("D.0", gru("G.0", x, RecurrentCell::gru)));
    ModelVariable bias = make_variable("By.weight", Shape{spec_.items}, constant_start(0));
    bias.files.front().external_shape = Shape{spec_.items, 1};
    const ValueId biases = parameter(std::move(bias));
    if (!has_candidates()) return finish(add("scores", std::make_shared<Linear>(), {states, table, biases}));
    const ValueId items = add_candidates(batch.rows);
    const ValueId rows = pick("candidates.rows", table, items), offsets = pick("candidates.biases", biases, items);
    return finish(add("scores", std::make_shared<Linear>(), {states, rows, offsets}));
  }
};

}  // namespace

std::unique_ptr<Model> make_gru4rec(const SessionSpec& spec) {
  return std::make_unique<SessionModel<Gru4RecBuilder>>("gru4rec", spec);
}

}  // namespace ptrain
