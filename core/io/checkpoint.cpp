// A directory of checkpoints: saving with retention, listing, and finding the newest one that is whole.
#include "core/io/checkpoint.h"

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "core/io/checkpoint_format.h"

#include <algorithm>
#include <charconv>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view checkpoint_prefix = "ckpt-";
constexpr std::string_view checkpoint_suffix = ".ptrain";

std::optional<std::uint64_t> step_of(std::string_view name) {
  if (!name.starts_with(checkpoint_prefix) || !name.ends_with(checkpoint_suffix) ||
      name.size() <= checkpoint_prefix.size() + checkpoint_suffix.size())
    return {};
  name = name.substr(checkpoint_prefix.size(), name.size() - checkpoint_prefix.size() - checkpoint_suffix.size());
  std::uint64_t step = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  if (error != std::errc{} || end != name.data() + name.size()) return {};
  if (name.size() > 1 && name.front() == '0') return {};  // not a name that checkpoint_path makes
  return step;
}

/// Best effort: a checkpoint too many is no reason to stop training.
void remove_superseded(const fs::path& directory, std::uint64_t newest, int keep) {
  std::error_code ignored;
  std::vector<fs::path> unfinished;  // of a save that was killed: only one process saves into a directory
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(".ckpt-") && name.find(".ptrain.tmp.") != std::string::npos)
      unfinished.push_back(entry.path());
  }
  for (const fs::path& path : unfinished) fs::remove(path, ignored);

  if (keep <= 0) return;
  std::vector<std::uint64_t> steps = list_checkpoints(directory);
  std::erase_if(steps, [&](std::uint64_t step) { return step > newest; });
  const std::size_t kept = static_cast<std::size_t>(keep);
  for (std::size_t i = 0; i + kept < steps.size(); ++i) fs::remove(checkpoint_path(directory, steps[i]), ignored);
}

}  // namespace

fs::path checkpoint_path(const fs::path& directory, std::uint64_t step) {
  return directory / fmt::format("{}{}{}", checkpoint_prefix, step, checkpoint_suffix);
}

std::vector<std::uint64_t> list_checkpoints(const fs::path& directory) {
  std::vector<std::uint64_t> steps;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error))
    if (const auto step = step_of(entry.path().filename().string())) steps.push_back(*step);
  if (error && error != std::errc::no_such_file_or_directory)
    fail("cannot list {}: {}", directory.string(), error.message());
  std::sort(steps.begin(), steps.end());
  return steps;
}

fs::path save_checkpoint(const fs::path& directory, const CheckpointInfo& info, std::span<const NamedTensor> tensors,
                         int keep) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) fail("cannot create the directory {}: {}", directory.string(), error.message());
  fs::path path = checkpoint_path(directory, info.step);
  AtomicFile file(path);
  write_checkpoint(file, info, tensors);
  file.commit();
  remove_superseded(directory, info.step, keep);
  return path;
}

LatestCheckpoint find_latest(const fs::path& directory) {
  LatestCheckpoint latest;
  const std::vector<std::uint64_t> steps = list_checkpoints(directory);
  for (auto step = steps.rbegin(); step != steps.rend() && !latest.checkpoint; ++step) {
    try {
      latest.checkpoint = load_checkpoint(checkpoint_path(directory, *step));
      if (latest.checkpoint->info().step != *step) {
        latest.warnings.push_back(fmt::format("{}: holds step {}; passed over", latest.checkpoint->path().string(),
                                              latest.checkpoint->info().step));
        latest.checkpoint.reset();
      }
    } catch (const UnreadableFile&) {
      throw;  // it may be whole: going on from less would write over it
    } catch (const Error& invalid) {
      latest.warnings.push_back(fmt::format("{}; passed over", invalid.what()));
    }
  }
  return latest;
}

}  // namespace ptrain
