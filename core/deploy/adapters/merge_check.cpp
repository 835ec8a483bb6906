#include "core/deploy/adapters/merge_check.h"

#include "core/base/errors.h"
#include "core/base/rng.h"
#include "core/data/dataset.h"
#include "core/data/tensor_names.h"
#include "core/data/text/text_encoding.h"
#include "core/runtime/text_encoder.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace ptrain {
namespace {

constexpr std::int64_t windows_at_once = 8;

std::int64_t longest(const std::vector<TokenWindow>& windows) {
  std::size_t most = 1;
  for (const TokenWindow& window : windows) most = std::max(most, window.context.size());
  return static_cast<std::int64_t>(most);
}

std::unique_ptr<DeployedModel> deploy(Backend& backend, const LoadedModel& opened, std::int64_t max_length) {
  DeployOptions options;
  options.batch_size = windows_at_once;
  options.max_length = max_length;
  options.kernels.exhaustive_search = false;
  return std::make_unique<DeployedModel>(backend, *opened.model, *opened.task, opened.trained.weights(), options);
}

Batch make_batch(const DatasetInfo& data, std::span<const TokenWindow> windows) {
  Batch batch(input_tensors(data), windows_at_once);
  batch.count = windows_at_once;
  for (std::size_t i = 0; i < static_cast<std::size_t>(windows_at_once); ++i) {
    const std::vector<std::int32_t>& ids = windows[std::min(i, windows.size() - 1)].context;
    const SampleRow row(batch, static_cast<std::int64_t>(i));
    std::ranges::copy(ids, row.at<std::int32_t>(tensor_names::ids).begin());
    row.set(tensor_names::lengths, static_cast<std::int32_t>(ids.size()));
  }
  return batch;
}

/// -log of the probability of `token`.
double surprise(std::span<const float> logits, std::int32_t token) {
  const double most = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - most);
  return std::log(sum) + most - static_cast<double>(logits[static_cast<std::size_t>(token)]);
}

}  // namespace

std::vector<TokenWindow> read_windows(const ModelArtifact& trained, const std::string& file, std::int64_t count) {
  std::vector<std::int32_t> ids;
  open_vocabulary(trained)->tokenize(read_running_text(file, TextEncoding::automatic).text, ids);
  const auto tokens = static_cast<std::int64_t>(ids.size());
  if (tokens < 2) fail("{}: expected a text of at least two tokens, got {}", file, tokens);
  count = std::min(count, tokens - 1);
  std::vector<TokenWindow> windows;
  for (std::int64_t i = 1; i <= count; ++i) {
    const std::int64_t end = i * (tokens - 1) / count;
    const std::int64_t begin = std::max<std::int64_t>(0, end - trained.data.max_length);
    windows.push_back({{ids.begin() + begin, ids.begin() + end}, ids[static_cast<std::size_t>(end)]});
  }
  return windows;
}

std::vector<TokenWindow> draw_windows(const ModelArtifact& trained, std::int64_t count) {
  const RandomStream random{1, 0, 0};
  auto draw = [&, next = std::uint64_t{0}]() mutable {
    return static_cast<std::int32_t>(random.uniform(next++) * static_cast<float>(trained.data.vocab_size - 1));
  };
  constexpr std::int64_t most = 64;
  std::vector<TokenWindow> windows(static_cast<std::size_t>(count));
  for (TokenWindow& window : windows) {
    window.context.resize(static_cast<std::size_t>(std::min<std::int64_t>(most, trained.data.max_length)));
    std::ranges::generate(window.context, std::ref(draw));
    window.next = draw();
  }
  return windows;
}

MergeCheck compare_merged(Backend& backend, const LoadedModel& adapted, const LoadedModel& merged,
                          const std::vector<TokenWindow>& windows) {
  const auto before = deploy(backend, adapted, longest(windows)), after = deploy(backend, merged, longest(windows));
  MergeCheck check;
  check.windows = static_cast<std::int64_t>(windows.size());
  double changed = 0, whole = 0, same = 0, loss_before = 0, loss_after = 0;
  for (std::size_t first = 0; first < windows.size(); first += static_cast<std::size_t>(windows_at_once)) {
    const auto some =
        std::span(windows).subspan(first, std::min(static_cast<std::size_t>(windows_at_once), windows.size() - first));
    const Batch batch = make_batch(adapted.trained.data, some);
    const Batch was = before->run(batch), is = after->run(batch);
    for (std::size_t i = 0; i < some.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i);
      require_finite(was, row, adapted.trained.folder.string());
      require_finite(is, row, merged.trained.folder.string());
      const auto a = was.at(tensor_names::logits).row<float>(row), b = is.at(tensor_names::logits).row<float>(row);
      for (std::size_t j = 0; j < a.size(); ++j) {
        const double difference = static_cast<double>(b[j]) - static_cast<double>(a[j]);
        changed += difference * difference;
        whole += static_cast<double>(a[j]) * static_cast<double>(a[j]);
        check.largest = std::max(check.largest, std::abs(difference));
      }
      same += std::ranges::max_element(a) - a.begin() == std::ranges::max_element(b) - b.begin() ? 1 : 0;
      loss_before += surprise(a, some[i].next);
      loss_after += surprise(b, some[i].next);
    }
  }
  const auto count = static_cast<double>(check.windows);
  check.relative = whole > 0 ? std::sqrt(changed / whole) : 0;
  check.agreement = same / count;
  check.perplexity_before = std::exp(loss_before / count);
  check.perplexity_after = std::exp(loss_after / count);
  return check;
}

}  // namespace ptrain
