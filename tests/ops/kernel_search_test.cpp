#include "core/cpu/implementation_search.h"

#include "core/cpu/cpu_kernels.h"
#include "core/io/atomic_file.h"
#include "core/ops/elementwise.h"
#include "core/ops/image/conv2d.h"
#include "tests/temporary_directory.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace ptrain::testing {
namespace kernel_search_test {

class Sleeper final : public Kernel {
 public:
  Sleeper(std::string name, int milliseconds) : name_(std::move(name)), milliseconds_(milliseconds) {}
  void run(const KernelArgs&) override { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds_)); }
  KernelRecord record() const override { return {name_}; }

 private:
  std::string name_;
  int milliseconds_;
};

class KernelSearch : public ::testing::Test {
 protected:
  /// Chooses among kernels of these names, which take 100, 20, 4, ... ms: apart by more than a busy machine adds.
  std::string choose(const std::vector<std::string>& names, bool exhaustive = true, SearchCache* cache = nullptr) {
    std::vector<std::unique_ptr<Kernel>> candidates;
    int milliseconds = 100;
    for (const std::string& name : names) {
      candidates.push_back(std::make_unique<Sleeper>(name, milliseconds));
      milliseconds /= 5;
    }
    const KernelContext context{
        op_, descs_, descs_, {.exhaustive_search = exhaustive}, cache == nullptr ? &cache_ : cache};
    return cpu::choose_kernel(context, std::move(candidates))->record().implementation;
  }

  struct OwnCache : TemporaryDirectory {
    OwnCache() { setenv("PTRAIN_CACHE_DIR", path().c_str(), 1); }
  };

  Add op_;
  std::vector<TensorDesc> descs_{{DType::f32, Shape{4}}};
  OwnCache folder_;
  SearchCache cache_{"a device that no machine has"};
};

TEST_F(KernelSearch, KeepsTheFastestAndRemembersIt) {
  EXPECT_EQ(choose({"slow", "fast"}), "fast");
  const std::string hash = cache_.hash();
  EXPECT_EQ(choose({"slow", "fast"}), "fast");
  EXPECT_EQ(cache_.hash(), hash);
}

TEST_F(KernelSearch, TakesTheFirstWhenItIsOff) { EXPECT_EQ(choose({"slow", "fast"}, false), "slow"); }

TEST_F(KernelSearch, SearchesAgainWhenThereIsMoreToChooseFrom) {
  EXPECT_EQ(choose({"slow", "fast"}), "fast");
  EXPECT_EQ(choose({"slow", "fast", "faster"}), "faster");
}

TEST_F(KernelSearch, SearchesAgainForAnImplementationThatIsGone) {
  EXPECT_EQ(choose({"slow", "fast"}), "fast");
  std::string content = read_file(cache_.path());
  content.replace(content.rfind("fast"), 4, "gone");
  write_file_atomic(cache_.path(), content);
  for (const bool again : {false, true}) {
    SearchCache next("a device that no machine has");
    EXPECT_EQ(choose({"slow", "fast"}, true, &next), "fast") << again;
    EXPECT_NE(read_file(cache_.path()).rfind("\"fast\""), std::string::npos);
  }
}

/// A strided convolution and its gradient, whose implementations oneDNN repeats once they are in its cache.
TEST_F(KernelSearch, HasTheSameCandidatesWhateverWasMadeBefore) {
  const Conv2d op({.stride = 2, .padding = 1});
  const std::vector<TensorDesc> inputs{{DType::f32, Shape{3, 16, 16, 64}}, {DType::f32, Shape{128, 3, 3, 64}}};
  const std::vector<TensorDesc> outputs{{DType::f32, Shape{3, 8, 8, 128}}};
  std::vector<std::string> hashes;
  std::vector<std::unique_ptr<Kernel>> kept;
  for (int rank = 0; rank < 3; ++rank) {
    kept.push_back(cpu::make_conv2d({op, inputs, outputs, {.exhaustive_search = true}, &cache_}));
    hashes.push_back(cache_.hash());
  }
  EXPECT_EQ(hashes, std::vector(3, hashes.front()));
}

}  // namespace kernel_search_test
}  // namespace ptrain::testing
