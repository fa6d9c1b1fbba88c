// SPDX-License-Identifier: Apache-2.0
#include "e2e/recording/recording_file.h"

#include <fstream>
#include <utility>

namespace e2e {

using kube::Error;
using kube::Json;
using kube::Result;
using sim::checker::Commit;
using sim::checker::Time;

namespace {

constexpr char kFormat[] = "pod-placement-recording/1";

using Id = std::tuple<std::string, std::string, kube::ObjectKey>;

Id IdOf(const Commit& commit) { return {commit.group, commit.plural, commit.key}; }

Json GapToJson(const Gap& gap) {
  return {{"group", gap.group},
          {"plural", gap.plural},
          {"from", gap.from.count()},
          {"to", gap.to.count()},
          {"why", gap.why}};
}

Gap GapFromJson(const Json& json) {
  return {.group = kube::StringAt(json, "group"),
          .plural = kube::StringAt(json, "plural"),
          .from = Time(kube::IntAt(json, "from")),
          .to = Time(kube::IntAt(json, "to")),
          .why = kube::StringAt(json, "why")};
}

Json RefusedToJson(const Refused& refused) {
  return {{"user", refused.user},
          {"ns", refused.pod.ns},
          {"name", refused.pod.name},
          {"at", refused.at.count()}};
}

Refused RefusedFromJson(const Json& json) {
  return {.user = kube::StringAt(json, "user"),
          .pod = {kube::StringAt(json, "ns"), kube::StringAt(json, "name")},
          .at = Time(kube::IntAt(json, "at"))};
}

sim::checker::JsonRef RefTo(Json& line, const char* member) {
  auto found = line.find(member);
  if (found == line.end() || found->is_null()) return nullptr;
  return sim::checker::Share(std::move(*found));
}

}  // namespace

RecordingWriter::RecordingWriter(std::ostream& out) : out_(out) {
  out_ << kube::DumpJson({{"format", kFormat}}) << "\n";
}

void RecordingWriter::Write(const Recorded& recorded) {
  for (const Gap& gap : recorded.gaps) out_ << kube::DumpJson({{"gap", GapToJson(gap)}}) << "\n";
  for (const Refused& refused : recorded.refused)
    out_ << kube::DumpJson({{"refused", RefusedToJson(refused)}}) << "\n";
  for (const Commit& commit : recorded.commits) {
    Json line = {{"version", commit.version}, {"at", commit.at.count()}, {"group", commit.group},
                 {"plural", commit.plural},   {"ns", commit.key.ns},     {"name", commit.key.name},
                 {"user", commit.user},       {"verb", commit.verb}};
    if (!commit.subresource.empty()) line["subresource"] = commit.subresource;
    if (commit.sent) line["sent"] = *commit.sent;
    if (commit.after) line["after"] = *commit.after;
    auto latest = latest_.find(IdOf(commit));
    const sim::checker::JsonRef shown = latest == latest_.end() ? nullptr : latest->second;
    // The recorder hands the same object out again.
    if (commit.before != shown) line["before"] = commit.before ? *commit.before : Json();
    out_ << kube::DumpJson(line) << "\n";
    if (commit.after) {
      latest_[IdOf(commit)] = commit.after;
    } else if (latest != latest_.end()) {
      latest_.erase(latest);
    }
  }
  out_.flush();
}

Result<Recorded> ReadRecording(const std::string& path) {
  std::ifstream in(path);
  if (!in) return Error::NotFound("cannot read " + path);
  Recorded recorded;
  std::map<Id, sim::checker::JsonRef> latest;
  size_t number = 0;
  for (std::string text; std::getline(in, text);) {
    ++number;
    Result<Json> line = kube::ParseJson(text);
    if (!line && in.eof()) break;
    if (!line) return line.error().Prefix(path + ":" + std::to_string(number));
    if (number == 1) {
      if (kube::StringAt(*line, "format") != kFormat)
        return Error::Invalid(path + " is no recording of the format " + kFormat);
      continue;
    }
    if (const Json* gap = kube::Find(*line, "gap")) {
      recorded.gaps.push_back(GapFromJson(*gap));
      continue;
    }
    if (const Json* refused = kube::Find(*line, "refused")) {
      recorded.refused.push_back(RefusedFromJson(*refused));
      continue;
    }
    Commit commit{.version = static_cast<uint64_t>(kube::IntAt(*line, "version")),
                  .group = kube::StringAt(*line, "group"),
                  .plural = kube::StringAt(*line, "plural"),
                  .key = {kube::StringAt(*line, "ns"), kube::StringAt(*line, "name")},
                  .user = kube::StringAt(*line, "user"),
                  .verb = kube::StringAt(*line, "verb"),
                  .subresource = kube::StringAt(*line, "subresource"),
                  .at = Time(kube::IntAt(*line, "at"))};
    sim::checker::JsonRef& state = latest[IdOf(commit)];
    commit.before = line->contains("before") ? RefTo(*line, "before") : state;
    commit.after = RefTo(*line, "after");
    commit.sent = RefTo(*line, "sent");
    state = commit.after;
    if (!state) latest.erase(IdOf(commit));
    recorded.commits.push_back(std::move(commit));
  }
  if (number == 0) return Error::Invalid(path + " is empty");
  return recorded;
}

}  // namespace e2e
