#include "tests/ops/op_case.h"

#include "core/base/rng.h"
#include "core/passes/autodiff.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace ptrain::testing {
namespace {

template <typename T>
void store(std::vector<std::byte>& bytes, const std::vector<double>& values) {
  bytes.resize(values.size() * sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    T element;
    if constexpr (std::is_integral_v<T>) {
      element = static_cast<T>(values[i]);
    } else {
      element = T(static_cast<float>(values[i]));
    }
    std::memcpy(bytes.data() + i * sizeof(T), &element, sizeof(T));
  }
}

template <typename T>
void load(const std::vector<std::byte>& bytes, std::vector<double>& values) {
  values.resize(bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    T element;
    std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
    if constexpr (std::is_integral_v<T>) {
      values[i] = static_cast<double>(element);
    } else {
      values[i] = static_cast<double>(static_cast<float>(element));
    }
  }
}

template <typename Visitor>
void visit_any(DType dtype, Visitor&& visit) {
  switch (dtype) {
    case DType::i64:
      visit(std::int64_t{});
      break;
    case DType::i32:
      visit(std::int32_t{});
      break;
    case DType::u8:
      visit(std::uint8_t{});
      break;
    case DType::s8:
      visit(std::int8_t{});
      break;
    default:
      visit_floating(dtype, visit);
      break;
  }
}

/// A small graph on a backend with every tensor as a variable.
class Bench {
 public:
  explicit Bench(const TestBackend& on) : backend_(on.make()), variables_(backend_->memory()), options_(on.options) {}

  ValueId add(const HostTensor& t, const std::string& name, Storage storage) {
    if (t.absent) return no_value;
    written_.emplace_back(name, t);
    return graph.add_value(name, t.desc, storage);
  }
  void run() {
    verify(graph);
    plan_ = std::make_unique<Plan>(graph, *backend_, variables_, options_);
    variables_.allocate();
    memory_ = std::make_unique<PlanMemory>(backend_->memory(), std::initializer_list<const Plan*>{plan_.get()});
    plan_->bind(*memory_);
    fill_with_nan(memory_->arena);
    fill_with_nan(memory_->workspace);
    for (const auto& [name, t] : written_) {
      std::vector<std::byte> bytes;
      visit_any(t.desc.dtype, [&, &values = t.values](auto zero) { store<decltype(zero)>(bytes, values); });
      variables_.write(name, bytes.data(), bytes.size());
    }
    plan_->run(Pass::forward, Pass::update);
  }
  HostTensor read(ValueId id) const {
    HostTensor t{graph.desc(id), {}};
    std::vector<std::byte> bytes(t.desc.bytes());
    plan_->read_value(id, bytes.data(), bytes.size());
    visit_any(t.desc.dtype, [&](auto zero) { load<decltype(zero)>(bytes, t.values); });
    return t;
  }

  Graph graph;

 private:
  /// Kernels find there what others left, and must not read it: NaN in every floating dtype, -1 in integers.
  void fill_with_nan(const DeviceBuffer& buffer) {
    if (buffer.bytes() == 0) return;
    const std::vector<std::byte> values(buffer.bytes(), std::byte{0xff});
    backend_->memory().copy_to_device(buffer.data(), values.data(), values.size());
  }

  std::unique_ptr<Backend> backend_;
  Variables variables_;
  PlanOptions options_;
  std::unique_ptr<Plan> plan_;
  std::unique_ptr<PlanMemory> memory_;
  std::vector<std::pair<std::string, HostTensor>> written_;
};

std::string describe(const OpCase& c) {
  std::string text = fmt::format("{} {}", c.op->type(), c.op->attributes());
  for (const HostTensor& t : c.inputs) text += fmt::format(" {}", t.absent ? "-" : t.desc.to_string());
  return text;
}

/// Sanitizers look at memory, which every gradient runs through whole; differences of six elements in seven would add
/// nothing but their time.
constexpr std::size_t looked_at = PTRAIN_LOOKED_AT;

/// sum over outputs of weights . output, in double.
double weighted_loss(const OpCase& c, const std::vector<HostTensor>& inputs, const std::vector<HostTensor>& seeds) {
  const auto outputs = c.reference(inputs);
  double loss = 0;
  for (std::size_t k = 0; k < c.gradient_outputs.size(); ++k) {
    const auto& values = outputs[static_cast<std::size_t>(c.gradient_outputs[k])];
    for (std::size_t i = 0; i < values.size(); ++i) loss += seeds[k].values[i] * values[i];
  }
  return loss;
}

/// Of every looked_at-th element alone.
std::vector<double> some_of(const std::vector<double>& values) {
  std::vector<double> some;
  for (std::size_t i = 0; i < values.size(); i += looked_at) some.push_back(values[i]);
  return some;
}

/// Of the same elements.
std::vector<double> finite_differences(const OpCase& c, std::size_t input, const std::vector<HostTensor>& seeds) {
  constexpr double step = 1e-4;
  std::vector<HostTensor> inputs = c.inputs;
  std::vector<double>& x = inputs[input].values;
  std::vector<double> gradient;
  for (std::size_t i = 0; i < x.size(); i += looked_at) {
    const double saved = x[i];
    x[i] = saved + step;
    const double above = weighted_loss(c, inputs, seeds);
    x[i] = saved - step;
    const double below = weighted_loss(c, inputs, seeds);
    x[i] = saved;
    gradient.push_back((above - below) / (2 * step));
  }
  return gradient;
}

double case_tolerance(const OpCase& c) {
  double limit = 0;
  for (const HostTensor& t : c.inputs) {
    if (!t.absent && is_floating(t.desc.dtype)) limit = std::max(limit, tolerance(t.desc.dtype));
  }
  return limit * c.tolerance_scale;
}

}  // namespace

