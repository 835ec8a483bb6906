// What the rows of core/data/registry.cpp hold: how each source is opened, which throws as open_dataset() documents,
// and how its files are known, as Recognition documents.
#pragma once

#include "core/data/factory.h"
#include "core/data/find_data.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

namespace ptrain {

/// Whether `root` is what open_idx reads.
bool holds_idx(const std::filesystem::path& root);
std::unique_ptr<Dataset> open_idx(const DataSettings& settings, Split split);
/// Whether `root` is what open_cifar reads.
bool holds_cifar(const std::filesystem::path& root);
std::unique_ptr<Dataset> open_cifar(const DataSettings& settings, Split split);
std::unique_ptr<Dataset> open_image_folder(const DataSettings& settings, Split split);
/// Throws Error too when a clip has fewer frames than settings.segments; the message names it.
std::unique_ptr<Dataset> open_clip_folder(const DataSettings& settings, Split split);
std::unique_ptr<Dataset> open_web_dataset(const DataSettings& settings, Split split);
std::unique_ptr<Dataset> open_tf_record(const DataSettings& settings, Split split);
std::unique_ptr<Dataset> open_packed(const DataSettings& settings, Split split);
std::unique_ptr<Dataset> open_tsv(const DataSettings& settings, Split split);
std::unique_ptr<Dataset> open_criteo(const DataSettings& settings, Split split);
/// What settings.synthetic_kind says, made from random numbers.
std::unique_ptr<Dataset> open_synthetic(const DataSettings& settings, Split split);
std::unique_ptr<Dataset> open_synthetic_clicks(const DataSettings& settings, Split split);
std::unique_ptr<Dataset> open_synthetic_shapes(const DataSettings& settings, Split split);
std::unique_ptr<Dataset> open_text(const DataSettings& settings, Split split);

using FoundData = std::optional<DataSettings>;
/// Photos are given a size by twenty of them: up to 64 px and below 224 their own shorter side, else 224.
FoundData find_image_folder(const std::filesystem::path& path, const ColumnNames& columns);
FoundData find_clip_folder(const std::filesystem::path& path, const ColumnNames& columns);
FoundData find_web_dataset(const std::filesystem::path& path, const ColumnNames& columns);
FoundData find_tf_record(const std::filesystem::path& path, const ColumnNames& columns);
/// One table, or a folder with a table named train.
FoundData find_text_table(const std::filesystem::path& path, const ColumnNames& columns);
/// Counts a table's rows and labels, without the vocabulary that opening it needs.
SampleCounts count_text_table(const DataSettings& settings);

/// What clicks are, from a file or made. Throws Error{usage} where settings.classes are not theirs.
DatasetInfo click_info(const DataSettings& settings);
/// The numbers of one synthetic sample; the splits do not overlap.
RandomStream synthetic_stream(const DataSettings& settings, Split split, std::int64_t index);
/// Samples of a split of synthetic data. Throws Error{usage} where it would be none.
std::int64_t synthetic_size(const DataSettings& settings, Split split);
/// The augmentation of a split: none for evaluation, `natural` when the settings say automatic.
Augmentation resolve_augment(const DataSettings& settings, Split split, Augmentation natural);
/// Throws Error when a path that this source needs is empty; the message names the source.
void require_path(const DataSettings& settings, std::string_view source);
/// Names for a message: the first ten.
std::string listed(const std::vector<std::string>& names);
/// Throws Error{usage} naming the classes that `place` has and the key where another number of them was asked for.
void require_classes(const DataSettings& settings, const std::vector<std::string>& names, std::string_view place);
/// Labels that are numbers stay below it.
inline constexpr std::int32_t most_classes = 100'000;
/// "0", "1", ... for sources whose classes have no names.
std::vector<std::string> numbered_classes(int classes);

}  // namespace ptrain
