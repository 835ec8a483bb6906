// Keys of how it is trained: data, train, eval, dist, output.
#include "core/config/key_builder.h"
#include "core/config/key_tables.h"
#include "core/config/text.h"

namespace ptrain {
namespace {

constexpr double many_steps = 1e12;
constexpr double many_samples = 1e10;
constexpr const char* decoder_help =
    "what decodes JPEGs; gpu: nvJPEG, on device cuda with one rank, at full size, where cpu reduces them as it "
    "decodes; auto: cpu, as gpu has not been measured";

template <typename Member>
Key data_key(std::string name, Member member, std::string help) {
  return make_key("data." + std::move(name), std::move(help), &Config::data, member);
}
using Sources = std::vector<DataSourceEntry>;
/// "tsv and text: ", which begins the help of a key that these sources read.
std::string readers_among(const Sources& sources, std::string_view key) {
  return join_words(names_where(sources, [&](const auto& source) { return source.reads_key(key); }), "and") + ": ";
}
/// A key that only some sources read.
template <typename Member>
Key source_key(const Sources& all, const std::string& name, Member member, const std::string& help) {
  return data_key(name, member, readers_among(all, "data." + name) + help);
}
template <typename Member>
Key column_key(const Sources& all, std::string name, Member member, std::string help) {
  const std::string key = "data.columns." + std::move(name);
  return make_key(key, readers_among(all, key) + std::move(help), &Config::data, &DataConfig::columns, member);
}
template <typename Member>
Key train_key(std::string name, Member member, std::string help) {
  return make_key("train." + std::move(name), std::move(help), &Config::train, member);
}
template <typename Member>
Key optimizer_key(std::string name, Member member, std::string help) {
  return make_key("train.optimizer." + std::move(name), std::move(help), &Config::train, &TrainConfig::optimizer,
                  member);
}
template <typename Member>
Key schedule_key(std::string name, Member member, std::string help) {
  return make_key("train.schedule." + std::move(name), std::move(help), &Config::train, &TrainConfig::schedule, member);
}
template <typename Member>
Key phases_key(std::string name, Member member, std::string help) {
  return make_key("train.phases." + std::move(name), std::move(help), &Config::train, &TrainConfig::phases, member);
}
template <typename Member>
Key groups_key(std::string name, Member member, std::string help) {
  return make_key("train.groups." + std::move(name), std::move(help), &Config::train, &TrainConfig::groups, member);
}
template <typename Member>
Key resize_key(std::string name, Member member, std::string help) {
  return make_key("train.resize." + std::move(name), std::move(help), &Config::train, &TrainConfig::resize, member);
}
template <typename Member>
Key eval_key(std::string name, Member member, std::string help) {
  return make_key("eval." + std::move(name), std::move(help), &Config::eval, member);
}
template <typename Member>
Key dist_key(std::string name, Member member, std::string help) {
  return make_key("dist." + std::move(name), std::move(help), &Config::dist, member);
}
template <typename Member>
Key output_key(std::string name, Member member, std::string help) {
  return make_key("output." + std::move(name), std::move(help), &Config::output, member).no_work();
}

}  // namespace

std::vector<Key> data_keys(const Sources& all) {
  const std::vector<std::string> names = names_where(all, [](const DataSourceEntry&) { return true; });
  const std::vector<std::string> split = names_where(all, [](const DataSourceEntry& s) { return s.can_split; });
  return {
      data_key("source", &DataConfig::source, "form of the data set").one_of(names).must_be_set(),
      data_key("path", &DataConfig::path, "folder of the data set"),
      source_key(all, "train_file", &DataConfig::train_file,
                 "training file below data.path; of tables .csv, .jsonl and .json are read as such, others as TSV"),
      source_key(all, "dev_file", &DataConfig::dev_file, "evaluation file below data.path"),
      source_key(all, "encoding", &DataConfig::encoding, "of both files; auto: UTF-8, GB18030 or UTF-16, as each looks")
          .also_called({{"utf8", "utf-8"}, {"gbk", "gb18030"}, {"gb2312", "gb18030"}, {"utf16", "utf-16"}}),
      column_key(all, "text", &ColumnsConfig::text, "the sentences' name in the table's first row; empty: a usual one"),
      column_key(all, "second", &ColumnsConfig::second, "name of a second sentence's column; empty with text: none"),
      column_key(all, "label", &ColumnsConfig::label,
                 "the labels', or values', name in the table's first row; empty: a usual one"),
      source_key(all, "labels", &DataConfig::labels,
                 "the labels in the order of their numbers; empty: numbers, or words sorted, of the training file"),
      source_key(all, "first_label", &DataConfig::first_label,
                 "label of the first class, where labels are numbers; ImageNet's records have 1")
          .between(0, 1'000'000),
      make_key("data.split.dev",
               join_words(split, "and") +
                   " without evaluation samples: part of each class's training samples that takes their place, drawn "
                   "by seed; 0: none",
               &Config::data, &DataConfig::split, &SplitConfig::dev)
          .at_least(0)
          .below(1),
      data_key("image_size", &DataConfig::image_size, "height and width in px, a number for both").between(8, 4096),
      data_key("batch_size", &DataConfig::batch_size, "samples per rank and step").between(1, 1'048'576),
      data_key("workers", &DataConfig::workers, "threads that load ahead; 0: load between steps").between(0, 256),
      data_key("decoder", &DataConfig::decoder, decoder_help),
      data_key("max_length", &DataConfig::max_length,
               "tokens per sequence, [CLS] and [SEP] included; of running text, per block")
          .between(3, 65536),
      data_key("padding", &DataConfig::padding,
               "max_length: every sequence is filled up; none: a batch's sequences lie one behind the other"),
      data_key("vocab", &DataConfig::vocab,
               "vocabulary: WordPiece's vocab.txt, or a byte-level BPE's vocab.json with merges.txt beside it"),
      data_key("lowercase", &DataConfig::lowercase,
               "lower-case and strip accents, as uncased WordPiece vocabularies want"),
      data_key("augment", &DataConfig::augment, "of training images; auto: by source"),
      data_key("trivial_augment", &DataConfig::trivial_augment,
               "one change of each training image, drawn from fourteen, by a drawn amount (Mueller and Hutter 2021)"),
      data_key("random_erasing", &DataConfig::random_erasing,
               "probability that a rectangle of a training image is blanked (Zhong et al. 2017)")
          .between(0, 1),
      data_key("max_bad_samples", &DataConfig::max_bad_samples, "undecodable samples to skip before failing")
          .between(0, many_samples),
      data_key("synthetic_samples", &DataConfig::synthetic_samples, "samples of an epoch of synthetic data")
          .between(1, many_samples),
      data_key("class_weights", &DataConfig::class_weights,
               "of each class in the training loss, by number; balanced: samples / (classes * the class's samples); "
               "empty: all alike")
          .above(0),
      data_key("sampling", &DataConfig::sampling,
               "balanced: every class is drawn as often as every other, in as many samples as the data has"),
      data_key("shuffle", &DataConfig::shuffle, "a new order every epoch"),
      data_key("drop_last", &DataConfig::drop_last, "leave out an epoch's last, smaller batch"),
  };
}

std::vector<Key> train_keys() {
  return {
      train_key("epochs", &TrainConfig::epochs, "passes over the training data; 0: by train.steps")
          .between(0, 1'000'000),
      train_key("steps", &TrainConfig::steps, "optimizer steps, before train.epochs; 0: by epochs")
          .between(0, many_steps),
      optimizer_key("name", &OptimizerConfig::name,
                    "update rule; muon: of matrices that layers multiply with, AdamW of all else"),
      optimizer_key("lr", &OptimizerConfig::lr, "peak learning rate").between(0, 1000),
      optimizer_key("momentum", &OptimizerConfig::momentum, "momentum, lars, rmsprop, muon").at_least(0).below(1),
      optimizer_key("nesterov", &OptimizerConfig::nesterov, "momentum, muon: look ahead"),
      optimizer_key("beta1", &OptimizerConfig::beta1, "adam, adamw, lamb, muon: decay of the first moment")
          .at_least(0)
          .below(1),
      optimizer_key("beta2", &OptimizerConfig::beta2, "adam, adamw, lamb, muon: decay of the second moment")
          .at_least(0)
          .below(1),
      optimizer_key("epsilon", &OptimizerConfig::epsilon,
                    "adam, adamw, lamb, muon, adagrad, rmsprop, lars: added to denominators")
          .above(0),
      optimizer_key("weight_decay", &OptimizerConfig::weight_decay,
                    "decoupled for adamw and muon, part of the trust ratio's direction for lamb, L2 for all others")
          .between(0, 10),
      optimizer_key("decay_norm_and_bias", &OptimizerConfig::decay_norm_and_bias,
                    "decay norm parameters and biases too"),
      optimizer_key("trust_coefficient", &OptimizerConfig::trust_coefficient, "lars: layer-wise factor").above(0),
      optimizer_key("alpha", &OptimizerConfig::alpha, "rmsprop: decay of the squares").at_least(0).below(1),
      optimizer_key("centered", &OptimizerConfig::centered, "rmsprop: by the gradients' variance, not their squares"),
      optimizer_key("initial_accumulator", &OptimizerConfig::initial_accumulator,
                    "adagrad: what sums of squares begin with")
          .at_least(0),
      optimizer_key("row_wise", &OptimizerConfig::row_wise,
                    "adagrad: one sum for each row of a table that is updated by rows, in place of one an element"),
      optimizer_key("muon_scale", &OptimizerConfig::muon_scale,
                    "muon: lr sqrt(max(1, rows / columns)), or 0.2 lr sqrt(max(rows, columns)), with which AdamW's lr "
                    "and weight_decay fit"),
      schedule_key("name", &ScheduleConfig::name, "course of the learning rate after warm-up"),
      schedule_key("warmup_steps", &ScheduleConfig::warmup_steps, "steps of linear warm-up").between(0, many_steps),
      schedule_key("warmup_ratio", &ScheduleConfig::warmup_ratio, "warm-up as part of all steps").between(0, 1),
      schedule_key("milestones", &ScheduleConfig::milestones, "piecewise: epochs at which lr drops").above(0),
      schedule_key("gamma", &ScheduleConfig::gamma, "piecewise: factor at each milestone").above(0),
      schedule_key("end_lr", &ScheduleConfig::end_lr,
                   "cosine, linear, polynomial, warmup_stable_decay: learning rate at the end")
          .at_least(0),
      schedule_key("power", &ScheduleConfig::power, "polynomial: exponent of what is left of the training").above(0),
      schedule_key("stable_ratio", &ScheduleConfig::stable_ratio,
                   "warmup_stable_decay: part of the steps after warm-up that keep the full rate")
          .between(0, 1),
      schedule_key("decay_shape", &ScheduleConfig::decay_shape, "warmup_stable_decay: how the rate falls after that"),
  };
}

std::vector<Key> step_keys() {
  return {
      train_key("label_smoothing", &TrainConfig::label_smoothing, "weight of the uniform label").at_least(0).below(1),
      train_key("clip_norm", &TrainConfig::clip_norm, "largest global gradient norm; 0: no clipping").at_least(0),
      train_key("early_updates", &TrainConfig::early_updates,
                "update parameters as soon as backward has read them, with the same bits: true: those of a MiB and "
                "more, which "
                "saves memory and may cost time; auto: of 16 MiB and more")
          .no_work(),
      train_key("accumulate_steps", &TrainConfig::accumulate_steps, "batches whose gradients one step sums")
          .between(1, 65536),
      train_key("measure_after_steps", &TrainConfig::measure_after_steps, "first steps left out of the timing")
          .between(0, many_steps),
      train_key("log_every_steps", &TrainConfig::log_every_steps, "steps between lines of metrics.jsonl")
          .between(1, many_steps),
  };
}

std::vector<Key> test_keys() {
  return {
      train_key("test_delay_percent", &TrainConfig::test_delay_percent,
                "for tests of ptrain compare: makes every step this much longer by waiting")
          .between(0, 1000)
          .no_work(),
  };
}

std::vector<Key> method_keys() {
  return {
      phases_key("until", &PhasesConfig::until, "share of the training that each phase ends at; the last at 1")
          .between(0.0001, 1),
      phases_key("until_epoch", &PhasesConfig::until_epoch, "or: epochs that each phase ends at").above(0),
      phases_key("until_step", &PhasesConfig::until_step, "or: steps that each phase ends at").at_least(1),
      phases_key("image_size", &PhasesConfig::image_size,
                 "height and width of each phase's training images in px, a number for both")
          .between(8, 4096),
      phases_key("batch_size", &PhasesConfig::batch_size, "samples per rank and step of each phase")
          .between(1, 1'048'576),
      phases_key("lr_scale", &PhasesConfig::lr_scale,
                 "of each phase's learning rate; by default its batch_size over data.batch_size")
          .above(0),
      phases_key("smallest_crop", &PhasesConfig::smallest_crop,
                 "area that a random crop of each phase has at least, as share of the image")
          .between(0.01, 1),
      groups_key(
          "match", &GroupsConfig::match,
          "of each group of parameters, a pattern of their names: * stands for any letters, ? for one; the first "
          "that matches a parameter has it"),
      groups_key("trainable", &GroupsConfig::trainable,
                 "false: the group's parameters keep their values, without gradients and moments; running statistics "
                 "of its norms are updated all the same"),
      groups_key("lr_scale", &GroupsConfig::lr_scale, "of the learning rate, for each group").at_least(0),
      groups_key("weight_decay", &GroupsConfig::weight_decay,
                 "of each group, in place of train.optimizer.weight_decay, for what that would decay")
          .between(0, 10),
      resize_key("from", &ResizeConfig::from, "size of the first training images over data.image_size; 1: all alike")
          .between(0.1, 1),
      resize_key("delay", &ResizeConfig::delay, "share of the training at that size").at_least(0).below(1),
      resize_key("finetune", &ResizeConfig::finetune, "share of the training at data.image_size, at its end")
          .at_least(0)
          .below(1),
      train_key("mixup", &TrainConfig::mixup,
                "mixes pairs of images in shares drawn from Beta(a, a) with this a (Zhang et al. 2018); 0: does not")
          .between(0, 4),
      train_key("cutmix", &TrainConfig::cutmix,
                "puts rectangles of images into others, shares drawn likewise (Yun et al. 2019); 0: does not")
          .between(0, 4),
      train_key(
          "ema_decay", &TrainConfig::ema_decay,
          "decay of the exponential moving average of the weights that is evaluated and exported; 0: none is kept")
          .at_least(0)
          .below(1),
      train_key("patience", &TrainConfig::patience,
                "evaluations without a better output.keep_best after which training ends; 0: it goes on")
          .between(0, 1'000'000),
      train_key("target", &TrainConfig::target,
                "value of train.target_metric at which training ends, and the time to it is reported; 0: none")
          .at_least(0),
      train_key("target_metric", &TrainConfig::target_metric,
                "metric of the task that has to reach train.target in an evaluation; primary: its first"),
      train_key("time_limit_seconds", &TrainConfig::time_limit_seconds,
                "training time after which it ends in order, with checkpoint and evaluation; 0: none")
          .at_least(0),
  };
}

std::vector<Key> run_keys() {
  return {
      eval_key("every_epochs", &EvalConfig::every_epochs, "epochs between evaluations; 0: none").between(0, 1'000'000),
      eval_key("every_steps", &EvalConfig::every_steps, "steps between evaluations, in place of epochs; 0: by epochs")
          .between(0, many_steps),
      eval_key("amp", &EvalConfig::amp, "AMP level of evaluation"),
      eval_key("batch_size", &EvalConfig::batch_size, "0: as data.batch_size").between(0, 1'048'576),
      eval_key("max_samples", &EvalConfig::max_samples, "samples to evaluate, evenly spaced over the data; 0: all")
          .between(0, many_samples),
      eval_key("flip", &EvalConfig::flip, "evaluates each image mirrored too, and adds up the logits"),
      dist_key("ranks", &DistConfig::ranks, "data-parallel workers").between(1, 65536),
      dist_key("mode", &DistConfig::mode, "parallel_graph: threads; multi_process: processes; auto: as launched"),
      dist_key("bucket_mb", &DistConfig::bucket_mb, "gradients exchanged at once, in MiB").between(1, 65536),
      dist_key("average", &DistConfig::average,
               "of O2's low-precision gradients: in fp32, or in the gradient's type, half the bytes"),
      dist_key("sync_batch_norm", &DistConfig::sync_batch_norm, "batch statistics over all ranks"),
      dist_key("reproducible", &DistConfig::reproducible,
               "adds up in the data's order: micro-batches of one size give any number of ranks the same losses"),
      dist_key("timeout_seconds", &DistConfig::timeout_seconds, "within which a dead or hung rank ends the run")
          .between(1, 1'000'000),
      output_key("dir", &OutputConfig::dir, "folder of report, metrics and checkpoints"),
      output_key("checkpoint_every_steps", &OutputConfig::checkpoint_every_steps, "0: at the end and on a signal only")
          .between(0, many_steps),
      output_key("keep_checkpoints", &OutputConfig::keep_checkpoints, "newest checkpoints to keep")
          .between(1, 1'000'000),
      output_key(
          "keep_best", &OutputConfig::keep_best,
          "keeps the model of the evaluation that is best by this metric of the task in output.dir's folder best; "
          "primary: by its first; none: keeps none"),
      output_key("predictions", &OutputConfig::predictions,
                 "writes predictions.jsonl in output.dir: every sample's answer in the last evaluation, by the final "
                 "weights, which the report's accuracy is of"),
      output_key("report", &OutputConfig::report, "report file; empty: report.json in output.dir"),
      output_key("save", &OutputConfig::save, "write the last checkpoint and model.safetensors at the end"),
      output_key("per_op", &OutputConfig::per_op, "time every op for the report"),
      output_key("trace", &OutputConfig::trace,
                 "writes trace.json in output.dir: a timeline of five steps behind the warm-up, op by op, for "
                 "chrome://tracing and ui.perfetto.dev"),
      output_key("fresh", &OutputConfig::fresh, "throw away what an earlier run left in output.dir"),
      make_key("resume", "none, auto (newest good checkpoint in output.dir) or a checkpoint's path", &Config::resume)
          .no_work(),
  };
}

}  // namespace ptrain
