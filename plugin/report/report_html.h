// SPDX-License-Identifier: Apache-2.0
// A report as one page of HTML that loads nothing and runs no script. Pure.
#pragma once

#include <string>

#include "kube/base/clock.h"
#include "plugin/report/report.h"

namespace plugin {

// `now`: for the title.
std::string AsHtml(const Report& report, kube::WallTime now);

}  // namespace plugin
