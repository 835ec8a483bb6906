// The typed configuration: what one run does. Every member is bound to a key of the same dotted name in
// core/config/keys.h.
#pragma once

#include "core/config/config_enums.h"
#include "core/config/device_choice.h"
#include "core/config/image_size.h"
#include "core/config/metric_names.h"
#include "core/config/model_catalog.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ptrain {

struct ModelConfig {
  ModelEntry entry;  // model.name, which is required, is its name; loading finds the rest
  ModelSize size = ModelSize::base;
  std::int64_t classes = 0;             // output classes; 0: as many as the data has, settled by open_workload
  std::string head = "classification";  // task of a model that serves several
  Stem stem = Stem::automatic;          // automatic: small for images of 64 px and below
  bool blur_pool = false;               // a low-pass filter before pixels are left out (Zhang 2019)
  bool zero_init_residual = true;       // each residual branch starts as nothing (Goyal et al. 2017)
  AttentionAlgorithm attention = AttentionAlgorithm::flash;
  GeluForm gelu = GeluForm::erf;
  double dropout = 0.1;
  std::int64_t segments = 3;  // of a clip, one frame of each
  double stochastic_depth =
      0.2;                      // probability that the last residual branch is left out of a sample; earlier ones less
  std::int64_t vocab_size = 0;  // 0: as the vocabulary file has
  std::int64_t max_positions = 512;
  std::int64_t hash_buckets = 1'000'001;  // rows of a table of words, which are numbered by hash
  std::int64_t embedding_size = 9;
  std::string weights;  // safetensors file to start from; empty: random
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
  std::optional<AmpLevel> level = AmpLevel::O0;  // absent: auto, settled by settle_amp before anything is built
  AmpDType dtype = AmpDType::automatic;          // automatic: the backend's, or the one that is measured to be faster
  std::vector<std::string> custom_white_list;
  std::vector<std::string> custom_black_list;
  ScalerConfig scaler;
};

struct FlagsConfig {
  bool cudnn_exhaustive_search = true;
  bool cudnn_batchnorm_spatial_persistent = true;
  std::int64_t conv_workspace_size_limit = 512;  // MiB
};

/// Names of a text table's columns; empty: found by the usual names.
struct ColumnsConfig {
  std::string text;
  std::string second;
  std::string label;
};

/// What of the training samples is not trained on.
struct SplitConfig {
  double dev = 0;  // part of each class that is kept for evaluation; 0: none
};

/// What a class counts in the training loss: as much as is given for it, or so that all classes count alike.
struct ClassWeights {
  static constexpr const char* word = "balanced";

  bool balanced = false;
  std::vector<double> given;

  bool any() const { return balanced || !given.empty(); }
};

struct DataConfig {
  std::string source = "idx";            // required; a row of core/data/registry.cpp
  std::string path;                      // folder of the data set
  std::string train_file = "train.tsv";  // tsv and criteo, relative to path
  std::string dev_file = "dev.tsv";
  TextEncoding encoding = TextEncoding::automatic;  // tsv
  ColumnsConfig columns;
  std::vector<std::string> labels;  // tsv, in the order of their numbers; empty: as the training file has them
  std::int64_t first_label = 0;     // webdataset, tfrecord: number of the first class
  SplitConfig split;
  ImageSize image_size = 224;
  std::int64_t batch_size = 32;  // samples per rank and step
  std::int64_t workers = 2;      // 0: load on the training thread
  Decoder decoder = Decoder::automatic;
  std::int64_t max_length = 128;  // tokens per sequence, [CLS] and [SEP] included
  Padding padding = Padding::max_length;
  std::string vocab;  // vocabulary file
  bool lowercase = true;
  Augmentation augment = Augmentation::automatic;
  bool trivial_augment = false;           // one drawn change of each training image
  double random_erasing = 0;              // probability that a rectangle of a training image is blanked
  std::int64_t max_bad_samples = 100;     // undecodable samples to skip before failing
  std::int64_t synthetic_samples = 1024;  // per epoch
  ClassWeights class_weights;
  Sampling sampling = Sampling::natural;
  bool shuffle = true;
  bool drop_last = true;  // drop the last, smaller batch of an epoch
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
  double warmup_ratio = 0.0;       // part of all steps; used when warmup_steps is 0
  std::vector<double> milestones;  // epochs, piecewise
  double gamma = 0.1;              // piecewise: factor at each milestone
  double end_lr = 0.0;             // cosine, linear, polynomial and warmup_stable_decay
  double power = 1.0;              // polynomial
  double stable_ratio = 0.8;       // warmup_stable_decay: part of the steps after warm-up
  DecayShape decay_shape = DecayShape::linear;
};

