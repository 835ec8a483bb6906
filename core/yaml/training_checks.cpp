#include "core/yaml/training_checks.h"

#include "core/config/config_enums.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace ptrain {
namespace {

void check_schedule(const Config& config, const Rejection& reject) {
  const ScheduleConfig& schedule = config.train.schedule;
  if (config.train.epochs == 0 && config.train.steps == 0) {
    reject("train.epochs", "train.epochs and train.steps are both 0: nothing to train");
  }
  if (!schedule.milestones.empty() && schedule.name != ScheduleKind::piecewise) {
    reject("train.schedule.milestones", "needs train.schedule.name piecewise, got {}", enum_name(schedule.name));
  }
  if (schedule.name == ScheduleKind::piecewise && schedule.milestones.empty()) {
    reject("train.schedule.milestones", "required by train.schedule.name piecewise: the epochs at which lr drops");
  }
  if (std::adjacent_find(schedule.milestones.begin(), schedule.milestones.end(), std::greater_equal<>()) !=
      schedule.milestones.end()) {
    reject("train.schedule.milestones", "expected rising epochs");
  }
  if (schedule.warmup_steps > 0 && schedule.warmup_ratio > 0) {
    reject("train.schedule.warmup_ratio", "set this or train.schedule.warmup_steps, not both");
  }
  if (schedule.name == ScheduleKind::inverse_sqrt && schedule.warmup_steps == 0 && schedule.warmup_ratio == 0) {
    reject("train.schedule.name",
           "inverse_sqrt falls from the end of warm-up on: set train.schedule.warmup_steps or "
           "warmup_ratio");
  }
  if (schedule.end_lr > config.train.optimizer.lr) {
    reject("train.schedule.end_lr", "above train.optimizer.lr {}", config.train.optimizer.lr);
  }
}

constexpr std::size_t most_plans = 16;  // phases or image sizes, each compiled

using NumberList = std::pair<std::string, const std::vector<double>*>;

void check_whole(const NumberList& list, const Rejection& reject) {
  for (const double value : *list.second) {
    if (value != std::floor(value)) reject(list.first, "expected whole numbers, got {}", value);
  }
}

/// Returns the list of the phases' ends; none without phases.
std::optional<NumberList> check_ends(const PhasesConfig& phases, const Rejection& reject) {
  std::optional<NumberList> ends;
  for (const NumberList& list :
       {NumberList{"train.phases.until", &phases.until}, NumberList{"train.phases.until_epoch", &phases.until_epoch},
        NumberList{"train.phases.until_step", &phases.until_step}}) {
    if (list.second->empty()) continue;
    if (ends) reject(list.first, "set this or {}, not both", ends->first);
    ends = list;
  }
  if (!ends) return ends;
  const auto& [key, list] = *ends;
  if (list->size() > most_plans) reject(key, "has {} phases, expected at most {}", list->size(), most_plans);
  if (std::adjacent_find(list->begin(), list->end(), std::greater_equal<>()) != list->end()) {
    reject(key, "expected increasing ends");
  }
  if (list == &phases.until && list->back() != 1) reject(key, "the last phase ends at 1, got {}", list->back());
  if (list == &phases.until_step) check_whole(*ends, reject);
  return ends;
}

void check_multi_scale(const TrainConfig& train, const Rejection& reject) {
  if (train.multi_scale.empty()) return;
  constexpr const char* key = "train.multi_scale";
  if (!train.phases.image_size.empty()) reject(key, "set this or train.phases.image_size, not both");
  if (train.resize.from < 1) reject(key, "set this or train.resize, not both");
  if (train.multi_scale.size() > most_plans) {
    reject(key, "has {} sizes, expected at most {}", train.multi_scale.size(), most_plans);
  }
}

void check_phases(const Config& config, const Rejection& reject) {
  const PhasesConfig& phases = config.train.phases;
  const std::optional<NumberList> ends = check_ends(phases, reject);
  const std::pair<const char*, std::size_t> lists[] = {{"train.phases.image_size", phases.image_size.size()},
                                                       {"train.phases.batch_size", phases.batch_size.size()},
                                                       {"train.phases.lr_scale", phases.lr_scale.size()},
                                                       {"train.phases.smallest_crop", phases.smallest_crop.size()}};
  for (const auto& [key, entries] : lists) {
    if (entries == 0) continue;
    if (!ends) reject(key, "the phases' ends are missing: train.phases.until, until_epoch or until_step");
    if (entries != ends->second->size()) {
      reject(key, "has {} entries for the {} phases of {}", entries, ends->second->size(), ends->first);
    }
  }
  check_whole({"train.phases.batch_size", &phases.batch_size}, reject);
  const ResizeConfig& resize = config.train.resize;
  if (resize.from == 1) return;
  if (ends) reject("train.resize.from", "set this or train.phases, not both");
  if (resize.delay + resize.finetune > 1) {
    reject("train.resize.finetune", "{} and train.resize.delay {} are more than the whole training", resize.finetune,
           resize.delay);
  }
}

void check_groups(const GroupsConfig& groups, const Rejection& reject) {
  const std::pair<const char*, std::size_t> lists[] = {{"train.groups.trainable", groups.trainable.size()},
                                                       {"train.groups.lr_scale", groups.lr_scale.size()},
                                                       {"train.groups.weight_decay", groups.weight_decay.size()}};
  for (const auto& [key, entries] : lists) {
    if (entries == 0 || entries == groups.match.size()) continue;
    if (!groups.any()) reject(key, "the groups' patterns are missing: train.groups.match");
    reject(key, "has {} entries for the {} groups of train.groups.match", entries, groups.match.size());
  }
  for (const std::string& pattern : groups.match) {
    if (pattern.empty()) reject("train.groups.match", "a pattern is empty");
  }
}

}  // namespace

void check_training(const Config& config, const Rejection& reject) {
  check_schedule(config, reject);
  check_phases(config, reject);
  check_multi_scale(config.train, reject);
  check_groups(config.train.groups, reject);
}

}  // namespace ptrain
