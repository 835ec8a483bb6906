#include "core/bench/suite.h"

#include "core/bench/sweep.h"
#include "core/io/atomic_file.h"
#include "tests/error_message.h"
#include "tests/temporary_directory.h"
#include "tests/test_catalogs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace ptrain {
namespace {

constexpr const char* suite_config =
    "model: {name: bert, size: tiny, classes: 2, vocab_size: 200, max_positions: 32}\n"
    "data: {source: synthetic, max_length: 16, batch_size: 8}\n";

class SuiteTest : public testing::Test {
 protected:
  Suite load(const std::string& text) {
    write_file_atomic(folder_.path() / "base.yaml", suite_config);
    write_file_atomic(folder_.path() / "suite.yaml", "config: base.yaml\n" + text);
    return load_suite(folder_.path() / "suite.yaml", test_catalogs());
  }
  std::string complaint(const std::string& text) {
    return get_error([&] { load(text); }, ExitCode::usage);
  }

  TemporaryDirectory folder_;
};

TEST_F(SuiteTest, MakesAFullFactorial) {
  const Suite suite = load("axes:\n  amp.level: [O0, O1, O2]\n  data.batch_size: [4, 8]\nrepeats: 3\n");
  ASSERT_EQ(suite.cases.size(), 6u);
  EXPECT_EQ(suite.cases[0].name, "level=O0,batch_size=4");
  EXPECT_EQ(suite.cases[5].settings, (nlohmann::json{{"amp.level", "O2"}, {"data.batch_size", 8}}));
  std::set<std::string> hashes;
  for (const BenchCase& item : suite.cases) hashes.insert(item.config_hash);
  EXPECT_EQ(hashes.size(), 6u);
}

TEST_F(SuiteTest, TakesListedCases) {
  const Suite suite = load("set: {train.steps: 9}\ncases:\n  - {name: one, set: {seed: 1}}\n  - {name: two}\n");
  ASSERT_EQ(suite.cases.size(), 2u);
  EXPECT_EQ(suite.cases[0].seed, 1);
  EXPECT_EQ(suite.cases[1].seed, 42);
}

TEST_F(SuiteTest, RefusesUnknownKeysOfAxesWithTheirLine) {
  const std::string message = complaint("axes:\n  amp.levle: [O0]\n");
  EXPECT_NE(message.find("suite.yaml:3"), std::string::npos) << message;
  EXPECT_NE(message.find("did you mean amp.level?"), std::string::npos) << message;
}

TEST_F(SuiteTest, RefusesNamesThatAreNoFolders) {
  EXPECT_NE(complaint("name: \"two\\nlines\"\n").find("a name must not contain line ends"), std::string::npos);
  EXPECT_NE(complaint("cases:\n  - {name: \"two\\nlines\"}\n").find("a name must not contain line ends"),
            std::string::npos);
  EXPECT_NE(complaint("cases:\n  - {name: " + std::string(300, 'x') + "}\n").find("300 characters"), std::string::npos);
  EXPECT_NE(complaint("axes:\n  model.weights: [" + std::string(300, 'x') + "]\n").find("too long for a folder"),
            std::string::npos);
}

TEST_F(SuiteTest, RefusesWhatItCannotMean) {
  EXPECT_NE(complaint("axes:\n  amp.level: [O7]\n").find("O7"), std::string::npos);
  EXPECT_NE(complaint("repeats: 0\n").find("repeats"), std::string::npos);
  EXPECT_NE(complaint("repeat: 3\n").find("did you mean repeats?"), std::string::npos);
  EXPECT_NE(complaint("axes: {amp.level: [O0]}\ncases: [{name: a}]\n").find("not both"), std::string::npos);
  EXPECT_NE(complaint("cases: [{name: a}, {name: a}]\n").find("twice"), std::string::npos);
  EXPECT_NE(complaint("timeout_seconds: fast\n").find("expected a number"), std::string::npos);
}

/// Axes of the command line, over a suite or over a training configuration alone.
class AxisOptionTest : public SuiteTest {
 protected:
  Suite load(const std::string& file, const std::vector<std::string>& options,
             const std::vector<Override>& extra = {}) {
    write_file_atomic(folder_.path() / "base.yaml", suite_config);
    write_file_atomic(folder_.path() / "suite.yaml", "config: base.yaml\naxes: {amp.level: [O0, O1]}\nrepeats: 3\n");
    write_file_atomic(folder_.path() / "listed.yaml", "config: base.yaml\ncases: [{name: a}, {name: b}]\n");
    std::vector<AxisOption> axes;
    for (const std::string& option : options) axes.push_back(parse_axis(option));
    return load_suite(folder_.path() / file, test_catalogs(), extra, axes);
  }
  std::string complaint(const std::vector<std::string>& options, const std::string& file = "base.yaml",
                        const std::vector<Override>& extra = {}) {
    return get_error([&] { load(file, options, extra); }, ExitCode::usage);
  }
};

TEST_F(AxisOptionTest, MakesASuiteOfATrainingConfiguration) {
  const Suite suite = load("base.yaml", {"amp.level=O0,O1", "data.batch_size=4,8"});
  EXPECT_EQ(suite.name, "base-level-batch_size");
  EXPECT_EQ(suite.config, folder_.path() / "base.yaml");
  EXPECT_EQ(suite.repeats, Suite{}.repeats);
  ASSERT_EQ(suite.cases.size(), 4u);
  EXPECT_EQ(suite.cases[1].name, "level=O0,batch_size=8");
  EXPECT_EQ(suite.cases[1].settings, (nlohmann::json{{"amp.level", "O0"}, {"data.batch_size", 8}}));
}

TEST_F(AxisOptionTest, JoinsOrReplacesTheAxesOfASuite) {
  const Suite joined = load("suite.yaml", {"data.batch_size=4,8"});
  EXPECT_EQ(joined.name, "suite-batch_size");
  EXPECT_EQ(joined.cases.size(), 4u);
  EXPECT_EQ(joined.repeats, 3);
  const Suite replaced = load("suite.yaml", {"amp.level=O1,O2"});
  ASSERT_EQ(replaced.cases.size(), 2u);
  EXPECT_EQ(replaced.cases[1].name, "level=O2");
}

TEST_F(AxisOptionTest, TakesListsInBrackets) {
  const AxisOption axis = parse_axis("amp.custom_white_list=[conv2d, linear],[]");
  EXPECT_EQ(axis.values, (std::vector<std::string>{"[conv2d, linear]", "[]"}));
}

TEST_F(AxisOptionTest, RefusesWhatItCannotMean) {
  const auto has = [](const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  has(complaint({"amp.levle=O0,O1"}), "--axis amp.levle=O0: amp.levle: unknown key; did you mean amp.level?");
  has(complaint({"amp.level=O0"}), "two or more values");
  has(complaint({"amp.level"}), "expected key.path=value,value");
  has(complaint({"amp.level=O0,O0"}), "\"O0\" twice");
  has(complaint({"data.batch_size=4,04"}), "data.batch_size");
  has(complaint({"amp.level=O0,o0"}), "amp.level: two of its values are the same");
  has(complaint({"amp.level=O0,O1", "amp.level=O0,O2"}), "--axis amp.level: given twice");
  has(complaint({"amp.level=O0,O7"}), "--axis amp.level=O7: amp.level: expected one of");
  has(complaint({"amp.level=O0,O1"}, "base.yaml", {{"amp.level", "O2", "-o amp.level=O2"}}),
      "is an axis of base-level");
  has(complaint({"amp.level=O0,O1"}, "listed.yaml"), "lists its cases");
}

TEST(ShippedSuites, AllLoad) {
  int count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(PTRAIN_SOURCE_DIR "/configs/bench")) {
    if (entry.path().extension() != ".yaml") continue;
    const Suite suite = load_suite(entry.path(), test_catalogs());
    EXPECT_GE(suite.cases.size(), 2u) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 9);
}

TEST(RoundOrder, VisitsEveryCaseInAnOrderOfItsOwn) {
  std::set<std::vector<std::size_t>> orders;
  for (int round = 0; round < 10; ++round) {
    std::vector<std::size_t> order = round_order(1, round, 6);
    EXPECT_EQ(order, round_order(1, round, 6));
    orders.insert(order);
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2, 3, 4, 5}));
  }
  EXPECT_GT(orders.size(), 5u);
}

}  // namespace
}  // namespace ptrain