double round_to(DType dtype, double value) {
  switch (dtype) {
    case DType::bf16:
      return static_cast<float>(bf16(static_cast<float>(value)));
    case DType::f16:
      return static_cast<float>(f16(static_cast<float>(value)));
    case DType::f32:
      return static_cast<float>(value);
    default:
      return std::floor(value);
  }
}

HostTensor tensor(DType dtype, Shape shape, std::vector<double> values) {
  for (double& v : values) v = round_to(dtype, v);
  return {{dtype, std::move(shape)}, std::move(values)};
}

HostTensor random_tensor(DType dtype, Shape shape, std::uint64_t seed, double low, double high) {
  const RandomStream stream{seed, 0, 0};
  std::vector<double> values(static_cast<std::size_t>(shape.count()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = low + (high - low) * static_cast<double>(stream.uniform(i));
  return tensor(dtype, std::move(shape), std::move(values));
}

HostTensor absent_tensor() { return {absent_input(), {}, true}; }

HostTensor get_offsets(const std::vector<double>& lengths) {
  std::vector<double> offsets(lengths.size() + 1);
  std::partial_sum(lengths.begin(), lengths.end(), offsets.begin() + 1);
  return tensor(DType::i32, Shape{static_cast<std::int64_t>(offsets.size())}, offsets);
}

double tolerance(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return 2e-2;
    case DType::f16:
      return 3e-3;
    default:
      return 2e-5;
  }
}

std::vector<HostTensor> run_op(const OpPtr& op, std::vector<HostTensor>& inputs, const TestBackend& on) {
  Bench bench(on);
  std::vector<ValueId> ids;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool state = op->mutates_input(static_cast<int>(i));
    ids.push_back(bench.add(inputs[i], fmt::format("in{}", i), state ? Storage::state : Storage::parameter));
  }
  const std::vector<ValueId> outputs = bench.graph.add_node("op", op, ids);
  for (std::size_t i = 0; i < outputs.size(); ++i) bench.graph.set_output(fmt::format("out{}", i), outputs[i]);
  bench.run();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (op->mutates_input(static_cast<int>(i)) && !inputs[i].absent) inputs[i] = bench.read(ids[i]);
  }
  std::vector<HostTensor> results;
  for (const ValueId id : outputs) results.push_back(bench.read(id));
  return results;
}

std::vector<HostTensor> run_gradient(const OpCase& c, const std::vector<HostTensor>& seeds, const TestBackend& on) {
  Bench bench(on);
  std::vector<ValueId> ids;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const bool differentiated = std::count(c.gradient_inputs.begin(), c.gradient_inputs.end(), static_cast<int>(i)) > 0;
    ids.push_back(bench.add(c.inputs[i], fmt::format("in{}", i), differentiated ? Storage::parameter : Storage::state));
  }
  const std::vector<ValueId> outputs = bench.graph.add_node("op", c.op, ids);
  std::vector<GradientSeed> starts;
  for (std::size_t k = 0; k < seeds.size(); ++k) {
    starts.push_back({outputs[static_cast<std::size_t>(c.gradient_outputs[k])],
                      bench.add(seeds[k], fmt::format("seed{}", k), Storage::state)});
  }
  Differentiated d = differentiate(bench.graph, starts);
  bench.graph = std::move(d.graph);
  for (const ParameterGradient& g : d.gradients) bench.graph.set_output(fmt::format("g{}", g.parameter), g.gradient);
  bench.run();
  std::vector<HostTensor> results;
  for (const int input : c.gradient_inputs) {
    for (const ParameterGradient& g : d.gradients) {
      if (g.parameter == ids[static_cast<std::size_t>(input)]) results.push_back(bench.read(g.gradient));
    }
  }
  return results;
}

void expect_close(const std::vector<double>& actual, const std::vector<double>& expected, double limit,
                  const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  double squares = 0;
  for (const double v : expected) squares += v * v;
  const double scale =
      std::max(1.0, expected.empty() ? 0.0 : std::sqrt(squares / static_cast<double>(expected.size())));
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double error = std::abs(actual[i] - expected[i]);
    ASSERT_TRUE(error <= limit * std::max(scale, std::abs(expected[i])))
        << what << ": element " << i << " is " << actual[i] << ", expected " << expected[i];
  }
}

void check_op(const OpCase& c) {
  const double limit = case_tolerance(c);
  std::vector<HostTensor> inputs = c.inputs;
  const std::vector<HostTensor> outputs = run_op(c.op, inputs);
  const auto expected = c.reference(c.inputs);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!expected[i].empty())
      expect_close(outputs[i].values, expected[i], limit, fmt::format("{}: output {}", describe(c), i));
  }
  if (c.gradient_inputs.empty()) return;
  std::vector<HostTensor> seeds;
  for (const int output : c.gradient_outputs) {
    const TensorDesc& desc = outputs[static_cast<std::size_t>(output)].desc;
    seeds.push_back(random_tensor(desc.dtype, desc.shape, 977 + static_cast<std::uint64_t>(output)));
  }
  const std::vector<HostTensor> gradients = run_gradient(c, seeds);
  ASSERT_EQ(gradients.size(), c.gradient_inputs.size()) << describe(c) << ": some input got no gradient";
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    const auto input = static_cast<std::size_t>(c.gradient_inputs[k]);
    expect_close(some_of(gradients[k].values), finite_differences(c, input, seeds), 4 * limit,
                 fmt::format("{}: gradient of input {}", describe(c), input));
  }
}

}  // namespace ptrain::testing
