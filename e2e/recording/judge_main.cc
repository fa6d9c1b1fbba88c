// SPDX-License-Identifier: Apache-2.0
// Judges recordings of real runs again (README.md).
//
//   judge FILE...
//   judge --rules=I4,gating FILE        other rules than those of real runs
//   judge --pod=shop/web FILE           and tells what happened to this pod
//
// The exit code is 1 for violations, 2 for a file that cannot be read, and 3 if no pod was judged.
#include <gflags/gflags.h>

#include <algorithm>
#include <iostream>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "e2e/recording/judge.h"
#include "e2e/recording/recording_file.h"
#include "e2e/recording/story.h"

DEFINE_string(rules, "", "Names of rules, separated by commas. Default: those of real runs.");
DEFINE_string(pod, "", "NAMESPACE/NAME of a pod: prints its story.");

namespace {

std::set<std::string> Rules() {
  if (FLAGS_rules.empty()) return e2e::RulesOfRealRuns();
  std::set<std::string> rules;
  std::istringstream names(FLAGS_rules);
  for (std::string name; std::getline(names, name, ',');) rules.insert(name);
  return rules;
}

int JudgeFile(const std::string& path) {
  kube::Result<e2e::Recorded> recorded = e2e::ReadRecording(path);
  if (!recorded) {
    std::cerr << recorded.error() << std::endl;
    return 2;
  }
  const sim::checker::Facts facts;
  for (const auto& commit : recorded->commits) {
    if (!FLAGS_pod.empty() && commit.plural == "pods" && commit.key.ToString() == FLAGS_pod)
      std::cout << e2e::StoryLine(commit, facts) << std::endl;
  }
  const e2e::Verdict verdict = e2e::JudgeRun(*recorded, facts, {.rules = Rules()});
  std::cout << verdict.Describe();
  if (!verdict.violations.empty()) return 1;
  return verdict.pods_judged == 0 ? 3 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  if (argc < 2) {
    std::cerr << "usage: judge [--rules=NAMES] [--pod=NAMESPACE/NAME] FILE..." << std::endl;
    return 2;
  }
  int worst = 0;
  for (int i = 1; i < argc; ++i) worst = std::max(worst, JudgeFile(argv[i]));
  return worst;
}
