// Every op that core/ops defines is in the list, has a CPU kernel, and its file a test of the same stem.
#include "core/cpu/cpu_kernel_registry.h"
#include "core/ops/op_list.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
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

/// Headers below core/ops that define an op, by stem.
std::map<std::string, std::string> op_headers() {
  std::map<std::string, std::string> headers;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(source / "core/ops")) {
    if (entry.path().extension() != ".h") continue;
    std::string text = read(entry.path());
    if (text.find("public Op") != std::string::npos) headers.emplace(entry.path().stem().string(), std::move(text));
  }
  return headers;
}

/// By the literals that the ops' kernel() and type() return in their headers.
std::set<std::string> ops_in_headers() {
  std::set<std::string> ops;
  for (const auto& [stem, text] : op_headers()) {
    for (const std::string_view before : {"type() const override { return \"", "kernel() const override { return \""}) {
      for (std::size_t at = text.find(before); at != std::string::npos; at = text.find(before, at)) {
        at += before.size();
        ops.insert(text.substr(at, text.find('"', at) - at));
      }
    }
  }
  return ops;
}

/// The test of the header of that stem; not there: the path where it is missed.
std::filesystem::path get_test(const std::string& stem) {
  const std::filesystem::path folder = source / "tests/ops", name = stem + "_test.cpp";
  for (const auto& below : std::filesystem::directory_iterator(folder)) {
    if (std::filesystem::exists(below.path() / name)) return below.path() / name;
  }
  return folder / name;
}

TEST(Ops, TheListIsThatOfTheHeaders) {
  std::set<std::string> listed(op_names.begin(), op_names.end());
  listed.insert(cpu_op_names.begin(), cpu_op_names.end());
  listed.insert(exchange_op_names.begin(), exchange_op_names.end());
  EXPECT_EQ(listed, ops_in_headers());
}

TEST(Ops, EveryOneHasACpuKernel) {
  for (const std::string_view name : op_names) EXPECT_NE(cpu::find_kernel(name), nullptr) << name;
  for (const std::string_view name : cpu_op_names) EXPECT_NE(cpu::find_kernel(name), nullptr) << name;
  EXPECT_EQ(cpu::find_kernel("no_such_op"), nullptr);
}

TEST(Ops, EveryFileHasATestOfTheSameStem) {
  for (const auto& [stem, text] : op_headers()) {
    EXPECT_TRUE(std::filesystem::exists(get_test(stem))) << stem << ".h has no " << get_test(stem);
  }
}

TEST(Ops, EveryDifferentiableOpHasItsGradientChecked) {
  for (const auto& [stem, header] : op_headers()) {
    const std::filesystem::path test = get_test(stem);
    const bool stops = header.find("gradient(GradientBuilder& /*builder*/) const override {}") != std::string::npos;
    const bool differentiable = header.find("void gradient(GradientBuilder&") != std::string::npos && !stops;
    if (!differentiable || !std::filesystem::exists(test)) continue;
    const std::string text = read(test);
    EXPECT_TRUE(text.find("gradient_inputs") != std::string::npos || text.find("run_gradient") != std::string::npos)
        << test << " checks no gradient";
  }
}

}  // namespace
}  // namespace ptrain
