#include "core/bench/per_device.h"

#include "core/base/errors.h"

#include <algorithm>
#include <sstream>

namespace ptrain {
namespace {

constexpr const char* device_axis = "device";
constexpr const char* at_once_axis = "at_once";

std::vector<std::string> split_list(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream text(list);
  for (std::string part; std::getline(text, part, ',');) parts.push_back(part);
  return parts;
}

}  // namespace

Suite on_each_device(const Suite& suite, std::size_t devices, const std::string& visible) {
  const std::vector<std::string> ids = split_list(visible);
  Suite all = suite;
  all.cases.clear();
  BenchAxis device{device_axis, device_axis, {}}, at_once{at_once_axis, at_once_axis, {false}};
  for (std::size_t i = 0; i < devices; ++i) device.values.push_back(fmt::format("cuda:{}", i));
  if (devices > 1) at_once.values.push_back(true);
  for (const BenchCase& item : suite.cases) {
    if (item.settings.contains(device_axis)) {
      fail_usage("{}: {}: sets device, which --per-device sets too; remove one of them", suite.file.string(),
                 item.name);
    }
    for (const nlohmann::json& together : at_once.values) {
      for (std::size_t i = 0; i < devices; ++i) {
        BenchCase on = item;
        const std::string of_device =
            fmt::format("device={},at_once={}", device.values[i].get<std::string>(), together.dump());
        on.name = item.name == "base" ? of_device : fmt::format("{},{}", item.name, of_device);
        on.folder = fmt::format("{}_{}_{}", item.folder, i, together.get<bool>() ? "at_once" : "alone");
        on.settings[device_axis] = device.values[i];
        on.settings[at_once_axis] = together;
        on.environment["CUDA_VISIBLE_DEVICES"] = i < ids.size() ? ids[i] : std::to_string(i);
        if (together.get<bool>()) on.at_once_with = item.name;
        all.cases.push_back(std::move(on));
      }
    }
  }
  if (suite.axes.empty() && suite.cases.size() > 1) return all;  // listed: each case is one level
  all.axes.push_back(std::move(device));
  if (devices > 1) all.axes.push_back(std::move(at_once));
  return all;
}

}  // namespace ptrain
