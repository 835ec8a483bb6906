#include "core/ops/sequence/recurrent.h"

#include "tests/ops/op_case.h"
#include "tests/ops/reference/recurrent.h"

#include <gtest/gtest.h>

namespace ptrain::testing {
namespace recurrent_test {

struct Problem {
  std::int64_t steps, sequences, units;
  RecurrentAttributes attributes;
  std::vector<double> lengths = {}, starts = {};
  bool plain = false;  // no optional input
};

OpCase make_case(const Problem& p) {
  using Op = Recurrent;
  const bool lstm = p.attributes.cell == RecurrentCell::lstm;
  const std::int64_t gates = count_gates(p.attributes.cell) * p.units;
  const auto random = [](Shape shape, std::uint64_t seed) { return random_tensor(DType::f32, std::move(shape), seed); };
  OpCase c;
  c.op = std::make_shared<Op>(p.attributes);
  c.inputs = {random(Shape{p.steps, p.sequences, gates}, 1), random(Shape{gates, p.units}, 2)};
  c.gradient_inputs = {Op::gates, Op::weight};
  if (!p.plain) {
    const Shape state{p.sequences, p.units};
    const auto of_lstm = [&](HostTensor t) { return lstm ? std::move(t) : absent_tensor(); };
    const auto given = [](const std::vector<double>& values, Shape shape) {
      return values.empty() ? absent_tensor() : tensor(DType::i32, std::move(shape), values);
    };
    c.inputs.insert(c.inputs.end(), {random(Shape{gates}, 3), of_lstm(random(Shape{3 * p.units}, 4)), random(state, 5),
                                     of_lstm(random(state, 6)), given(p.lengths, Shape{p.sequences}),
                                     given(p.starts, Shape{p.steps, p.sequences})});
    c.gradient_inputs.insert(c.gradient_inputs.end(), {Op::bias, Op::state});
    if (lstm) c.gradient_inputs.insert(c.gradient_inputs.end(), {Op::peepholes, Op::cell});
  }
  if (lstm) c.gradient_outputs = {Op::y, Op::cells};
  c.reference = [a = p.attributes](const std::vector<HostTensor>& in) { return RecurrentReference(in, a).compute(); };
  return c;
}

class RecurrentCells : public ::testing::TestWithParam<RecurrentCell> {};

TEST_P(RecurrentCells, MatchTheReference) {
  check_op(make_case({5, 3, 4, {GetParam()}}));
  check_op(make_case({4, 2, 5, {GetParam()}, {}, {}, true}));
  check_op(make_case({1, 1, 1, {GetParam()}}));
  OpCase wide = make_case({3, 2, 67, {GetParam()}});  // more units than a vector, and some beyond whole ones
  wide.gradient_inputs = {Recurrent::gates};
  check_op(wide);
}

TEST_P(RecurrentCells, KeepTheStateInPadding) { check_op(make_case({5, 3, 4, {GetParam()}, {5, 2, 0}})); }

TEST_P(RecurrentCells, RunInReverse) {
  check_op(make_case({5, 3, 4, {GetParam(), true}, {5, 2, 3}}));
  check_op(make_case({4, 2, 3, {GetParam(), true}, {}, {}, true}));
}

TEST_P(RecurrentCells, BeginSequencesWithoutAState) {
  check_op(make_case({4, 2, 3, {GetParam()}, {}, {0, 1, 0, 0, 1, 0, 0, 1}}));
}

TEST_P(RecurrentCells, LeaveTheLastStateToTheNextBatch) {
  OpCase whole = make_case({6, 2, 3, {GetParam(), false, true}});
  std::vector<HostTensor> first = whole.inputs;
  const std::vector<double> expected = run_op(whole.op, first)[Recurrent::y].values;
  EXPECT_EQ(first[Recurrent::state].values, std::vector<double>(expected.end() - 6, expected.end()));

  std::vector<HostTensor> half = whole.inputs;
  HostTensor& gates = half[Recurrent::gates];
  const std::vector<double> all = gates.values;
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  gates.desc.shape = Shape{3, 2, gates.desc.shape[2]};
  gates.values.assign(all.begin(), middle);
  std::vector<double> actual = run_op(whole.op, half)[Recurrent::y].values;
  gates.values.assign(middle, all.end());
  const std::vector<double> rest = run_op(whole.op, half)[Recurrent::y].values;
  actual.insert(actual.end(), rest.begin(), rest.end());
  EXPECT_EQ(actual, expected);
}

std::string name_case(const ::testing::TestParamInfo<RecurrentCell>& cell) {
  constexpr const char* names[] = {"Gru", "GruResetFirst", "Lstm"};
  return names[static_cast<int>(cell.param)];
}

INSTANTIATE_TEST_SUITE_P(, RecurrentCells,
                         ::testing::Values(RecurrentCell::gru, RecurrentCell::gru_reset_first, RecurrentCell::lstm),
                         name_case);

TEST(Recurrent, RefusesWhatDoesNotFit) {
  const std::vector<TensorDesc> inputs = {{DType::f32, {4, 2, 9}}, {DType::f32, {9, 3}}};
  EXPECT_NO_THROW(Recurrent(RecurrentAttributes{}).infer(inputs));
  EXPECT_THROW(Recurrent(RecurrentAttributes{RecurrentCell::lstm}).infer(inputs), std::invalid_argument);
  EXPECT_THROW(Recurrent(RecurrentAttributes{RecurrentCell::gru, false, true}).infer(inputs), std::invalid_argument);
}

}  // namespace recurrent_test
}  // namespace ptrain::testing
