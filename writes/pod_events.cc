// SPDX-License-Identifier: Apache-2.0
#include "writes/pod_events.h"

#include <gflags/gflags.h>
#include <glog/logging.h>

#include <string>

#include "api/names.h"
#include "api/pod_events.h"
#include "kube/base/setting_file.h"

DEFINE_string(pod_events_file, "",
              "A file with All or Problems: which events of pods are recorded. It is followed "
              "without a restart. Without it, or with another word, all are.");

namespace writes {

void PodEvents::Set(std::string_view pod_events) {
  bool only_problems = pod_events == api::kProblemsOfPods;
  if (only_problems == only_problems_) return;
  only_problems_ = only_problems;
  LOG(INFO) << "events of pods: " << (only_problems ? "problems" : "all");
}

kube::asio::awaitable<void> PodEvents::Follow(kube::Clock& clock) {
  return kube::SettingFile::Follow(clock, FLAGS_pod_events_file,
                                   [this](const std::string& word) { Set(word); });
}

bool PodEvents::Wants(const kube::core::ObjectReference& about, bool warning,
                      std::string_view reason) const {
  return !only_problems_ || warning || reason == api::kReasonNoSupportedArchitectures ||
         about.kind() != "Pod";
}

decltype(kube::EventRecorderOptions::wanted) PodEvents::Wanted() const {
  return [this](const kube::core::ObjectReference& about, bool warning, std::string_view reason) {
    return Wants(about, warning, reason);
  };
}

}  // namespace writes
