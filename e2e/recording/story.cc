// SPDX-License-Identifier: Apache-2.0
#include "e2e/recording/story.h"

#include <chrono>
#include <cstdio>

#include "api/names.h"
#include "kube/types/list_at.h"
#include "sim/checker/pod_fields.h"
#include "sim/checker/user_fields.h"
#include "sim/checker/writer.h"

namespace e2e {

using sim::checker::Commit;
using sim::checker::Facts;

namespace {

// A pod of a Job in a loop, or one whose status changes all the time.
constexpr size_t kMostLines = 40;
constexpr size_t kLongestLine = 400;

std::string GatesOf(const kube::Json& pod) {
  std::string gates;
  for (const kube::Json& gate : kube::ListAt(pod, "spec.schedulingGates"))
    gates += (gates.empty() ? "" : ", ") + kube::StringAt(gate, "name");
  return gates;
}

std::string ChangeIn(const Commit& commit) {
  if (!commit.after) return "deleted";
  const bool is_pod = IsOf(commit, "", "pods");
  if (!commit.before) {
    std::string gates = is_pod ? GatesOf(*commit.after) : "";
    std::string text = commit.verb == "list" ? "exists" : "created";
    return gates.empty() ? text : text + ", with the gates " + gates;
  }
  std::string text;
  if (is_pod) {
    std::string before = GatesOf(*commit.before), after = GatesOf(*commit.after);
    if (before != after) text = "gates: " + (after.empty() ? "none" : after) + "; ";
  }
  std::string difference = sim::checker::DescribeDifference(*commit.before, *commit.after);
  return text + (difference.empty() ? "nothing that a rule reads" : difference);
}

}  // namespace

std::string StoryLine(const Commit& commit, const Facts& facts) {
  char time[64];
  std::snprintf(time, sizeof(time), "%.3f s, version %llu, ",
                std::chrono::duration<double>(commit.at).count(),
                static_cast<unsigned long long>(commit.version));
  const sim::checker::Writer writer = sim::checker::WriterOf(commit.user, facts);
  std::string who = writer.IsOurs() ? writer.Describe() : commit.user;
  std::string line = time + commit.verb;
  if (!commit.subresource.empty()) line += " /" + commit.subresource;
  if (commit.verb != "list") line += " by " + (who.empty() ? "a writer that is not known" : who);
  line += ": " + ChangeIn(commit);
  if (line.size() > kLongestLine) line = line.substr(0, kLongestLine) + "...";
  return line;
}

void Stories::Add(const Commit& commit) {
  if (!IsOf(commit, "", "pods") && commit.group != api::kGroup) return;
  Story& story = stories_[{commit.group, commit.plural, commit.key}];
  if (story.deleted) story = {};
  if (story.lines.size() == kMostLines) {
    story.lines.erase(story.lines.begin() + 1);  // the creation stays
    ++story.omitted;
  }
  story.lines.push_back(StoryLine(commit, facts_));
  story.deleted = !commit.after;
}

std::vector<std::string> Stories::Of(const Commit& commit) const {
  auto found = stories_.find({commit.group, commit.plural, commit.key});
  if (found == stories_.end()) return {};
  std::vector<std::string> lines = found->second.lines;
  if (found->second.omitted > 0) {
    lines.insert(lines.begin() + 1,
                 "(" + std::to_string(found->second.omitted) + " lines are not kept)");
  }
  return lines;
}

void Stories::ForgetDeleted() {
  std::erase_if(stories_, [](const auto& one) { return one.second.deleted; });
}

}  // namespace e2e
