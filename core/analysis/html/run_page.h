// What a page tells of one run beside its figures.
#pragma once

#include "core/report/report.h"

#include <string>

namespace ptrain::html {

/// The time of every op against the least that the roofline allows; empty where ops were not timed.
std::string op_section(const Report& report);
/// How each class was answered at the last evaluation, and what it was taken for; empty of many classes or without one.
std::string classification_section(const Report& report);
/// How the run ended, what its flags came to, its notes, and every key with the value that was used.
std::string configuration_section(const Report& report);

}  // namespace ptrain::html
