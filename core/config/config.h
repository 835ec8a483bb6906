// The typed configuration of one run. Every member is bound to the key of the same dotted name in core/config/keys.h.
#pragma once

#include "core/config/config_enums.h"
#include "core/config/device_choice.h"
#include "core/config/image_size.h"
#include "core/config/metric_names.h"
#include "core/config/model_catalog.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ptrain {

/// Adapters of low rank beside frozen linear layers.
struct LoraConfig {
  static constexpr const char* all_linear = "all-linear";  // of targets, as in PEFT: every linear layer but the head

  std::int64_t rank = 0;  // 0: no adapters
  double alpha = 8;
  double dropout = 0;  // of an adapter's input, in training
  std::vector<std::string> targets{all_linear};
  bool rslora = false;             // scale by alpha / sqrt(rank) rather than alpha / rank
  std::string weights;             // folder of a PEFT adapter to start from; empty: new adapters
  LoraBase base = LoraBase::full;  // of the frozen weights

  /// The factor of an adapter's output.
  double scale() const {
    const auto r = static_cast<double>(rank);
    return alpha / (rslora ? std::sqrt(r) : r);
  }
};

struct ModelConfig {
  ModelEntry entry;  // its name is model.name, which is required; loading looks up the rest
  ModelSize size = ModelSize::base;
  std::int64_t classes = 0;             // output classes; 0: as in the data, resolved by open_workload
  std::string head = "classification";  // task, for a model that supports several
  Stem stem = Stem::automatic;          // automatic: small for images of 64 px and below
  std::int64_t output_stride = 0;       // deeplab: 8 or 16; 0: the model's own
  bool blur_pool = false;               // low-pass filter before downsampling (Zhang 2019)
  bool zero_init_residual = true;       // each residual branch starts at zero (Goyal et al. 2017)
  bool frozen_norms = true;             // batch norms of a detector's body stay as its weights have them
  AttentionAlgorithm attention = AttentionAlgorithm::flash;
  GeluForm gelu = GeluForm::automatic;  // automatic: as the weights' config.json says, else erf
  double dropout = 0.1;
  double attention_dropout = 0;         // transformer
  bool norm_first = false;              // transformer: pre-norm
  std::int64_t segments = 3;            // segments of a clip
  std::int64_t frames_per_segment = 5;  // stnet: successive frames, stacked to one image
  double stochastic_depth =
      0.2;  // stochastic depth: drop probability of the last residual branch; lower for earlier ones
  std::int64_t vocab_size = 0;  // 0: as in the vocabulary file
  std::int64_t max_positions = 512;
  std::int64_t hash_buckets = 1'000'001;  // rows of a categorical feature's embedding table, indexed by hash
  bool dynamic_table = false;             // each category has a row of its own, made when training first sees it
  std::int64_t admit_after = 1;           // occurrences of a category until it has a row
  std::int64_t embedding_size = 9;
  BagMode bag = BagMode::sum;
  std::string weights;  // safetensors file, index, folder or GGUF file to start from; empty: random
  LoraConfig lora;
  bool weights_strict = true;  // tensors of the body that the model has no place for are an error
};

struct ScalerConfig {
  Tristate enabled = Tristate::automatic;  // automatic: on for fp16 only
  bool dynamic = true;
  double init = 65536.0;
  double incr_ratio = 2.0;
  double decr_ratio = 0.5;
  std::int64_t incr_every_n_steps = 2000;
  std::int64_t decr_every_n_nan_or_inf = 1;
};

struct AmpConfig {
  std::optional<AmpLevel> level = AmpLevel::O0;  // absent: auto, resolved by settle_amp before anything is built
  AmpDType dtype = AmpDType::automatic;          // automatic: the backend's default, or the one measured to be faster
  std::vector<std::string> custom_white_list;
  std::vector<std::string> custom_black_list;
  ScalerConfig scaler;
};

struct FlagsConfig {
  bool cudnn_exhaustive_search = true;
  bool cudnn_batchnorm_spatial_persistent = true;
  std::int64_t conv_workspace_size_limit = 512;  // MiB
  bool fp8 = false;                              // cuda: products of linear layers
};

/// Names of a text table's columns; empty: looked up by default names.
struct ColumnsConfig {
  std::string text;
  std::string second;
  std::string label;
};

/// The part of the training samples held out.
struct SplitConfig {
  double dev = 0;  // fraction of each class held out for evaluation; 0: none
};

/// Class weights in the training loss: given ones, or inverse frequency.
struct ClassWeights {
  static constexpr const char* list_alternative = "balanced";

  bool balanced = false;
  std::vector<double> given;

  bool any() const { return balanced || !given.empty(); }
};

