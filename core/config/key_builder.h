// Builds Keys from pointers to members, so that type, default and choices follow from Config itself.
#pragma once

#include "core/config/config_enums.h"
#include "core/config/keys.h"

#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace ptrain {

/// Follows members from a Config: reach(c, &Config::train, &TrainConfig::epochs) is c.train.epochs.
template <typename Object>
auto& reach(Object& object) {
  return object;
}
template <typename Object, typename First, typename... Rest>
auto& reach(Object& object, First first, Rest... rest) {
  return reach(object.*first, rest...);
}

template <typename T>
struct OptionalEnum : std::false_type {};
/// An enum that may be absent, spelled auto.
template <typename E>
struct OptionalEnum<std::optional<E>> : std::is_enum<E> {
  using Choice = E;
  static constexpr const char* open = "auto";
};

template <typename T>
struct EnumList : std::false_type {};
template <typename E>
struct EnumList<std::vector<E>> : std::is_enum<E> {
  using Choice = E;
};

/// The YAML type of a member of type T.
template <typename T>
constexpr KeyType deduce_key_type() {
  if constexpr (std::is_same_v<T, bool>) return KeyType::boolean;
  if constexpr (std::is_same_v<T, std::int64_t>) return KeyType::integer;
  if constexpr (std::is_same_v<T, double>) return KeyType::number;
  if constexpr (std::is_enum_v<T> || OptionalEnum<T>::value || std::is_same_v<T, DeviceChoice>) return KeyType::choice;
  if constexpr (std::is_same_v<T, ImageSize>) return KeyType::image_size;
  if constexpr (std::is_same_v<T, std::vector<ImageSize>>) return KeyType::image_size_list;
  if constexpr (std::is_same_v<T, std::vector<std::string>>) return KeyType::text_list;
  if constexpr (EnumList<T>::value) return KeyType::choice_list;
  if constexpr (std::is_same_v<T, std::vector<bool>>) return KeyType::boolean_list;
  if constexpr (std::is_same_v<T, std::vector<double>> || std::is_same_v<T, ClassWeights>) return KeyType::number_list;
  return KeyType::text;
}

/// Makes the key `name` for the member that `path` leads to.
template <typename... Path>
Key make_key(std::string name, std::string help, Path... path) {
  using T = std::remove_reference_t<decltype(reach(std::declval<Config&>(), path...))>;
  Key key;
  key.name = std::move(name);
  key.help = std::move(help);
  key.type = deduce_key_type<T>();
  if constexpr (OptionalEnum<T>::value) {
    using Open = OptionalEnum<T>;
    using E = typename Open::Choice;
    key.choices.assign(EnumNames<E>::names.begin(), EnumNames<E>::names.end());
    key.choices.insert(key.choices.begin(), Open::open);
    key.get = [=](const Config& config) {
      const T value = reach(config, path...);
      return nlohmann::json(value ? std::string(enum_name(*value)) : Open::open);
    };
    key.set = [=](Config& config, const nlohmann::json& value) {
      reach(config, path...) = choice_from_name<E>(value.get<std::string>());  // no such name: auto
    };
  } else if constexpr (std::is_enum_v<T>) {
    key.choices.assign(EnumNames<T>::names.begin(), EnumNames<T>::names.end());
    key.get = [=](const Config& config) { return nlohmann::json(std::string(enum_name(reach(config, path...)))); };
    key.set = [=](Config& config, const nlohmann::json& value) {
      reach(config, path...) = choice_from_name<T>(value.get<std::string>()).value();
    };
  } else if constexpr (EnumList<T>::value) {
    using E = typename EnumList<T>::Choice;
    key.choices.assign(EnumNames<E>::names.begin(), EnumNames<E>::names.end());
    key.get = [=](const Config& config) {
      nlohmann::json names = nlohmann::json::array();
      for (const E value : reach(config, path...)) names.push_back(std::string(enum_name(value)));
      return names;
    };
    key.set = [=](Config& config, const nlohmann::json& value) {
      T& list = reach(config, path...);
      list.clear();
      for (const auto& item : value) list.push_back(choice_from_name<E>(item.get<std::string>()).value());
    };
  } else if constexpr (std::is_same_v<T, DeviceChoice>) {
    key.choices.assign(EnumNames<DeviceKind>::names.begin(), EnumNames<DeviceKind>::names.end());
    key.numbered_choice = DeviceChoice::numbered_choice;
    key.get = [=](const Config& config) { return nlohmann::json(to_string(reach(config, path...))); };
    key.set = [=](Config& config, const nlohmann::json& value) {
      reach(config, path...) = device_from_name(value.get<std::string>()).value();
    };
  } else if constexpr (std::is_same_v<T, ImageSize>) {
    key.get = [=](const Config& config) { return to_json(reach(config, path...)); };
    key.set = [=](Config& config, const nlohmann::json& value) {
      reach(config, path...) = image_size_from_json(value).value();
    };
  } else if constexpr (std::is_same_v<T, std::vector<ImageSize>>) {
    key.get = [=](const Config& config) { return list_to_json(reach(config, path...)); };
    key.set = [=](Config& config, const nlohmann::json& value) {
      reach(config, path...) = image_sizes_from_json(value);
    };
  } else if constexpr (std::is_same_v<T, ClassWeights>) {
    key.list_alternative = T::list_alternative;
    key.get = [=](const Config& config) {
      const T& weights = reach(config, path...);
      return weights.balanced ? nlohmann::json(T::list_alternative) : nlohmann::json(weights.given);
    };
    key.set = [=](Config& config, const nlohmann::json& value) {
      const bool balanced = value.is_string();
      reach(config, path...) = T{balanced, balanced ? std::vector<double>{} : value.get<std::vector<double>>()};
    };
  } else {
    key.get = [=](const Config& config) { return nlohmann::json(reach(config, path...)); };
    key.set = [=](Config& config, const nlohmann::json& value) { reach(config, path...) = value.get<T>(); };
  }
  return key;
}

}  // namespace ptrain
