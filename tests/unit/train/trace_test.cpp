#include "core/train/measure/trace.h"

#include "core/io/atomic_file.h"
#include "tests/unit/train/small_training.h"

#include <set>

namespace ptrain::testing {
namespace {

struct Span {
  std::string name;
  double begin, end;  // microseconds
};

/// The complete events of a lane, in the file's order.
std::vector<Span> spans(const nlohmann::json& trace, const char* lane) {
  std::vector<Span> found;
  for (const nlohmann::json& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X" || event.at("cat") != lane) continue;
    const double begin = event.at("ts"), length = event.at("dur");
    EXPECT_GE(length, 0) << event.dump();
    found.push_back({event.at("name"), begin, begin + length});
  }
  return found;
}

std::vector<Span> get_steps(const std::vector<Span>& host) {
  std::vector<Span> steps;
  for (const Span& span : host) {
    if (span.name.starts_with("step ")) steps.push_back(span);
  }
  return steps;
}

TEST(Trace, IsOfTheStepsBehindTheWarmUpOrOfTheLastOnes) {
  Trace trace(3, 5, 100), short_run(3, 5, 6), resumed(3, 5, 100);
  std::vector<std::int64_t> found;
  for (std::int64_t step = 0; step < 100; ++step) {
    if (trace.wants(step)) found.push_back(step);
  }
  EXPECT_EQ(found, (std::vector<std::int64_t>{3, 4, 5, 6, 7}));
  EXPECT_FALSE(short_run.wants(0));
  EXPECT_TRUE(short_run.wants(1));
  EXPECT_FALSE(resumed.wants(40));
  EXPECT_TRUE(resumed.wants(43));
}

TEST(Trace, HoldsEveryOpOfItsStepsAndChangesNothing) {
  const TemporaryDirectory directory;
  Config config = resnet_config();
  config.train.steps = 9;
  config.train.accumulate_steps = 2;
  config.train.measure_after_steps = 3;
  const std::vector<double> expected = losses(config);
  config.output.trace = true;
  config.output.dir = directory.path().string();
  const Outcome traced = train(config);
  EXPECT_EQ(traced.result.losses, expected);

  const nlohmann::json trace = nlohmann::json::parse(read_file(directory.path() / "trace.json"));
  const std::vector<Span> host = spans(trace, "host"), ops = spans(trace, "ops"), steps = get_steps(host);
  ASSERT_EQ(steps.size(), 5u);
  EXPECT_EQ(steps.front().name, "step 4");
  EXPECT_EQ(steps.back().name, "step 8");
  std::size_t expected_ops = 0;
  for (const NodeProfile& node : traced.result.kernels) {
    EXPECT_EQ(node.runs, node.phase <= Pass::backward ? 10 : 5) << node.name;
    expected_ops += static_cast<std::size_t>(node.runs);
  }
  EXPECT_EQ(ops.size(), expected_ops);
  constexpr double rounding = 1;  // microsecond
  for (const Span& op : ops) {
    const bool inside = std::any_of(steps.begin(), steps.end(), [&](const Span& step) {
      return op.begin >= step.begin - rounding && op.end <= step.end + rounding;
    });
    EXPECT_TRUE(inside) << op.name << " from " << op.begin << " to " << op.end;
  }
  for (std::size_t i = 1; i < ops.size(); ++i) EXPECT_GE(ops[i].begin, ops[i - 1].end - rounding) << ops[i].name;
}

}  // namespace
}  // namespace ptrain::testing
