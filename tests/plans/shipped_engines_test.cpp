// Plans compiled for a GPU that is described are what kernels on one that is described alike ask for.
#include "core/cuda/library/shipped_engines.h"

#include "core/cuda/cuda_kernel_registry.h"
#include "core/cuda/library/compiled_graph.h"
#include "core/ops/normalization/batch_norm.h"
#include "core/ops/text/attention.h"
#include "tests/described_gpu.h"
#include "tests/temporary_directory.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <fstream>

namespace ptrain::cuda {
namespace {

/// The described H200 with another value of a property.
template <typename T>
GpuDescription h200_with(const char* property, const T& value) {
  nlohmann::json json = nlohmann::json::parse(described_h200);
  json.at(property) = value;
  return parse_gpu_description(json.dump());
}

/// Plans in a folder, without what says whose they are.
int plans_in(const std::filesystem::path& folder) {
  int plans = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) plans += file.path().extension() == ".cbor";
  return plans;
}

/// Makes kernels of a batch norm and of attention, which cuDNN compiles from source; what they run, in words.
std::string make_kernels(Device& device) {
  KernelOptions options;
  options.exhaustive_search = false;
  const auto describe = [&](const Op& op, const std::vector<TensorDesc>& inputs) {
    const std::vector<TensorDesc> outputs = op.infer(inputs);
    return find_kernel(op.kernel())({op, inputs, outputs, options}, device)->record().implementation + '\n';
  };
  const TensorDesc channels{DType::f32, Shape{64}};
  AttentionAttributes attention;
  attention.heads = 12;
  return describe(BatchNorm(BatchNormAttributes{}),
                  {{DType::f16, Shape{8, 14, 14, 64}}, channels, channels, channels, channels}) +
         describe(Attention(attention), {{DType::f16, Shape{4, 128, 3 * 768}}, {DType::i32, Shape{4}}});
}

class ShippedPlans : public ::testing::Test {
 protected:
  static constexpr int graphs = 2;

  /// Once for all tests, as it takes seconds.
  static void SetUpTestSuite() {
    shipped_ = std::make_unique<TemporaryDirectory>();
    Device device(gpu(), new_plans(shipped_->path(), gpu()));
    made_ = make_kernels(device);
  }
  static void TearDownTestSuite() { shipped_.reset(); }

  static GpuDescription gpu() { return parse_gpu_description(described_h200); }

  /// How many plans kernels compile on such a GPU whose only compiled engines are those in the folder `shipped`.
  static int compiled_on(const GpuDescription& gpu, const std::filesystem::path& shipped) {
    const TemporaryDirectory own;
    Device device(gpu, EngineCache(own.path()));
    device.planned_graphs().shipped = find_plans(shipped, gpu);
    EXPECT_EQ(make_kernels(device), made_);
    return plans_in(own.path());
  }

  static std::unique_ptr<TemporaryDirectory> shipped_;
  static std::string made_;
};
std::unique_ptr<TemporaryDirectory> ShippedPlans::shipped_;
std::string ShippedPlans::made_;

TEST_F(ShippedPlans, AreCompiledByTheKernels) {
  EXPECT_EQ(plans_in(plans_folder(shipped_->path(), gpu())), graphs);
  EXPECT_NE(made_.find("persistent cudnn:"), std::string::npos) << made_;
  EXPECT_NE(made_.find("flash cudnn:"), std::string::npos) << made_;
}

TEST_F(ShippedPlans, AreTakenWhereTheDescriptionIsThatOfTheDevice) {
  EXPECT_EQ(compiled_on(gpu(), shipped_->path()), 0);
  EXPECT_EQ(compiled_on(h200_with("smClockRateKHz", 1000000), shipped_->path()), 0);
}

TEST_F(ShippedPlans, AreNotTakenOnAnotherGpu) {
  for (const GpuDescription& other : {h200_with("multiProcessorCount", 114), h200_with("deviceVer", 1000),
                                      h200_with("maxSharedMemoryPerBlockOptin", 101376)}) {
    EXPECT_NE(other.code_properties, gpu().code_properties);
    EXPECT_FALSE(std::filesystem::exists(plans_folder(shipped_->path(), other)));
  }
  EXPECT_EQ(compiled_on(h200_with("multiProcessorCount", 114), shipped_->path()), graphs);
}

TEST_F(ShippedPlans, AreCompiledAnewWhereTheyAreDamagedOrOfAnother) {
  const TemporaryDirectory copy;
  std::filesystem::copy(shipped_->path(), copy.path(), std::filesystem::copy_options::recursive);
  const std::filesystem::path folder = plans_folder(copy.path(), gpu());
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".cbor") continue;
    std::filesystem::resize_file(file, file.file_size() / 2);
    break;
  }
  EXPECT_EQ(compiled_on(gpu(), copy.path()), 1);
  std::ofstream(folder / "device.json") << h200_with("multiProcessorCount", 114).code_properties;
  EXPECT_EQ(compiled_on(gpu(), copy.path()), graphs);
}

TEST_F(ShippedPlans, AreNotAskedForWhatTheUserHas) {
  Device device(gpu(), EngineCache(plans_folder(shipped_->path(), gpu())));
  device.planned_graphs().shipped.reset();  // looking for them would throw: it takes a GPU
  EXPECT_EQ(make_kernels(device), made_);
  EXPECT_FALSE(device.planned_graphs().shipped.has_value());
}

TEST_F(ShippedPlans, AreNotTakenFromAFolderThatOthersCanWrite) {
  const TemporaryDirectory copy;
  std::filesystem::copy(shipped_->path(), copy.path(), std::filesystem::copy_options::recursive);
  std::filesystem::permissions(plans_folder(copy.path(), gpu()), std::filesystem::perms::others_write,
                               std::filesystem::perm_options::add);
  EXPECT_EQ(compiled_on(gpu(), copy.path()), graphs);
}

TEST(GpuDescription, IsRefusedInOneLineWhereItIsNone) {
  for (const char* text : {"", "[]", "{}", "null", R"({"deviceVer":"900","multiProcessorCount":132})"}) {
    try {
      parse_gpu_description(text);
      ADD_FAILURE() << text;
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()).find("doctor --describe-gpu"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace ptrain::cuda
