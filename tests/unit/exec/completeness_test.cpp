// Every op that core/ops defines has a CPU kernel, and its file a test of the same stem.
#include "core/cpu/registry.h"
#include "core/exec/all_reduce_kernels.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace ptrain {
namespace {

const std::filesystem::path source = PTRAIN_SOURCE_DIR;

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Stems of the headers in core/ops that define an op.
std::set<std::string> op_stems() {
  std::set<std::string> stems;
  for (const auto& entry : std::filesystem::directory_iterator(source / "core/ops")) {
    if (entry.path().extension() == ".h" && read(entry.path()).find("public Op {") != std::string::npos)
      stems.insert(entry.path().stem().string());
  }
  return stems;
}

/// Types by the literals that their type() returns; the activations make theirs from a table.
std::set<std::string> op_types() {
  std::set<std::string> types{"gelu", "gelu_grad", "relu", "relu_grad", "tanh", "tanh_grad"};
  constexpr std::string_view before = "type() const override { return \"";
  for (const std::string& stem : op_stems()) {
    const std::string text = read(source / "core/ops" / (stem + ".h"));
    for (std::size_t at = text.find(before); at != std::string::npos; at = text.find(before, at)) {
      at += before.size();
      types.insert(text.substr(at, text.find('"', at) - at));
    }
  }
  return types;
}

TEST(Ops, EveryTypeHasACpuKernelAndNoKernelIsOrphaned) {
  const std::set<std::string> types = op_types();
  ASSERT_GT(types.size(), 40u);
  std::set<std::string> kernels;
  for (const auto& names : {cpu::kernel_names(), all_reduce_kernel_names()}) {
    for (const std::string_view name : names) EXPECT_TRUE(kernels.emplace(name).second) << name;
  }
  EXPECT_EQ(kernels, types);
}

TEST(Ops, EveryFileHasATestOfTheSameStem) {
  for (const std::string& stem : op_stems()) {
    EXPECT_TRUE(std::filesystem::exists(source / "tests/ops" / (stem + "_test.cpp")))
        << "core/ops/" << stem << ".h has no tests/ops/" << stem << "_test.cpp";
  }
}

TEST(Ops, EveryDifferentiableOpHasItsGradientChecked) {
  for (const std::string& stem : op_stems()) {
    const std::string header = read(source / "core/ops" / (stem + ".h"));
    const std::filesystem::path test = source / "tests/ops" / (stem + "_test.cpp");
    if (header.find("void gradient(GradientBuilder&") == std::string::npos || !std::filesystem::exists(test)) continue;
    const std::string text = read(test);
    EXPECT_TRUE(text.find("gradient_inputs") != std::string::npos || text.find("run_gradient") != std::string::npos)
        << test << " checks no gradient";
  }
}

}  // namespace
}  // namespace ptrain
