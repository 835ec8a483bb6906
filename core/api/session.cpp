#include "core/api/session.h"
#include "core/base/parallel.h"

#include "core/base/control_group.h"
#include "core/base/utf8.h"
#include "core/cpu/cpu_backend.h"
#include "core/cuda/cuda_backend.h"
#include "core/data/image/image_transform.h"
#include "models/model_registry.h"

#include <unistd.h>

#include <algorithm>

namespace ptrain::api {
namespace {

std::unique_ptr<Backend> make_backend(const DeviceChoice& device) {
  const bool cuda =
      device.kind == DeviceKind::cuda || (device.kind == DeviceKind::automatic && cuda::unavailable_reason().empty());
  return cuda ? cuda::make_backend(device.gpu.value_or(0)) : cpu::make_backend();
}

Settings complete_settings(Settings settings) {
  settings.folder = std::filesystem::absolute(settings.folder);  // so that clones find it after a change of directory
  if (settings.threads == 0) {
    const auto cpus = control_group_limits().cpus;
    settings.threads = cpus ? std::clamp(static_cast<int>(*cpus), 1, thread_count()) : thread_count();
  }
  return settings;
}

DeployOptions make_deploy_options(const Settings& settings, const LoadedModel& opened, DType preferred) {
  DeployOptions options;
  options.batch_size = settings.max_batch;
  options.max_length = opened.trained.data.max_length;
  options.amp.level = settings.precision;
  options.amp.dtype = preferred;
  options.kernels.exhaustive_search = settings.search;
  return options;
}

}  // namespace

Session::Session(Settings settings)
    : settings_(complete_settings(std::move(settings))),
      opened_(open_model(settings_.folder, model_entries(), make_model)) {
  if (!translates()) require_answers(opened_, "this interface");
  const std::string& hash = opened_.trained.document.hash;  // of model.json, which has the checksums of all files
  if (settings_.model_hash.empty()) settings_.model_hash = hash;
  if (settings_.model_hash != hash) {
    fail("{}: holds another model than the one that was opened; open it anew in place of a clone",
         settings_.folder.string());
  }
  computing_.run(settings_.threads, [this] { prepare(); });
  process_ = ::getpid();
  if (translates()) return;
  inputs_ = client_tensors(data());
  answers_ = predictor_->outputs();
  for (const TensorSpec& answer : answers_) answer_shapes_.push_back(with_rows(-1, answer.shape));
}

void Session::prepare() {
  backend_ = make_backend(settings_.device);
  DeployOptions options = make_deploy_options(settings_, opened_, backend_->kernels().preferred_low_precision());
  if (translates()) {
    tokens_.emplace(opened_.trained);
    options.cache = CacheOptions{.dtype = options.amp.level == AmpLevel::O0 ? DType::f32 : options.amp.dtype};
    translator_.emplace(*backend_, *opened_.model, *opened_.task, opened_.trained.weights(), std::move(options),
                        SearchOptions{.beams = default_beams}, tokens_->end_id());
    return;
  }
  if (data().kind == DataKind::text && opened_.trained.has_vocabulary()) encoder_.emplace(opened_.trained);
  predictor_.emplace(*backend_, *opened_.model, *opened_.task, opened_.trained.weights(), options);
}

void Session::require_process() const {
  if (process_ == ::getpid() || backend_->name() == "cpu") return;
  fail("the model was opened on a GPU before the process was forked: open it in the child");
}

void Session::encode_image(std::span<const std::uint8_t> file, std::span<std::uint8_t> pixels) const {
  if (data().kind != DataKind::image) fail_usage("the model reads no images");
  if (data().frames > 0) fail_usage("the model reads clips, not single images");
  Scratch scratch;
  SampleRandom random(0, 0, 0);  // evaluations use no randomness
  ImageTransform(data().image_size, Augmentation::none, data().orientation)
      .apply_encoded(file, "the image", random, scratch, pixels);
}

std::int32_t Session::encode_text(std::string_view text, std::span<std::int32_t> ids,
                                  std::span<std::int32_t> types) const {
  if (data().kind != DataKind::text) fail_usage("the model reads no texts");
  if (!encoder_) fail("{}: has no {}, so it reads token ids only", settings_.folder.string(), model_files::vocabulary);
  if (!is_utf8(text)) fail_usage("the text is not UTF-8");
  Scratch scratch;
  return encoder_->encode(split_sentences(text), scratch, ids, types);
}

Batch Session::run(std::span<const InputTensor> inputs) {
  Batch batch = make_batch(data(), inputs, settings_.max_batch);
  require_process();
  Batch answers;
  computing_.run(settings_.threads, [&] { answers = opened_.task->answers(predictor_->run(batch)); });
  return answers;
}

std::vector<std::string> Session::translate(std::span<const std::string> texts) {
  if (!translates()) fail_usage("the model does not translate");
  require_process();
  std::vector<Translator::Ids> sources;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (!is_utf8(texts[i])) fail_usage("text {}: is not UTF-8", i);
    sources.push_back(tokens_->encode(texts[i], fmt::format("text {}", i), ExitCode::usage));
  }
  std::vector<std::string> translations;
  const auto batch = static_cast<std::size_t>(settings_.max_batch);
  computing_.run(settings_.threads, [&] {
    for (std::size_t first = 0; first < sources.size(); first += batch) {
      const std::span part = std::span(sources).subspan(first, std::min(batch, sources.size() - first));
      for (const Translator::Ids& found : translator_->translate(part)) translations.push_back(tokens_->decode(found));
    }
  });
  return translations;
}

}  // namespace ptrain::api
