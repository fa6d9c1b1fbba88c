// SPDX-License-Identifier: Apache-2.0
// Reads what a report is made of, with the user's rights. Pods are read in pages, and only what is
// said about their workloads is kept. Thread: the client's.
#pragma once

#include <string>

#include "kube/base/async.h"
#include "kube/client/client.h"
#include "plugin/inspect/image_finder.h"
#include "plugin/report/report.h"

namespace plugin {

struct ReportQuestion {
  std::string ns;              // "" for all
  std::string label_selector;  // of pods; "" for all
  std::string operator_namespace;
  // Look in registries for newer images of what is held back.
  bool finds_newer = false;
  ReportOptions options;
};

// `finder`: for the images of pods. Errors: those of reading pods.
kube::Async<Report> ReadReport(kube::Client& client, ImageFinder& finder, ReportQuestion question);

}  // namespace plugin