/// Parts of a training with other images or batches, one entry for each; a list that is empty leaves everything as the
/// run has it. At most one of the first three says where each part ends.
struct PhasesConfig {
  std::vector<double> until;        // share of the training
  std::vector<double> until_epoch;  // epochs from its start
  std::vector<double> until_step;
  std::vector<ImageSize> image_size;
  std::vector<double> batch_size;     // per rank
  std::vector<double> lr_scale;       // of the schedule's rate; empty: as the batch to data.batch_size
  std::vector<double> smallest_crop;  // share of an image's area

  bool any() const { return !until.empty() || !until_epoch.empty() || !until_step.empty(); }
};

/// Images that grow up to data.image_size.
struct ResizeConfig {
  double from = 1.0;      // of data.image_size, at first; 1: they do not grow
  double delay = 0.5;     // share of the training before they grow
  double finetune = 0.2;  // share of it at full size, at the end
};

/// Groups of parameters, one entry for each; a list that is empty leaves everything as the run has it.
struct GroupsConfig {
  std::vector<std::string> match;  // patterns of parameters' names
  std::vector<bool> trainable;
  std::vector<double> lr_scale;      // of the schedule's rate
  std::vector<double> weight_decay;  // in place of train.optimizer.weight_decay

  bool any() const { return !match.empty(); }
};

struct TrainConfig {
  std::int64_t epochs = 1;
  std::int64_t steps = 0;  // above 0: ends after so many steps, whatever epochs says
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  PhasesConfig phases;
  GroupsConfig groups;
  ResizeConfig resize;
  double label_smoothing = 0.0;
  double mixup = 0.0;      // a of Beta(a, a), from which shares of mixed images are drawn; 0: none are mixed
  double cutmix = 0.0;     // likewise, of images with a rectangle of others
  double ema_decay = 0.0;  // of the moving average of the weights that is evaluated and exported; 0: none
  double clip_norm = 0.0;  // global gradient norm; 0: no clipping
  Tristate early_updates = Tristate::automatic;
  std::int64_t accumulate_steps = 1;
  std::int64_t measure_after_steps = 5;  // first steps left out of throughput and latency
  std::int64_t log_every_steps = 10;
  std::int64_t patience = 0;  // evaluations without a better output.keep_best that end it; 0: none do
  double target = 0;          // of target_metric, whose reaching ends it; 0: none
  std::string target_metric{primary_metric};
  double time_limit_seconds = 0;  // of its steps and evaluations; 0: none
  double test_delay_percent = 0;  // for tests of compare: part of each step's time that is waited after it
};

struct EvalConfig {
  std::int64_t every_epochs = 1;  // 0: no evaluation, unless every_steps says so
  std::int64_t every_steps = 0;   // above 0: after so many steps, whatever every_epochs says
  AmpLevel amp = AmpLevel::O0;
  std::int64_t batch_size = 0;   // 0: data.batch_size
  std::int64_t max_samples = 0;  // 0: all
  bool flip = false;             // each image mirrored too, and the logits added up

  bool any() const { return every_epochs > 0 || every_steps > 0; }
};

struct DistConfig {
  std::int64_t ranks = 1;
  DistMode mode = DistMode::automatic;
  std::int64_t bucket_mb = 25;
  GradAverage average = GradAverage::fp32;  // in what gradients of low-precision parameters (O2) are averaged
  bool sync_batch_norm = false;
  bool reproducible = false;  // losses do not depend on how many ranks share a step's micro-batches
  std::int64_t timeout_seconds = 30;
};

struct OutputConfig {
  std::string dir = "runs/latest";
  std::int64_t checkpoint_every_steps = 0;  // 0: at the end and on a signal only
  std::int64_t keep_checkpoints = 3;
  bool save = true;                  // the last checkpoint and the weights, at the end
  std::string keep_best{no_metric};  // the weights of the evaluation that is best by it, in dir/best
  bool predictions = false;          // the last evaluation's answers, in dir/predictions.jsonl
  std::string report;                // empty: report.json in dir
  bool per_op = false;               // time every op in the report
  bool trace = false;                // a timeline of a few steps, in dir/trace.json
  bool fresh = false;                // what an earlier run left in dir is thrown away
};

struct Config {
  ModelConfig model;
  DeviceChoice device;
  std::int64_t seed = 42;
  std::int64_t threads = 0;  // CPU threads of all ranks together; 0: all cores
  AmpConfig amp;
  FlagsConfig flags;
  std::int64_t batch_norm_guard_every_steps = 0;  // cuda: 0: persistent batch norms are not compared
  bool tf32 = false;
  bool deterministic = false;  // cuda: the same bits from every run
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