struct DataConfig {
  std::string source = "idx";            // required; a row of core/data/source_registry.cpp
  std::string path;                      // folder of the data set
  std::string train_file = "train.tsv";  // tsv and criteo, relative to path
  std::string dev_file = "dev.tsv";
  TextEncoding encoding = TextEncoding::automatic;  // tsv
  ColumnsConfig columns;
  std::vector<std::string> labels;  // tsv, in the order of their numbers; empty: as in the training file
  std::int64_t first_label = 0;     // webdataset, tfrecord: number of the first class
  std::int64_t ignore_index = 255;  // mask_folder: value of pixels without a class
  SplitConfig split;
  ImageSize image_size = 224;
  std::int64_t batch_size = 32;  // samples per rank and step
  std::int64_t workers = 2;      // 0: load on the training thread
  Decoder decoder = Decoder::automatic;
  std::int64_t max_length = 128;  // tokens per sequence, [CLS] and [SEP] included
  std::int64_t max_frames = 300;  // of a video whose frames' features are read
  Padding padding = Padding::max_length;
  std::string vocab;  // vocabulary file
  ChatTemplate chat_template = ChatTemplate::chatml;
  std::int64_t negatives = 0;          // sessions: items drawn for each, with which the next item is compared
  double negative_power = 0.75;        // they are drawn in proportion to how often they occur, to this power
  std::vector<std::string> languages;  // parallel: endings of the files of source and target
  std::int64_t slots = 0;              // slots, synthetic: multi-hot features; 0: clicks in Criteo's form
  std::int64_t bag_size = 16;          // slots, synthetic: most keys of a slot in a sample
  std::int64_t dense_features = 0;     // slots, synthetic
  bool lowercase = true;
  Augmentation augment = Augmentation::automatic;
  bool trivial_augment = false;           // TrivialAugment: one random operation per training image
  double random_erasing = 0;              // probability of erasing a rectangle of a training image
  std::int64_t max_bad_samples = 100;     // undecodable samples to skip before failing
  double max_bad_share = 0.01;            // likewise, as a share of a split's samples
  bool exif_orientation = true;           // turn images upright by EXIF's tag
  std::int64_t synthetic_samples = 1024;  // per epoch
  ClassWeights class_weights;
  Sampling sampling = Sampling::natural;
  bool shuffle = true;
  std::int64_t shuffle_window = 0;  // training samples that are shuffled together; 0: all
  bool drop_last = true;            // drop the last, smaller batch of an epoch
};

struct OptimizerConfig {
  OptimizerKind name = OptimizerKind::momentum;
  double lr = 0.05;
  double momentum = 0.9;
  bool nesterov = false;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1.0e-6;
  double weight_decay = 1.0e-4;
  bool decay_norm_and_bias = false;
  double trust_coefficient = 0.001;  // lars
  double alpha = 0.99;               // rmsprop
  bool centered = false;             // rmsprop
  double initial_accumulator = 0.0;  // adagrad
  bool row_wise = false;             // adagrad
  MuonScale muon_scale = MuonScale::original;
};

struct ScheduleConfig {
  ScheduleKind name = ScheduleKind::cosine;
  std::int64_t warmup_steps = 0;   // linear warm-up from 0 to lr
  double warmup_ratio = 0.0;       // fraction of all steps; used when warmup_steps is 0
  std::vector<double> milestones;  // epochs, piecewise
  double gamma = 0.1;              // piecewise: factor at each milestone
  double end_lr = 0.0;             // cosine, linear, polynomial and warmup_stable_decay
  double power = 1.0;              // polynomial
  double stable_ratio = 0.8;       // warmup_stable_decay: fraction of the steps after warm-up
  DecayShape decay_shape = DecayShape::linear;

  /// Steps of the warm-up in a training of `total_steps`.
  std::int64_t count_warmup(std::int64_t total_steps) const {
    return warmup_steps > 0 ? warmup_steps : std::llround(warmup_ratio * static_cast<double>(total_steps));
  }
};

/// Training phases with different image or batch sizes, one entry per phase; an empty list keeps the run's setting. At
/// most one of the first three says where each phase ends.
struct PhasesConfig {
  std::vector<double> until;        // fraction of the training
  std::vector<double> until_epoch;  // epochs from the start
  std::vector<double> until_step;
  std::vector<ImageSize> image_size;
  std::vector<double> batch_size;     // per rank
  std::vector<double> lr_scale;       // factor of the schedule's rate; empty: batch_size / data.batch_size
  std::vector<double> smallest_crop;  // fraction of an image's area

  bool any() const { return !until.empty() || !until_epoch.empty() || !until_step.empty(); }
};

/// Progressive resizing: images grow up to data.image_size.
struct ResizeConfig {
  double from = 1.0;      // initial fraction of data.image_size; 1: constant size
  double delay = 0.5;     // fraction of the training before they grow
  double finetune = 0.2;  // fraction at full size, at the end
};

/// Parameter groups, one entry per group; an empty list keeps the run's setting.
struct GroupsConfig {
  std::vector<std::string> match;  // patterns of parameters' names
  std::vector<bool> trainable;
  std::vector<double> lr_scale;      // factor of the schedule's rate
  std::vector<double> weight_decay;  // replaces train.optimizer.weight_decay

  bool any() const { return !match.empty(); }
};

