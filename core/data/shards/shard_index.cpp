#include "core/data/shards/shard_index.h"

#include "core/base/counted.h"
#include "core/base/errors.h"
#include "core/base/parallel.h"
#include "core/data/class_names.h"
#include "core/data/shards/shard_files.h"

#include <exception>

namespace ptrain {

std::int32_t ShardIndex::add_label(const ShardLabel& label) {
  const auto [found, is_new] = numbers_.try_emplace(label.text, static_cast<std::int32_t>(labels.size()));
  if (is_new) {
    labels.push_back(label);
  } else if (std::string& known = labels[static_cast<std::size_t>(found->second)].class_name;
             known != label.class_name) {
    known = "";
  }
  return found->second;
}

void ShardIndex::add(ShardSample sample, const ShardLabel& label) {
  sample.label = add_label({compose_class_name(label.text), compose_class_name(label.class_name)});
  samples.push_back(std::move(sample));
}

void ShardIndex::append(ShardIndex&& other, std::uint32_t shard) {
  std::vector<std::int32_t> numbers;
  for (const ShardLabel& label : other.labels) numbers.push_back(add_label(label));
  shards.insert(shards.end(), other.shards.begin(), other.shards.end());
  for (ShardSample& sample : other.samples) {
    sample.label = numbers[static_cast<std::size_t>(sample.label)];
    sample.shard = shard;
    samples.push_back(std::move(sample));
  }
}

std::vector<std::filesystem::path> require_shards(const std::string& root, Split split, const ShardForm& form) {
  std::vector<std::filesystem::path> shards = find_shards(root, split, form.is_shard);
  if (!shards.empty()) return shards;
  if (const auto packed = find_shards(root, split, form.is_compressed_shard); !packed.empty()) {
    fail("{}: is compressed, so its samples cannot be read in place; decompress it ({} in all)",
         packed.front().string(), counted(packed.size(), "file"));
  }
  const bool train = split == Split::train;
  const char* part = ", or data.split.dev, the fraction of the training samples to evaluate on";
  fail("{}: has no shards to {}; expected {}/{}, or names that contain the word {}{}", root,
       train ? "train on" : "evaluate on", train ? "train" : "val", form.pattern,
       train ? "train" : "val, validation, validate or test", train || !form.can_split ? "" : part);
}

void read_shard_sample(const std::filesystem::path& shard, const FileIdentity& indexed, const ShardSample& sample,
                       std::vector<std::uint8_t>& bytes) {
  bytes.resize(sample.length);
  try {
    const FileBytes file(shard);
    file.require(indexed);
    file.read(sample.offset, bytes);
    file.require(indexed);
  } catch (const ChangedFile&) {
    throw;
  } catch (const Error& error) {
    throw BadSample(error.what());
  }
}

ShardIndex index_shards(const std::vector<std::filesystem::path>& shards, const ShardForm& form) {
  std::vector<ShardIndex> each(shards.size());
  std::vector<std::exception_ptr> errors(shards.size());
  parallel_for(static_cast<std::int64_t>(shards.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      try {
        const FileBytes file(shards[i]);
        const FileIdentity identity = file.identity();
        if (file.size() == 0) fail("{}: is empty", file.name());
        each[i] = form.index(file);
        file.require(identity);
        each[i].shards = {identity};
        if (each[i].samples.empty()) fail("{}: has no samples", file.name());
      } catch (...) {  // passed out of the parallel loop
        errors[i] = std::current_exception();
      }
    }
  });
  ShardIndex index;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    if (errors[i]) std::rethrow_exception(errors[i]);
    index.append(std::move(each[i]), static_cast<std::uint32_t>(i));
    each[i] = {};
  }
  return index;
}

}  // namespace ptrain
