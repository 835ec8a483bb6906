#include "models/sessions/ssr.h"

#include "core/ops/concat.h"
#include "core/ops/linear.h"
#include "core/ops/tensor/slice.h"

namespace ptrain {
namespace {

class SsrBuilder final : public SessionBlocks {
 public:
  using SessionBlocks::SessionBlocks;

  BuiltModel build(const Bucket& batch) {
    const ValueId table = parameter(make_matrix("item_embedding.weight", spec_.items));
    const ValueId x = look_up_steps(batch.rows, table);
    const ValueId largest = running_maximum(dropout("dropout", gru("gru", x, RecurrentCell::gru_reset_first)));
    const ValueId users = encode("user", by_session(largest));
    const ValueId rows = has_candidates() ? pick("candidates.rows", table, add_candidates(batch.rows)) : table;
    return finish(add("scores", std::make_shared<Linear>(), {users, encode("item", rows)}));
  }

 private:
  ModelVariable make_matrix(const std::string& name, std::int64_t rows) const {
    return make_variable(name, Shape{rows, spec_.units}, start(rows, spec_.units));
  }

  /// Vectors of length 1.
  ValueId encode(const std::string& name, ValueId x) {
    return normalize(name + ".vector", linear(name + ".projection", x, make_matrix(name + "_fc.weight", spec_.units),
                                              make_variable(name + "_fc.bias", Shape{spec_.units}, constant_start(0))));
  }

  /// Of each step of [L,N,C] the largest values up to it: every pass doubles how many steps back they reach.
  ValueId running_maximum(ValueId x) {
    const std::int64_t steps = spec_.max_length;
    for (std::int64_t reach = 1; reach < steps; reach *= 2) {
      const std::string name = fmt::format("maximum.{}", reach);
      const auto part = [&](const char* kind, std::int64_t end) {
        return add(name + kind, std::make_shared<Slice>(SliceAttributes{.axis = 0, .begin = 0, .end = end}), {x});
      };
      const ValueId before =
          add(name + ".before", std::make_shared<Concat>(0), {part(".first", reach), part(".others", steps - reach)});
      x = combine(name, BinaryFunction::maximum, x, before);
    }
    return x;
  }
};

}  // namespace

std::unique_ptr<Model> make_ssr(const SessionSpec& spec) {
  return std::make_unique<SessionModel<SsrBuilder>>("ssr", spec);
}

}  // namespace ptrain
