// From settings to an open data set.
#pragma once

#include "core/base/enums.h"
#include "core/data/dataset.h"
#include "core/data/text/text_table.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ptrain {

struct DataSettings {
  std::string source = "idx";                 // a row of core/data/registry.cpp
  DataKind synthetic_kind = DataKind::image;  // of a synthetic source
  std::string path = {};  // directory; empty: /usr/share/datasets/fashion-mnist for idx, an error for the other files
  std::string train_file = {};  // tsv: relative to path; empty: train.tsv, .csv, .jsonl or .json; text
  std::string dev_file = {};    // tsv: relative to path; empty: dev.tsv and so on; text
  ColumnNames columns = {};     // tsv: of both files
  TextEncoding encoding = TextEncoding::automatic;         // tsv, text
  std::vector<std::string> targets{tensor_names::labels};  // tensors that are to be learnt; values: labels are numbers
  std::vector<std::string> labels = {};  // tsv: in the order of their numbers; empty: as the training file has them
  ImageSize image_size = {};             // none said: the source's own (28 idx, 32 cifar and synthetic, 224 others)
  int segments = 0;                      // clip_folder, synthetic: frames read of each clip; 0: samples are images
  Augmentation augment = Augmentation::automatic;
  int max_length = 128;             // tokens per sample, [CLS] and [SEP] included
  std::string vocab_path = {};      // tsv: vocab.txt or vocab.json; text: vocab.json
  bool lowercase = true;            // tsv: lower-case and strip accents
  int classes = 0;                  // 0: found in the data (2 for synthetic text and tables, 10 for synthetic images)
  int synthetic_samples = 1024;     // training samples; the eval split has a quarter as many
  int synthetic_vocab_size = 1000;  // synthetic text and tokens: ids are below this
  std::int64_t hash_buckets = 1'000'001;  // criteo, synthetic tables: words are numbered below this
  std::int64_t first_label = 0;           // webdataset, tfrecord: number of the first class
  double dev_fraction = 0;                // tsv, folders, shards: part of each class kept for evaluation; 0: as it lies
  std::uint64_t seed = 0;                 // what synthetic samples are made from, and those for evaluation drawn by
};

/// Opens one split: reads and checks what can be checked without decoding samples. Training images are augmented,
/// evaluation images are not. Throws Error when files are missing or malformed, when a label is out of range, or when
/// there are no samples; the message names the file (and line), and what was expected.
std::unique_ptr<Dataset> open_dataset(const DataSettings& settings, Split split);

/// What blocks of running text are described by.
DatasetInfo tokens_info(int max_length, int vocab_size);

/// Names of the classes by label; empty where they are numbers.
std::vector<std::string> label_names(const DatasetInfo& info);

}  // namespace ptrain
