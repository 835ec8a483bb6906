// Functions for the rows of core/data/source_registry.cpp: open_..., which throw as open_dataset() documents, and
// find_..., which recognise files as Recognition documents.
#pragma once

#include "core/data/factory.h"
#include "core/data/find_data.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

namespace ptrain {

struct Config;

/// Whether open_idx can read `root`.
bool holds_idx(const std::filesystem::path& root);
std::unique_ptr<Dataset> open_idx(const DataSettings& settings, Split split);
/// Whether open_cifar can read `root`.
bool holds_cifar(const std::filesystem::path& root);
std::unique_ptr<Dataset> open_cifar(const DataSettings& settings, Split split);
std::unique_ptr<Dataset> open_image_folder(const DataSettings& settings, Split split);
/// Also throws Error when a clip has fewer frames than its segments need; the message names it.
std::unique_ptr<Dataset> open_clip_folder(const DataSettings& settings, Split split);
std::unique_ptr<Dataset> open_mask_folder(const DataSettings& settings, Split split);
std::unique_ptr<Dataset> open_voc_segmentation(const DataSettings& settings, Split split);
std::unique_ptr<Dataset> open_cityscapes(const DataSettings& settings, Split split);
std::unique_ptr<Dataset> open_web_dataset(const DataSettings& settings, Split split);
std::unique_ptr<Dataset> open_tf_record(const DataSettings& settings, Split split);
/// Also throws Error{failed} naming file and record of a video that has no labels, or one that is out of range.
std::unique_ptr<Dataset> open_youtube8m(const DataSettings& settings, Split split);
std::unique_ptr<Dataset> open_packed(const DataSettings& settings, Split split);
/// Whether `root` has annotations of evaluation samples that open_coco reads.
bool holds_coco(const std::filesystem::path& root);
/// Also throws as parse_coco does, and Error{failed} naming the folders where the images were looked for.
std::unique_ptr<Dataset> open_coco(const DataSettings& settings, Split split);
/// Whether `root` has a list of evaluation samples that open_voc reads.
bool holds_voc(const std::filesystem::path& root);
/// Also throws as parse_voc does.
std::unique_ptr<Dataset> open_voc(const DataSettings& settings, Split split);
/// Also throw Error{failed} naming file and line of what is no box around text.
std::unique_ptr<Dataset> open_text_boxes(const DataSettings& settings, Split split);
std::unique_ptr<Dataset> open_icdar(const DataSettings& settings, Split split);
/// Also throws Error{failed} naming file and line of a text that is missing or has a character that is not in
/// settings.vocab_path or, without it, in the training texts.
std::unique_ptr<Dataset> open_text_images(const DataSettings& settings, Split split);
std::unique_ptr<Dataset> open_tsv(const DataSettings& settings, Split split);
std::unique_ptr<Dataset> open_criteo(const DataSettings& settings, Split split);
std::unique_ptr<Dataset> open_slots(const DataSettings& settings, Split split);
/// Generates data of settings.synthetic_kind from random numbers.
std::unique_ptr<Dataset> open_synthetic(const DataSettings& settings, Split split);
std::unique_ptr<Dataset> open_synthetic_clicks(const DataSettings& settings, Split split);
/// Of each class's centroid and noise; some frames of a video are of none.
std::unique_ptr<Dataset> open_synthetic_videos(const DataSettings& settings, Split split);
/// With masks or annotations, as settings.targets say.
std::unique_ptr<Dataset> open_synthetic_shapes(const DataSettings& settings, Split split);
/// Of words to read.
std::unique_ptr<Dataset> open_synthetic_words(const DataSettings& settings, Split split);
/// Of words to find.
std::unique_ptr<Dataset> open_synthetic_text_boxes(const DataSettings& settings, Split split);
std::unique_ptr<Dataset> open_text(const DataSettings& settings, Split split);
/// Also throws Error{failed} naming file and line of a chat that is not of the form, or has no answer.
std::unique_ptr<Dataset> open_chat(const DataSettings& settings, Split split);
/// Also throws as parse_session_log does, and where no session has two items that the training file has.
std::unique_ptr<Dataset> open_sessions(const DataSettings& settings, Split split);
/// Also throws Error{failed} naming two files with different numbers of lines.
std::unique_ptr<Dataset> open_parallel(const DataSettings& settings, Split split);
/// Throws Error{usage} where settings.vocab_path is no vocabulary of a language model; the message names the source.
void require_text_vocabulary(const DataSettings& settings, std::string_view source);
/// The file of a split, below settings.path. Throws Error{usage} naming the source where no file is set.
std::filesystem::path find_text_file(const DataSettings& settings, Split split, std::string_view source);

using FoundData = std::optional<DataSettings>;
/// The size of photos is chosen from twenty of them: their own shorter side if that is up to 64 px and below 224, else
/// 224.
FoundData find_image_folder(const std::filesystem::path& path, const ColumnNames& columns);
FoundData find_clip_folder(const std::filesystem::path& path, const ColumnNames& columns);
FoundData find_web_dataset(const std::filesystem::path& path, const ColumnNames& columns);
FoundData find_tf_record(const std::filesystem::path& path, const ColumnNames& columns);
/// One table, or a folder with a table named train.
FoundData find_text_table(const std::filesystem::path& path, const ColumnNames& columns);
/// Counts a table's rows and labels, without the vocabulary that opening it needs.
SampleCounts count_text_table(const DataSettings& settings);

/// Adds the masks of images, the first of `inputs`.
std::vector<TensorSpec> with_masks(std::vector<TensorSpec> inputs, const DatasetInfo& data);
/// Sets what clicks are read by.
void set_click_settings(DataSettings& settings, const Config& config);
/// Sets the features of clicks: Criteo's, or those of settings.slots.
void set_click_features(DatasetInfo& info, const DataSettings& settings);
/// The DatasetInfo of clicks, from a file or synthetic. Throws Error{usage} if settings.classes does not fit.
DatasetInfo click_info(const DataSettings& settings);
/// The augmentation of a split: none for evaluation, `natural` when the settings say automatic.
Augmentation resolve_augment(const DataSettings& settings, Split split, Augmentation natural);
/// Throws Error when a path that the source needs is empty; the message names the source.
void require_path(const DataSettings& settings, std::string_view source);
/// The first ten names, for a message.
std::string listed(const std::vector<std::string>& names);
/// Throws Error{usage} naming the classes at `place` and the key if another number of them is configured.
void require_classes(const DataSettings& settings, const std::vector<std::string>& names, std::string_view place);
/// Limit for numeric labels.
inline constexpr std::int32_t most_classes = 100'000;
/// "0", "1", ... for sources whose classes have no names.
std::vector<std::string> numbered_classes(int classes);

}  // namespace ptrain
