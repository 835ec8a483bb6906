#include "core/ops/training/moving_average.h"

#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace moving_average_test {

using namespace testing;

TEST(MovingAverage, MovesByTheRestOfItsDecayOnceThatIsTheSmallerOne) {
  for (const float decay : {0.0f, 0.9f, 0.999f}) {
    for (const std::int64_t count : {1, 7, 40001}) {
      const HostTensor average = random_tensor(DType::f32, {count}, 1), x = random_tensor(DType::f32, {count}, 2);
      for (const double updates : {1.0, 40.0, 1e6}) {
        std::vector<HostTensor> inputs{average, x, tensor(DType::f32, {1}, {updates})};
        run_op(std::make_shared<MovingAverage>(decay), inputs);
        const double d = std::min(static_cast<double>(decay), (1 + updates) / (10 + updates));
        std::vector<double> expected = average.values;
        for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = d * expected[i] + (1 - d) * x.values[i];
        expect_close(inputs[0].values, expected, tolerance(DType::f32), "average");
        expect_close(inputs[1].values, x.values, 0, "x is only read");
      }
    }
  }
}

}  // namespace moving_average_test
}  // namespace ptrain
