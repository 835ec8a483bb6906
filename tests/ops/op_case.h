// One case, many checks: an op's kernel against a naive double-precision reference, and its gradient against finite
// differences of that reference, in each dtype.
#pragma once

#include "core/exec/plan.h"
#include "tests/case_name.h"
#include "tests/test_backend.h"

#include <functional>
#include <string>
#include <vector>

namespace ptrain::testing {

/// A tensor on the host; values are kept in double, rounded to `desc.dtype`.
struct HostTensor {
  TensorDesc desc;
  std::vector<double> values;
  bool absent = false;  // an optional input that is not given
};

/// Rounds a value to a dtype's precision.
double round_to(DType dtype, double value);
/// Reproducible values, uniform in [low, high), rounded to `dtype`.
HostTensor random_tensor(DType dtype, Shape shape, std::uint64_t seed, double low = -1.0, double high = 1.0);
HostTensor tensor(DType dtype, Shape shape, std::vector<double> values);
HostTensor absent_tensor();
/// The offsets of packed sequences.
HostTensor get_offsets(const std::vector<double>& lengths);

/// What the op's outputs should be, from its inputs; all arithmetic in double. An output that it leaves empty
/// (no values) is not checked.
using Reference = std::function<std::vector<std::vector<double>>(const std::vector<HostTensor>&)>;

/// Where an op runs and how its kernel is chosen; on the backend under test, as it is tested, unless said otherwise.
struct TestBackend {
  std::function<std::unique_ptr<Backend>()> make = make_test_backend;
  PlanOptions options = test_plan_options();
};

struct OpCase {
  OpPtr op;
  std::vector<HostTensor> inputs;
  Reference reference = {};
  std::vector<int> gradient_inputs = {};  // inputs whose gradient is checked
  std::vector<int> gradient_outputs{0};   // outputs that the loss depends on
  double tolerance_scale = 1.0;           // times the dtype's tolerance
};

/// Largest allowed |a - b| / max(1, rms(b)) for results computed in `dtype`.
double tolerance(DType dtype);

/// Runs the op's kernel once. Inputs that the op writes in place come back in `inputs`.
std::vector<HostTensor> run_op(const OpPtr& op, std::vector<HostTensor>& inputs, const TestBackend& on = {});
/// The gradients that the op's own gradient rule and kernels give, for `seeds` arriving at `c.gradient_outputs`.
std::vector<HostTensor> run_gradient(const OpCase& c, const std::vector<HostTensor>& seeds, const TestBackend& on = {});

/// Both checks, with gtest expectations. On failure prints the op, its attributes, shapes and the first bad element.
void check_op(const OpCase& c);
/// gtest expectation that two lists of values agree.
void expect_close(const std::vector<double>& actual, const std::vector<double>& expected, double limit,
                  const std::string& what);

}  // namespace ptrain::testing
