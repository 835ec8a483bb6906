// Opens a data set from settings.
#pragma once

#include "core/base/enums.h"
#include "core/config/config_enums.h"
#include "core/data/dataset.h"
#include "core/data/text/text_table.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ptrain {

struct DataSettings {
  std::string source = "idx";                 // a row of core/data/source_registry.cpp
  DataKind synthetic_kind = DataKind::image;  // for a synthetic source
  std::string path = {};  // directory; empty: /usr/share/datasets/fashion-mnist for idx, an error for the other files
  std::string train_file = {};  // tsv: relative to path; empty: train.tsv, .csv, .jsonl or .json; text
  std::string dev_file = {};    // tsv: relative to path; empty: dev.tsv and so on; text
  ColumnNames columns = {};     // tsv: of both files
  TextEncoding encoding = TextEncoding::automatic;         // tsv, text
  std::vector<std::string> targets{tensor_names::labels};  // target tensors; values: labels are numbers
  std::vector<std::string> labels = {};  // tsv: in the order of their numbers; empty: as in the training file;
                                         // mask_folder: names of the classes
  int ignore_index = 255;                // mask_folder: value of pixels without a class in label maps
  ImageSize image_size = {};             // empty: the source's own (28 idx, 32 cifar and synthetic, 224 others)
  int segments = 0;                      // clip_folder, synthetic: of each clip; 0: samples are images
  int frames_per_segment = 1;            // clip_folder, synthetic: successive frames read of each segment
  Augmentation augment = Augmentation::automatic;
  ImageOrientation orientation = ImageOrientation::exif;
  int max_length = 128;                               // tokens per sample, [CLS] and [SEP] included
  int max_frames = 300;                               // youtube8m, synthetic videos: frames read of each
  std::string vocab_path = {};                        // as open_tokenizer takes it
  ChatTemplate chat_template = ChatTemplate::chatml;  // chat
  int negatives = 0;                                  // sessions: items drawn for each training session
  double negative_power = 0;                          // sessions: of how often an item occurs
  std::vector<std::string> languages = {};            // parallel: endings of the files of source and target
  bool lowercase = true;                              // tsv: lower-case and strip accents
  int classes = 0;                        // 0: from the data (2 for synthetic text and tables, 10 for synthetic images)
  std::int64_t synthetic_samples = 1024;  // training samples; the eval split has a quarter as many
  int synthetic_vocab_size = 1000;        // synthetic text and tokens: ids are below this
  std::int64_t hash_buckets = 1'000'001;  // clicks: categories and keys are hashed to ids below this
  bool dynamic_table = false;             // clicks: they are hashed to i64 keys instead
  int slots = 0;                          // slots, synthetic tables: multi-hot features; 0: clicks in Criteo's form
  int bag_size = 16;                      // slots, synthetic tables: most keys of a slot in a sample
  int dense_features = 0;                 // slots, synthetic tables with slots
  std::int64_t first_label = 0;           // webdataset, tfrecord: number of the first class
  double dev_fraction = 0;                // tsv, folders, shards: fraction of each class kept for evaluation; 0: none
  std::uint64_t seed = 0;                 // for synthetic samples and for drawing the dev split
};

/// Opens one split: reads and validates everything except the samples themselves. Only training images are augmented.
/// Throws Error when files are missing or malformed, when a label is out of range, or when there are no samples; the
/// message names the file (and line), and what was expected.
std::unique_ptr<Dataset> open_dataset(const DataSettings& settings, Split split);

/// Sets the frames of clips of that many segments; none with 0, where samples are images.
void set_clip_form(DatasetInfo& info, std::int64_t segments, int frames_per_segment);
/// The DatasetInfo of blocks of running text.
DatasetInfo tokens_info(int max_length, int vocab_size);
/// The DatasetInfo of texts and their translations.
DatasetInfo parallel_info(int max_length, int vocab_size, std::int32_t end_token = 0);

/// The DatasetInfo of videos whose classes are numbers.
DatasetInfo video_info(int max_frames, int classes);

/// Names of the classes by label; empty where they are only numbers.
std::vector<std::string> label_names(const DatasetInfo& info);

}  // namespace ptrain
