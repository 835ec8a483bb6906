// Any bytes as the model.json of a trained model: refused with an Error of one line, or a model that answers. Checksums
// are repaired first, or no input would ever reach the code after their check.
#include "core/base/errors.h"
#include "core/base/hash.h"
#include "core/cpu/cpu_backend.h"
#include "core/data/tensor_names.h"
#include "core/io/atomic_file.h"
#include "core/io/json_text.h"
#include "core/runtime/predictor.h"
#include "core/runtime/text_encoder.h"
#include "models/model_registry.h"
#include "tests/fuzz/fuzzed_models.h"
#include "tests/temporary_directory.h"

#include <fmt/format.h>

#include <cstdlib>

namespace {

using namespace ptrain;
using nlohmann::json;
namespace fs = std::filesystem;

/// Folders of models, with what model.json says of their files. Images have no weights, which would be large.
struct Folders {
  Folders() {
    fuzzing::make_texts_model(texts);
    fuzzing::make_int8_model(texts, int8);
    fs::create_directory(images);
    fs::copy_file(texts / model_files::weights, images / model_files::weights);
  }

  TemporaryDirectory root;
  fs::path texts = root / "texts", int8 = root / "int8", images = root / "images";
};

const fs::path& get_folder(const Folders& folders, const json& document) {
  if (document.contains("quantization")) return folders.int8;
  return document.contains("image") && document["image"].is_object() ? folders.images : folders.texts;
}

void repair(json& document, const fs::path& folder) {
  if (document.contains("files") && document["files"].is_object()) {
    for (const char* name : {model_files::weights, model_files::architecture, model_files::vocabulary}) {
      if (!document["files"].contains(name) || !fs::exists(folder / name)) continue;
      const std::string file = read_file(folder / name);
      document["files"][name] = {{"bytes", file.size()},
                                 {"crc32", fmt::format("{:08x}", crc32(std::as_bytes(std::span(file))))}};
    }
  }
  document.erase("hash");
  document["hash"] = fmt::format("fnv1a64:{:016x}", fnv1a64(document.dump()));
}

void open_and_ask(const fs::path& folder) {
  const LoadedModel opened = open_model(folder, model_entries(), make_model);
  if (opened.trained.has_vocabulary()) TextEncoder{opened.trained};
  const std::unique_ptr<Backend> backend = cpu::make_backend();
  DeployOptions options;
  options.max_length = opened.trained.data.max_length;
  options.kernels.exhaustive_search = false;
  Predictor predictor(*backend, *opened.model, *opened.task, opened.trained.weights(), options);
  Batch batch = make_synthetic_batch(opened.trained.data, 1);
  const Batch scores = predictor.run(batch);
  if (scores.at(tensor_names::logits).shape().count() !=
      static_cast<std::int64_t>(opened.trained.data.class_names.size()))
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folders folders;
  std::string text(reinterpret_cast<const char*>(data), size);
  json document = parse_json(text);
  fs::path folder = folders.texts;
  try {
    if (document.is_object()) {
      folder = get_folder(folders, document);
      repair(document, folder);
      text = document.dump();
    }
  } catch (const json::exception&) {  // no UTF-8: stays as it is
  }
  std::ofstream(folder / model_files::document, std::ios::binary) << text;
  try {
    open_and_ask(folder);
  } catch (const Error& error) {
    const std::string_view message = error.what();
    if (message.empty() || message.find('\n') != message.npos) std::abort();
  }
  return 0;
}
