// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/trace.h"

#include <chrono>
#include <cstdio>

namespace sim {
namespace {

using kube::Json;

constexpr size_t kLongestValue = 120;

std::string Seconds(checker::Time at) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f", std::chrono::duration<double>(at).count());
  return text;
}

std::string Short(std::string text) {
  if (text.size() > kLongestValue) text = text.substr(0, kLongestValue) + "...";
  return text;
}

std::string Changes(const Json& before, const Json& after) {
  std::string text;
  for (const Json& change : Json::diff(before, after)) {
    const std::string path = change["path"];
    if (path.starts_with("/metadata/resourceVersion") ||
        path.starts_with("/metadata/managedFields"))
      continue;
    text += "\n      " + change["op"].get<std::string>() + " " + path;
    if (change.contains("value")) text += " " + Short(kube::DumpJson(change["value"]));
  }
  return text;
}

}  // namespace

std::string DescribeCommit(const kube::StoreCommit& commit, checker::Time at) {
  std::string text = Seconds(at) + " v" + std::to_string(commit.version) + " " + commit.verb + " " +
                     commit.collection.substr(commit.collection.rfind('/') + 1) + " " +
                     commit.key.ToString();
  if (!commit.subresource.empty()) text += " " + commit.subresource;
  text += " by " + commit.caller.user;
  if (commit.before && commit.after) return text + Changes(*commit.before, *commit.after);
  if (commit.after && commit.collection.ends_with("s/pods")) return text;
  if (commit.after) text += " " + Short(kube::DumpJson(commit.after->value("spec", Json())));
  return text;
}

std::string DescribeStep(const Step& step) {
  return Seconds(step.at) + " ==== " + step.operation + " " + kube::DumpJson(step.with);
}

}  // namespace sim