/// Of tables with model.dynamic_table.
struct TablesConfig {
  std::int64_t sweep_every_steps = 0;  // 0: rows are never evicted
  double decay = 0.98;                 // of a row's occurrences, at every sweep
  double evict_below = 0.8;            // occurrences
  std::string folder;                  // of the files that hold them; empty: they are in memory
};

struct TrainConfig {
  std::int64_t epochs = 1;
  std::int64_t steps = 0;  // above 0: ends after this many steps, overriding epochs
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  PhasesConfig phases;
  GroupsConfig groups;
  TablesConfig tables;
  ResizeConfig resize;
  std::vector<ImageSize> multi_scale;  // image sizes, one drawn for each step; empty: data.image_size
  double label_smoothing = 0.0;
  ItemLoss loss = ItemLoss::cross_entropy;
  double bpr_regularization = 1.0;  // bpr_max: weight of the squared scores of items that were drawn
  double hinge_margin = 0.8;        // hinge: how much higher than others' the next item's score is to be
  double logq = 0.0;                // cross entropy with drawn items: share of the correction for how they were drawn
  double mixup = 0.0;               // alpha of Beta(alpha, alpha) for the mixing weights; 0: off
  double cutmix = 0.0;              // likewise, for the area of the pasted rectangle
  double ema_decay = 0.0;           // decay of the weights' moving average for evaluation and export; 0: off
  std::int64_t average_checkpoints = 0;  // last checkpoints whose mean is evaluated and exported in the end; 0: off
  double clip_norm = 0.0;                // global gradient norm; 0: no clipping
  Tristate early_updates = Tristate::automatic;
  Recompute recompute = Recompute::none;
  std::int64_t accumulate_steps = 1;
  std::int64_t measure_after_steps = 5;  // first steps left out of throughput and latency
  std::int64_t log_every_steps = 10;
  std::int64_t patience = 0;  // early stopping: evaluations without improvement of output.keep_best; 0: off
  double target = 0;          // value of target_metric that ends training; 0: off
  std::string target_metric{primary_metric};
  double time_limit_seconds = 0;  // for steps and evaluations together; 0: no limit
  double test_delay_percent =
      0;  // for tests of compare: each step is followed by a wait of this percentage of its time
};

struct EvalConfig {
  std::int64_t every_epochs = 1;  // 0: no evaluation, unless every_steps is set
  std::int64_t every_steps = 0;   // above 0: after this many steps, overriding every_epochs
  AmpLevel amp = AmpLevel::O0;
  std::int64_t batch_size = 0;   // 0: data.batch_size
  std::int64_t max_samples = 0;  // 0: all
  bool flip = false;             // also evaluate each image mirrored, and add the logits
  std::int64_t beams = 1;        // translation: of the search; 1: greedy

  bool any() const { return every_epochs > 0 || every_steps > 0; }
};

struct DistConfig {
  std::int64_t ranks = 1;
  DistMode mode = DistMode::automatic;
  std::int64_t bucket_mb = 25;
  GradAverage average = GradAverage::fp32;  // dtype for averaging gradients of low-precision parameters (O2)
  bool sync_batch_norm = false;
  bool reproducible = false;  // losses do not depend on the number of ranks
  Sharding shard = Sharding::none;
  TablePlacement tables = TablePlacement::replicated;  // of tables with sparse gradients
  UpdateTiming updates = UpdateTiming::synchronous;
  std::int64_t timeout_seconds = 30;
};

struct OutputConfig {
  std::string dir = "runs/latest";
  std::int64_t checkpoint_every_steps = 0;  // 0: at the end and on a signal only
  std::int64_t keep_checkpoints = 3;
  std::int64_t whole_checkpoint_every = 1;  // others hold what has changed of sparse tables; 1: all are whole
  bool save = true;                         // save the last checkpoint and the weights at the end
  std::string keep_best{no_metric};         // metric by which the best weights are kept, in dir/best
  std::vector<EventFormat> events;          // files of metrics in dir for other programs
  bool predictions = false;                 // write predictions of the last evaluation to dir/predictions.jsonl
  std::string report;                       // empty: report.json in dir
  bool per_op = false;                      // time every op for the report
  bool numerics = false;                    // ranges of all tensors, and where values that are not finite begin
  bool trace = false;                       // write a timeline of a few steps to dir/trace.json
  bool fresh = false;                       // delete what an earlier run left in dir
};

struct Config {
  ModelConfig model;
  DeviceChoice device;
  std::int64_t seed = 42;
  std::int64_t threads = 0;  // CPU threads of all ranks together; 0: all cores
  AmpConfig amp;
  FlagsConfig flags;
  std::int64_t batch_norm_guard_every_steps = 0;  // cuda; 0: persistent batch norms are not compared
  bool tf32 = false;
  bool deterministic = false;  // cuda: bit-identical results in every run
  bool cuda_graphs = true;
  Fusion fusion = Fusion::full;
  bool memory_plan = true;
  DataConfig data;
  TrainConfig train;
  EvalConfig eval;
  DistConfig dist;
  OutputConfig output;
  std::string resume = "none";  // none, auto (the newest good checkpoint in output.dir) or a checkpoint's path
};

}  // namespace ptrain
