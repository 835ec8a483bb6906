// Keys of training: data, train, eval, dist, output.
#include "core/config/key_builder.h"
#include "core/config/key_tables.h"
#include "core/config/text.h"

namespace ptrain {
namespace {

constexpr double many_steps = 1e12;
constexpr double many_samples = 1e10;
constexpr const char* decoder_help =
    "JPEG decoder; gpu: nvJPEG, on device cuda with one rank, at full size, whereas cpu downscales while it "
    "decodes; auto: cpu, as gpu has not been measured";

template <typename Member>
Key data_key(std::string name, Member member, std::string help) {
  return make_key("data." + std::move(name), std::move(help), &Config::data, member);
}
using Sources = std::vector<DataSourceEntry>;
/// "tsv and text: ", the start of the help for a key that these sources read.
std::string format_readers(const Sources& sources, std::string_view key) {
  return join_words(list_names_where(sources, [&](const auto& source) { return source.reads_key(key); }), "and") + ": ";
}
/// Makes a key that only some sources read.
template <typename Member>
Key source_key(const Sources& all, const std::string& name, Member member, const std::string& help) {
  return data_key(name, member, format_readers(all, "data." + name) + help);
}
template <typename Member>
Key column_key(const Sources& all, std::string name, Member member, std::string help) {
  const std::string key = "data.columns." + std::move(name);
  return make_key(key, format_readers(all, key) + std::move(help), &Config::data, &DataConfig::columns, member);
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
Key tables_key(std::string name, Member member, std::string help) {
  return make_key("train.tables." + std::move(name), "with model.dynamic_table: " + std::move(help), &Config::train,
                  &TrainConfig::tables, member);
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
  const std::vector<std::string> names = list_names_where(all, [](const DataSourceEntry&) { return true; });
  const std::vector<std::string> split = list_names_where(all, [](const DataSourceEntry& s) { return s.can_split; });
  return {
      data_key("source", &DataConfig::source, "format of the data set").one_of(names).must_be_set(),
      data_key("path", &DataConfig::path, "folder of the data set"),
      source_key(all, "train_file", &DataConfig::train_file,
                 "training file below data.path; tables: .csv, .jsonl and .json by extension, others as TSV"),
      source_key(all, "dev_file", &DataConfig::dev_file, "evaluation file below data.path"),
      source_key(all, "encoding", &DataConfig::encoding,
                 "encoding of both files; auto: UTF-8, GB18030 or UTF-16, detected per file")
          .also_called({{"utf8", "utf-8"}, {"gbk", "gb18030"}, {"gb2312", "gb18030"}, {"utf16", "utf-16"}}),
      column_key(all, "text", &ColumnsConfig::text,
                 "column of the sentences, named as in the first row; empty: a default name"),
      column_key(all, "second", &ColumnsConfig::second, "column of a second sentence; empty with text: none"),
      column_key(all, "label", &ColumnsConfig::label,
                 "column of the labels or values, named as in the first row; empty: a default name"),
      source_key(
          all, "labels", &DataConfig::labels,
          "labels in the order of their numbers; empty: those of the training file, numbers or sorted words; for "
          "mask_folder numbers below model.classes"),
      source_key(all, "ignore_index", &DataConfig::ignore_index,
                 "value in label maps of pixels without a class, which count neither in the loss nor in metrics")
          .between(0, 255),
      source_key(all, "first_label", &DataConfig::first_label,
                 "number of the first class, for numeric labels; 1 in ImageNet's records")
          .between(0, 1'000'000),
      make_key("data.split.dev",
               join_words(split, "and") +
                   " without evaluation samples: fraction of each class's training samples held out instead, drawn "
                   "by seed; 0: none",
               &Config::data, &DataConfig::split, &SplitConfig::dev)
          .at_least(0)
          .below(1),
      data_key("image_size", &DataConfig::image_size, "height and width in px, or one number for both")
          .between(8, 4096),
      data_key("batch_size", &DataConfig::batch_size, "samples per rank and step").between(1, 1'048'576),
      data_key("workers", &DataConfig::workers, "threads that load batches ahead; 0: load between steps")
          .between(0, 256),
      data_key("decoder", &DataConfig::decoder, decoder_help),
      data_key("max_length", &DataConfig::max_length,
               "tokens per sequence, [CLS] and [SEP] included, or per block of a language model; characters of the "
               "longest text in an image")
          .between(3, 65536),
      data_key("max_frames", &DataConfig::max_frames,
               "frames read of a video, from its first on; shorter ones are padded to as many")
          .between(1, 10'000),
      data_key("padding", &DataConfig::padding,
               "max_length: pad every sequence; none: concatenate a batch's sequences without padding"),
      data_key("vocab", &DataConfig::vocab,
               "vocabulary: WordPiece's vocab.txt, a byte-level BPE's vocab.json with merges.txt in the same folder, "
               "tokenizer.json with a BPE, SentencePiece's .model, or a .gguf file; for text_images a file with a "
               "character a line"),
      source_key(all, "chat_template", &DataConfig::chat_template,
                 "how a chat becomes one text: chatml; smollm2 and qwen2 (ChatML with a system message "
                 "of their own where a chat has none); llama3 (without the dates that 3.1 adds)"),
      source_key(
          all, "negatives", &DataConfig::negatives,
          "items drawn for each session; the next item is compared with these and those of the batch; 0: with all")
          .between(0, 64),
      source_key(all, "negative_power", &DataConfig::negative_power,
                 "they are drawn in proportion to how often an item occurs, to this power; 0: all alike")
          .between(0, 1),
      source_key(all, "languages", &DataConfig::languages,
                 "[SOURCE, TARGET]: endings of the files of the two languages, such as [de, en]"),
      source_key(all, "slots", &DataConfig::slots,
                 "multi-hot features of a click, each a bag of keys; 0, for synthetic: clicks in Criteo's form")
          .between(0, 10'000),
      source_key(all, "bag_size", &DataConfig::bag_size, "most keys that a slot has in a sample").between(1, 10'000),
      source_key(all, "dense_features", &DataConfig::dense_features,
                 "numbers between the label and the first slot of each line")
          .between(0, 10'000),
      data_key("lowercase", &DataConfig::lowercase,
               "lower-case and strip accents, as uncased WordPiece vocabularies require"),
      data_key("augment", &DataConfig::augment, "augmentation of training images; auto: by source"),
      data_key("trivial_augment", &DataConfig::trivial_augment,
               "TrivialAugment: one of fourteen operations per training image, of random strength (Mueller and Hutter "
               "2021)"),
      data_key("random_erasing", &DataConfig::random_erasing,
               "probability of erasing a rectangle of a training image (Zhong et al. 2017)")
          .between(0, 1),
      data_key("max_bad_samples", &DataConfig::max_bad_samples, "undecodable samples to skip before failing")
          .between(0, many_samples),
      data_key("max_bad_share", &DataConfig::max_bad_share,
               "undecodable samples to skip before failing, as a share of the training or evaluation samples")
          .between(0, 1),
      data_key("exif_orientation", &DataConfig::exif_orientation,
               "turn images upright by EXIF's orientation, as PIL's exif_transpose does; torchvision's ImageFolder "
               "leaves them as they are stored"),
      data_key("synthetic_samples", &DataConfig::synthetic_samples, "samples per epoch of synthetic data")
          .between(1, many_samples),
      data_key("class_weights", &DataConfig::class_weights,
               "weight of each class in the training loss, by number; balanced: samples / (classes * class samples); "
               "empty: all equal")
          .above(0),
      data_key("sampling", &DataConfig::sampling,
               "balanced: draw every class equally often, with an unchanged number of samples"),
      data_key("shuffle", &DataConfig::shuffle, "shuffle the samples every epoch"),
      data_key(
          "shuffle_window", &DataConfig::shuffle_window,
          "for files larger than memory: training samples that are shuffled together, so that a file is read in runs "
          "of a 64th of them; 0: all")
          .between(0, 1'000'000'000),
      data_key("drop_last", &DataConfig::drop_last, "drop an epoch's last, smaller batch"),
  };
}

std::vector<Key> train_keys() {
  return {
      train_key("epochs", &TrainConfig::epochs, "passes over the training data; 0: use train.steps")
          .between(0, 1'000'000),
      train_key("steps", &TrainConfig::steps, "optimizer steps, overriding train.epochs; 0: use epochs")
          .between(0, many_steps),
      optimizer_key("name", &OptimizerConfig::name, "optimizer; muon: for weight matrices, with AdamW for all else"),
      optimizer_key("lr", &OptimizerConfig::lr, "peak learning rate").between(0, 1000),
      optimizer_key("momentum", &OptimizerConfig::momentum, "momentum, lars, rmsprop, muon").at_least(0).below(1),
      optimizer_key("nesterov", &OptimizerConfig::nesterov, "momentum, muon: Nesterov momentum"),
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
      optimizer_key("centered", &OptimizerConfig::centered,
                    "rmsprop: normalize by the gradients' variance, not their squares"),
      optimizer_key("initial_accumulator", &OptimizerConfig::initial_accumulator,
                    "adagrad: initial value of the sums of squares")
          .at_least(0),
      optimizer_key("row_wise", &OptimizerConfig::row_wise,
                    "adagrad: one sum per row of an embedding table, rather than per element"),
      optimizer_key(
          "muon_scale", &OptimizerConfig::muon_scale,
          "muon: lr sqrt(max(1, rows / columns)), or 0.2 lr sqrt(max(rows, columns)), which allows AdamW's lr "
          "and weight_decay"),
      schedule_key("name", &ScheduleConfig::name, "learning rate schedule after warm-up"),
      schedule_key("warmup_steps", &ScheduleConfig::warmup_steps, "steps of linear warm-up").between(0, many_steps),
      schedule_key("warmup_ratio", &ScheduleConfig::warmup_ratio, "warm-up as a fraction of all steps").between(0, 1),
      schedule_key("milestones", &ScheduleConfig::milestones, "piecewise: epochs at which lr drops").above(0),
      schedule_key("gamma", &ScheduleConfig::gamma, "piecewise: factor at each milestone").above(0),
      schedule_key("end_lr", &ScheduleConfig::end_lr,
                   "cosine, linear, polynomial, warmup_stable_decay: learning rate at the end")
          .at_least(0),
      schedule_key("power", &ScheduleConfig::power, "polynomial: exponent of the remaining fraction of the training")
          .above(0),
      schedule_key("stable_ratio", &ScheduleConfig::stable_ratio,
                   "warmup_stable_decay: fraction of the steps after warm-up at the full rate")
          .between(0, 1),
      schedule_key("decay_shape", &ScheduleConfig::decay_shape, "warmup_stable_decay: shape of the final decay"),
  };
}

std::vector<Key> step_keys() {
  return {
      train_key("label_smoothing", &TrainConfig::label_smoothing, "weight of the uniform label").at_least(0).below(1),
      train_key(
          "loss", &TrainConfig::loss,
          "of models that read sessions: cross_entropy; bpr, bpr_max and hinge rank the next item before others of "
          "the batch and data.negatives"),
      train_key("bpr_regularization", &TrainConfig::bpr_regularization,
                "bpr_max: weight of the squared scores of the other items")
          .at_least(0),
      train_key("hinge_margin", &TrainConfig::hinge_margin,
                "hinge: how much higher than others' the next item's score is to be")
          .at_least(0),
      train_key(
          "logq", &TrainConfig::logq,
          "cross_entropy with data.negatives: share of the correction for how often an item is drawn; 1: all of it")
          .between(0, 1),
      train_key("clip_norm", &TrainConfig::clip_norm, "largest global gradient norm; 0: no clipping").at_least(0),
      train_key("early_updates", &TrainConfig::early_updates,
                "update parameters during backward, bit-identically; true: those of 1 MiB and more, which saves memory "
                "and may cost time; auto: of these, those of 16 MiB and matrices whose gradient sums over 1024 tokens "
                "and more")
          .no_work(),
      train_key(
          "recompute", &TrainConfig::recompute,
          "compute values again in backward instead of keeping them, bit-identically; block: all within transformer "
          "and residual blocks, for a second forward pass; selective: those of cheap ops (norms, activations)")
          .no_work(),
      train_key("accumulate_steps", &TrainConfig::accumulate_steps, "batches per step, whose gradients are summed")
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
                "for tests of ptrain compare: lengthens every step by this percentage")
          .between(0, 1000)
          .no_work(),
  };
}

std::vector<Key> method_keys() {
  return {
      phases_key("until", &PhasesConfig::until, "end of each phase as a fraction of the training; the last is 1")
          .between(0.0001, 1),
      phases_key("until_epoch", &PhasesConfig::until_epoch, "or: end of each phase in epochs").above(0),
      phases_key("until_step", &PhasesConfig::until_step, "or: end of each phase in steps").at_least(1),
      phases_key("image_size", &PhasesConfig::image_size,
                 "height and width of each phase's training images in px, or one number for both")
          .between(8, 4096),
      phases_key("batch_size", &PhasesConfig::batch_size, "samples per rank and step of each phase")
          .between(1, 1'048'576),
      phases_key("lr_scale", &PhasesConfig::lr_scale,
                 "learning rate factor of each phase; default: its batch_size / data.batch_size")
          .above(0),
      phases_key("smallest_crop", &PhasesConfig::smallest_crop,
                 "smallest area of a random crop in each phase, as a fraction of the image")
          .between(0.01, 1),
      groups_key(
          "match", &GroupsConfig::match,
          "name pattern of each parameter group: * matches any text, ? one character, a leading ! all other names; "
          "the first match applies"),
      groups_key("trainable", &GroupsConfig::trainable,
                 "false: freeze the group's parameters, without gradients and moments; running statistics "
                 "of its norms are still updated"),
      groups_key("lr_scale", &GroupsConfig::lr_scale, "learning rate factor of each group").at_least(0),
      groups_key("weight_decay", &GroupsConfig::weight_decay,
                 "weight decay of each group, replacing train.optimizer.weight_decay where that applies")
          .between(0, 10),
      tables_key("sweep_every_steps", &TablesConfig::sweep_every_steps,
                 "every so many steps, the rows of rare categories are taken from them; 0: never")
          .between(0, many_steps),
      tables_key("decay", &TablesConfig::decay,
                 "factor of a row's score at every sweep; an occurrence of its category adds 1")
          .at_least(0)
          .below(1),
      tables_key("evict_below", &TablesConfig::evict_below, "score below which a row is taken").between(0, 1e6),
      tables_key("folder", &TablesConfig::folder,
                 "folder of files that hold the table, for one larger than memory; empty: it is in memory")
          .no_work(),
      resize_key("from", &ResizeConfig::from, "initial image size as a fraction of data.image_size; 1: constant")
          .between(0.1, 1),
      resize_key("delay", &ResizeConfig::delay, "fraction of the training at that size").at_least(0).below(1),
      resize_key("finetune", &ResizeConfig::finetune, "fraction of the training at data.image_size, at the end")
          .at_least(0)
          .below(1),
      train_key(
          "multi_scale", &TrainConfig::multi_scale,
          "image sizes in px of multi-scale training: each step draws one; of boxes, sizes higher than wide are for "
          "images that are, if there are others too; empty: data.image_size")
          .between(8, 4096),
      train_key("mixup", &TrainConfig::mixup,
                "mixup: alpha of Beta(alpha, alpha) for the mixing weight of image pairs (Zhang et al. 2018); 0: off")
          .between(0, 4),
      train_key("cutmix", &TrainConfig::cutmix,
                "CutMix: alpha for the area pasted from another image (Yun et al. 2019); 0: off")
          .between(0, 4),
      train_key("ema_decay", &TrainConfig::ema_decay,
                "decay of the exponential moving average of the weights, used for evaluation and export; 0: off")
          .at_least(0)
          .below(1),
      train_key("average_checkpoints", &TrainConfig::average_checkpoints,
                "number of last checkpoints whose mean weights are evaluated and exported at the end; 0: off")
          .between(0, 1'000'000),
      train_key("patience", &TrainConfig::patience,
                "early stopping: evaluations without improvement of output.keep_best before training ends; 0: off")
          .between(0, 1'000'000),
      train_key("target", &TrainConfig::target,
                "value of train.target_metric that ends training; the time to it is reported; 0: off")
          .at_least(0),
      train_key("target_metric", &TrainConfig::target_metric,
                "metric of the task compared with train.target; primary: the task's first"),
      train_key("time_limit_seconds", &TrainConfig::time_limit_seconds,
                "training time after which the run ends regularly, with checkpoint and evaluation; 0: no limit")
          .at_least(0),
  };
}

std::vector<Key> run_keys() {
  return {
      eval_key("every_epochs", &EvalConfig::every_epochs, "epochs between evaluations; 0: none").between(0, 1'000'000),
      eval_key("every_steps", &EvalConfig::every_steps,
               "steps between evaluations, overriding every_epochs; 0: use every_epochs")
          .between(0, many_steps),
      eval_key("amp", &EvalConfig::amp, "AMP level of evaluation"),
      eval_key("batch_size", &EvalConfig::batch_size, "batch size of evaluation; 0: data.batch_size")
          .between(0, 1'048'576),
      eval_key("max_samples", &EvalConfig::max_samples, "samples to evaluate, evenly spaced over the data; 0: all")
          .between(0, many_samples),
      eval_key("beams", &EvalConfig::beams,
               "translation: beams of the search for the texts that BLEU compares; 1: always the most likely token")
          .between(1, 100),
      eval_key("flip", &EvalConfig::flip, "also evaluate each image mirrored, and add the logits"),
      dist_key("ranks", &DistConfig::ranks, "data-parallel workers").between(1, 65536),
      dist_key("mode", &DistConfig::mode, "parallel_graph: threads; multi_process: processes; auto: as launched"),
      dist_key("bucket_mb", &DistConfig::bucket_mb, "size of an all-reduce bucket of gradients, in MiB")
          .between(1, 65536),
      dist_key("average", &DistConfig::average,
               "dtype for averaging O2's low-precision gradients: fp32, or the gradient's own, with half the bytes"),
      dist_key("sync_batch_norm", &DistConfig::sync_batch_norm, "batch statistics over all ranks"),
      dist_key("reproducible", &DistConfig::reproducible,
               "sum in the data's order: with equal micro-batches, losses do not depend on the number of ranks"),
      dist_key("shard", &DistConfig::shard,
               "divide among the ranks, to save memory. optimizer: its moments and, of parameters trained in low "
               "precision, the fp32 weights, unless train.ema_decay or another eval.amp needs these whole (ZeRO stage "
               "1); gradients: their sums over micro-batches too, for an exchange after each (stage 2); none: each "
               "keeps all"),
      dist_key("tables", &DistConfig::tables,
               "tables with sparse gradients (networks for clicks). replicated: whole on every rank; rows: each rank "
               "keeps every n-th row, to save memory"),
      dist_key(
          "updates", &DistConfig::updates,
          "synchronous: of all ranks' gradients at the end of their step; delayed: at the end of the next step, so "
          "that gradients, and the next batch's rows of divided tables, are exchanged while it computes"),
      dist_key("timeout_seconds", &DistConfig::timeout_seconds, "time after which a dead or hung rank ends the run")
          .between(1, 1'000'000),
      output_key("dir", &OutputConfig::dir, "folder for report, metrics and checkpoints"),
      output_key("checkpoint_every_steps", &OutputConfig::checkpoint_every_steps,
                 "steps between checkpoints; 0: at the end and on a signal only")
          .between(0, many_steps),
      output_key("keep_checkpoints", &OutputConfig::keep_checkpoints, "number of newest checkpoints to keep")
          .between(1, 1'000'000),
      output_key(
          "whole_checkpoint_every", &OutputConfig::whole_checkpoint_every,
          "every so many checkpoints one holds whole sparse tables, those after it what has changed since; 1: all "
          "are whole")
          .between(1, 1'000'000),
      output_key("keep_best", &OutputConfig::keep_best,
                 "keep the best model by this metric of the task in output.dir/best; "
                 "primary: the task's first; none: off"),
      output_key("events", &OutputConfig::events,
                 "write the metrics to output.dir for these programs too, while the run trains"),
      output_key(
          "predictions", &OutputConfig::predictions,
          "write output.dir/predictions.jsonl: the prediction for every sample of the last evaluation, by the same "
          "final weights as the report's accuracy"),
      output_key("report", &OutputConfig::report, "report file; empty: report.json in output.dir"),
      output_key("save", &OutputConfig::save, "write the last checkpoint and model.safetensors at the end"),
      output_key("per_op", &OutputConfig::per_op, "time every op of the measured steps for the report"),
      output_key("numerics", &OutputConfig::numerics,
                 "report the range of every tensor of a step, and the op, tensor and step of the first value that is "
                 "not finite; slow, as every result is read on the host"),
      output_key("trace", &OutputConfig::trace,
                 "write output.dir/trace.json: a timeline of five steps after the warm-up, op by op, for "
                 "chrome://tracing and ui.perfetto.dev"),
      output_key("fresh", &OutputConfig::fresh, "delete what an earlier run left in output.dir"),
      make_key("resume", "none, auto (newest good checkpoint in output.dir) or a checkpoint's path", &Config::resume)
          .no_work(),
  };
}

}  // namespace ptrain
