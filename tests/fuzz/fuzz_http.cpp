// Any bytes as the body of an inference request: answered with JSON, 200 or 400.
#include "core/base/parallel.h"
#include "core/cpu/cpu_backend.h"
#include "core/runtime/predictor.h"
#include "core/serve/model_service.h"
#include "models/model_registry.h"
#include "tests/fuzz/fuzzed_models.h"
#include "tests/temporary_directory.h"

#include <cmath>
#include <cstdlib>

namespace {

using namespace ptrain;

constexpr std::int64_t most = 2;

/// A model as ptrain serve has it, without sockets.
class Service {
 public:
  explicit Service(const std::filesystem::path& folder)
      : opened_(open_model(folder, model_entries(), make_model)),
        batcher_([this](Batch& batch) { return predictor_->run(batch); }, [this] { prepare(); }, {most, 0, 2},
                 metrics_),
        service_(opened_, predictor_->outputs(), "fuzz", batcher_, most, metrics_) {}

  void ask(std::string_view body) const {
    const ServiceAnswer answer = service_.infer(body);
    const nlohmann::json content = nlohmann::json::parse(answer.body);
    if (answer.status == 400 && content.at("error").is_string() && content.size() == 1) return;
    if (answer.status != 200) std::abort();
    for (const nlohmann::json& output : content.at("outputs")) {
      const auto rows = output.at("shape")[0].get<std::size_t>(), classes = output.at("shape")[1].get<std::size_t>();
      if (rows < 1 || output.at("data").size() != rows * classes) std::abort();
    }
  }

 private:
  void prepare() {
    set_thread_count(1);
    DeployOptions options;
    options.batch_size = most;
    options.max_length = opened_.trained.data.max_length;
    options.kernels.exhaustive_search = false;
    predictor_.emplace(*backend_, *opened_.model, *opened_.task, opened_.trained.weights(), options);
    predictor_->prepare(opened_.trained.data);
  }

  LoadedModel opened_;
  std::unique_ptr<Backend> backend_ = cpu::make_backend();
  std::optional<Predictor> predictor_;
  ServeMetrics metrics_;
  Batcher batcher_;
  ModelService service_;
};

struct Services {
  Services() {
    fuzzing::make_images_model(root / "images");
    fuzzing::make_texts_model(root / "texts");
    images.emplace(root / "images");
    texts.emplace(root / "texts");
  }

  TemporaryDirectory root;
  std::optional<Service> images, texts;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Services services;
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  services.images->ask(body);
  services.texts->ask(body);
  return 0;
}
