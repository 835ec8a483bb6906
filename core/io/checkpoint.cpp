// A directory of checkpoints: saving with retention, listing, and finding the newest intact one.
#include "core/io/checkpoint.h"

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "core/io/checkpoint_format.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view checkpoint_prefix = "ckpt-";
constexpr std::string_view checkpoint_suffix = ".safetensors";
constexpr std::string_view checkpoint_v1_suffix = ".ptrain";

/// The step in a checkpoint's name.
std::optional<std::uint64_t> parse_step(std::string_view name) {
  const std::string_view suffix = name.ends_with(checkpoint_suffix) ? checkpoint_suffix : checkpoint_v1_suffix;
  if (!name.starts_with(checkpoint_prefix) || !name.ends_with(suffix) ||
      name.size() <= checkpoint_prefix.size() + suffix.size())
    return {};
  name = name.substr(checkpoint_prefix.size(), name.size() - checkpoint_prefix.size() - suffix.size());
  std::uint64_t step = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  if (error != std::errc{} || end != name.data() + name.size()) return {};
  if (name.size() > 1 && name.front() == '0') return {};  // not a name that checkpoint_path makes
  return step;
}

/// Sorted by step; for equal steps the file of the first format comes first.
std::vector<std::pair<std::uint64_t, fs::path>> list_files(const fs::path& directory) {
  std::vector<std::pair<std::uint64_t, fs::path>> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error))
    if (const auto step = parse_step(entry.path().filename().string())) files.emplace_back(*step, entry.path());
  if (error && error != std::errc::no_such_file_or_directory)
    fail("cannot list {}: {}", directory.string(), error.message());
  std::sort(files.begin(), files.end());
  return files;
}

bool is_unfinished(std::string_view name) {
  const auto is_temporary = [&](std::string_view suffix) {
    return name.find(fmt::format("{}.tmp.", suffix)) != std::string_view::npos;
  };
  return name.starts_with(fmt::format(".{}", checkpoint_prefix)) &&
         (is_temporary(checkpoint_suffix) || is_temporary(checkpoint_v1_suffix));
}

/// The step of the checkpoint since which that file holds the changes; none where it holds all, or cannot be read.
std::optional<std::uint64_t> find_base(const fs::path& path) {
  try {
    return read_base_step(path);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Best effort: an extra checkpoint is no reason to stop training.
void remove_superseded(const fs::path& directory, std::uint64_t newest, int keep) {
  std::error_code ignored;
  std::vector<fs::path> unfinished;  // from a save that was killed: only one process saves into a directory
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, ignored))
    if (is_unfinished(entry.path().filename().string())) unfinished.push_back(entry.path());
  for (const fs::path& path : unfinished) fs::remove(path, ignored);

  if (keep <= 0) return;
  std::vector<std::uint64_t> steps = list_checkpoints(directory);
  std::erase_if(steps, [&](std::uint64_t step) { return step > newest; });
  const std::size_t kept = static_cast<std::size_t>(keep);
  if (steps.size() <= kept) return;
  const std::uint64_t oldest_kept = steps[steps.size() - kept];
  std::set<std::uint64_t> bases;
  for (const auto& [step, path] : list_files(directory)) {
    const std::optional<std::uint64_t> base = step < oldest_kept ? std::nullopt : find_base(path);
    if (base) bases.insert(*base);
  }
  for (const auto& [step, path] : list_files(directory))
    if (step < oldest_kept && !bases.contains(step)) fs::remove(path, ignored);
}

}  // namespace

fs::path checkpoint_path(const fs::path& directory, std::uint64_t step) {
  return directory / fmt::format("{}{}{}", checkpoint_prefix, step, checkpoint_suffix);
}

std::vector<std::uint64_t> list_checkpoints(const fs::path& directory) {
  std::vector<std::uint64_t> steps;
  for (const auto& [step, path] : list_files(directory))
    if (steps.empty() || steps.back() != step) steps.push_back(step);
  return steps;
}

void remove_checkpoints(const fs::path& directory) {
  for (const auto& [step, path] : list_files(directory)) fs::remove(path);
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
  const auto files = list_files(directory);
  for (auto file = files.rbegin(); file != files.rend() && !latest.checkpoint; ++file) {
    try {
      latest.checkpoint = load_checkpoint(file->second);
      if (latest.checkpoint->info().step != file->first) {
        latest.warnings.push_back(fmt::format("{}: holds step {}; passed over", latest.checkpoint->path().string(),
                                              latest.checkpoint->info().step));
        latest.checkpoint.reset();
      }
    } catch (const UnreadableFile&) {
      throw;  // it may be intact: resuming from an earlier one would overwrite it
    } catch (const Error& invalid) {
      latest.warnings.push_back(fmt::format("{}; passed over", invalid.what()));
    }
  }
  return latest;
}

}  // namespace ptrain
