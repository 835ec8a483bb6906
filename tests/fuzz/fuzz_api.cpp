// Any calls of libptrain's functions on models that are open: each returns its status, with a line that says what was
// wrong, and reads and writes nothing beside what it was handed.
#include "core/api/ptrain.h"
#include "tests/fuzz/fuzzed_models.h"
#include "tests/temporary_directory.h"

#include <fuzzer/FuzzedDataProvider.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace {

using namespace ptrain;

void require(bool holds) {
  if (!holds) std::abort();
}

struct Models {
  Models() {
    fuzzing::make_images_model(root / "images");
    fuzzing::make_texts_model(root / "texts");
    ptrain_options options{};
    options.max_batch = 2;
    options.threads = 1;
    for (std::size_t i = 0; i < open.size(); ++i) {
      const std::string folder = (root / (i == 0 ? "images" : "texts")).string();
      require(ptrain_open(folder.c_str(), &options, &open[i]) == PTRAIN_OK);
    }
  }
  ~Models() {
    for (ptrain_model* model : open) ptrain_close(model);
  }

  TemporaryDirectory root;
  std::array<ptrain_model*, 2> open{};
};

void check(ptrain_status status) {
  if (status == PTRAIN_OK) return;
  const std::string message = ptrain_last_error();
  require(status == PTRAIN_INVALID || status == PTRAIN_FAILED);
  require(!message.empty() && message.find('\n') == message.npos);
}

std::size_t width(int type) { return type == PTRAIN_UINT8 ? 1 : type == PTRAIN_INT64 ? 8 : 4; }

/// One input of a call and the memory that it names: as much as its shape says or, where that is more than any model
/// reads, nearly none.
struct Input {
  explicit Input(FuzzedDataProvider& bytes) {
    constexpr std::size_t most_bytes = 4096;
    static const char* const names[] = {"images", "input_ids", "attention_mask", "token_type_ids", nullptr};
    const char* known = bytes.PickValueInArray(names);
    name = known == nullptr ? bytes.ConsumeRandomLengthString(12) : known;
    tensor.type = static_cast<ptrain_type>(bytes.ConsumeIntegralInRange<int>(0, 3));
    tensor.rank = bytes.ConsumeIntegralInRange<std::int32_t>(-1, 9);
    double elements = 1;
    for (int i = 0; i < tensor.rank; ++i) {
      const bool odd = bytes.ConsumeIntegralInRange(0, 31) == 0;
      shape.push_back(odd ? bytes.ConsumeIntegral<std::int64_t>() : bytes.ConsumeIntegralInRange<std::int64_t>(0, 12));
      elements *= static_cast<double>(shape.back());
    }
    const double size = elements * static_cast<double>(width(tensor.type));
    data = bytes.ConsumeBytes<std::uint8_t>(bytes.ConsumeIntegralInRange<std::size_t>(0, most_bytes));
    data.resize(size >= 0 && size <= most_bytes ? static_cast<std::size_t>(size) : 1);
    data.shrink_to_fit();
    tensor.name = name.c_str();
    tensor.shape = shape.empty() ? nullptr : shape.data();
    tensor.data = bytes.ConsumeIntegralInRange(0, 31) == 0 ? nullptr : data.data();
  }
  Input(const Input&) = delete;

  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<std::uint8_t> data;
  ptrain_tensor tensor{};
};

void run(ptrain_model* model, FuzzedDataProvider& bytes) {
  std::vector<std::unique_ptr<Input>> inputs;
  std::vector<ptrain_tensor> tensors;
  for (int i = bytes.ConsumeIntegralInRange(0, 9); i > 0; --i) {
    inputs.push_back(std::make_unique<Input>(bytes));
    tensors.push_back(inputs.back()->tensor);
  }
  const auto output = static_cast<ptrain_output>(bytes.ConsumeIntegralInRange(0, 1));
  std::vector<float> values(bytes.ConsumeIntegralInRange<std::size_t>(0, 6), -1.0f);
  const ptrain_status status = ptrain_run(model, tensors.data(), tensors.size(), output, values.data(), values.size());
  check(status);
  for (const float value : values) require(status == PTRAIN_OK ? std::isfinite(value) : value == -1.0f);
}

void encode(ptrain_model* model, FuzzedDataProvider& bytes) {
  std::vector<std::uint8_t> pixels(8 * 8 * 3);
  std::vector<std::int32_t> ids(12), mask(12), types(12);
  const std::string file = bytes.ConsumeRemainingBytesAsString();
  check(ptrain_encode_image(model, file.data(), file.size(), pixels.data()));
  if (ptrain_encode_text(model, file.c_str(), ids.data(), mask.data(), types.data()) != PTRAIN_OK) return;
  for (std::size_t i = 0; i < ids.size(); ++i) require(ids[i] >= 0 && ids[i] < 16 && (mask[i] == 1 || mask[i] == 0));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Models models;
  FuzzedDataProvider bytes(data, size);
  ptrain_model* model = models.open[bytes.ConsumeBool() ? 1 : 0];
  const std::int64_t index = bytes.ConsumeIntegralInRange<std::int64_t>(-2, 4);
  const char* name = ptrain_class_name(model, index);
  require((name == nullptr) == (index < 0 || index >= (model == models.open[0] ? 3 : 2)));
  bytes.ConsumeIntegralInRange(0, 7) == 0 ? encode(model, bytes) : run(model, bytes);
  return 0;
}
