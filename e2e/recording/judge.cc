// SPDX-License-Identifier: Apache-2.0
#include "e2e/recording/judge.h"

#include <utility>

#include "e2e/recording/doubts.h"
#include "e2e/recording/story.h"
#include "sim/checker/checker.h"
#include "sim/checker/pod_fields.h"
#include "sim/checker/writer.h"

namespace e2e {

using sim::checker::Checker;
using sim::checker::Commit;
using sim::checker::Facts;
using sim::checker::Violation;

namespace {

// The rules that read nothing but one commit.
const std::set<std::string>& RulesOfOneChange() {
  static const std::set<std::string> kRules = {"I1", "I2", "I5", "I6", "I8"};
  return kRules;
}

std::string Counts(const std::map<std::string, uint64_t>& counts) {
  std::string text;
  for (const auto& [what, count] : counts)
    text += (text.empty() ? "" : ", ") + what + ": " + std::to_string(count);
  return text;
}

}  // namespace

std::set<std::string> RulesOfRealRuns() {
  return {"I1", "I2", "I4", "I5", "I6", "I8", "gating", "inspection", "takeover", "teardown"};
}

std::string Verdict::Summary() const {
  std::string text = std::to_string(commits) + " commits, " + std::to_string(pods_judged) +
                     " pods judged, " + std::to_string(violations.size()) + " violations";
  if (!not_judged.empty()) text += "; pods not judged: " + Counts(not_judged);
  if (!not_applied.empty()) text += "; of rules that are not applied: " + Counts(not_applied);
  if (!expected.empty()) text += "; expected: " + Counts(expected);
  if (!gaps.empty()) text += "; gaps: " + std::to_string(gaps.size());
  return text;
}

std::string Verdict::Describe() const {
  std::string text;
  for (const Finding& finding : violations) {
    text += sim::checker::Describe(finding.violation) + "\n";
    for (const std::string& line : finding.story) text += "    " + line + "\n";
  }
  for (const Gap& gap : gaps) {
    text += "gap of " + gap.plural + " from " +
            std::to_string(std::chrono::duration<double>(gap.from).count()) + " s to " +
            std::to_string(std::chrono::duration<double>(gap.to).count()) + " s: " + gap.why + "\n";
  }
  return text + Summary() + "\n";
}

class Judge::Impl {
 public:
  Impl(Facts facts, JudgeOptions options) : facts_(std::move(facts)), options_(std::move(options)) {
    facts_.images_known = false;
  }

  Facts& facts() { return facts_; }
  void Expect(Expected expected) { expected_.push_back(std::move(expected)); }

  void Add(const Recorded& recorded) {
    doubts_.Add(recorded.gaps);
    verdict_.gaps.insert(verdict_.gaps.end(), recorded.gaps.begin(), recorded.gaps.end());
    for (const Refused& one : recorded.refused) facts_.refusals.Add(one.user, one.pod, one.at);
    for (const Commit& commit : recorded.commits) Add(commit);
  }

  Verdict Take() {
    for (auto& [finding, commit] : found_) {
      finding.story = stories_.Of(commit);
      verdict_.violations.push_back(std::move(finding));
    }
    found_.clear();
    for (const std::string& uid : judged_) {
      if (!in_doubt_.contains(uid)) ++verdict_.pods_judged;
    }
    for (const auto& [uid, reason] : in_doubt_) ++verdict_.not_judged[reason];
    judged_.clear();
    in_doubt_.clear();
    stories_.ForgetDeleted();
    expected_.clear();
    return std::exchange(verdict_, {});
  }

 private:
  void Add(const Commit& commit) {
    ++verdict_.commits;
    const Doubt doubt = doubts_.Of(commit);
    const size_t before = checker_.violations().size();
    checker_.Add(commit);
    stories_.Add(commit);
    if (IsPodChange(commit) && WriterOf(commit.user, facts_).IsOurs())
      Count(kube::StringAt(*commit.after, "metadata.uid"), doubt);
    for (size_t i = before; i < checker_.violations().size(); ++i)
      Report(checker_.violations()[i], commit, doubt);
  }

  void Count(const std::string& uid, const Doubt& doubt) {
    if (doubt.reason.empty()) {
      judged_.insert(uid);
    } else {
      in_doubt_.try_emplace(uid, doubt.reason);
    }
  }

  void Report(const Violation& violation, const Commit& commit, const Doubt& doubt) {
    if (!options_.rules.contains(violation.rule)) {
      ++verdict_.not_applied[violation.rule];
      return;
    }
    if (doubt.of_change || (!doubt.reason.empty() && !RulesOfOneChange().contains(violation.rule)))
      return;
    for (const Expected& one : expected_) {
      if (one.rule == violation.rule && violation.text.find(one.text) != std::string::npos &&
          violation.object.find(one.object) != std::string::npos) {
        ++verdict_.expected[one.why];
        return;
      }
    }
    found_.push_back({Finding{.violation = violation, .story = {}}, Where(commit)});
  }

  // Enough of a commit to find its story.
  static Commit Where(const Commit& commit) {
    return {.group = commit.group, .plural = commit.plural, .key = commit.key};
  }

  Facts facts_;
  const JudgeOptions options_;
  Checker checker_{facts_};
  Stories stories_{facts_};
  Doubts doubts_;
  std::vector<Expected> expected_;
  // Since the latest Take().
  Verdict verdict_;
  std::vector<std::pair<Finding, Commit>> found_;
  std::set<std::string> judged_;                 // uids
  std::map<std::string, std::string> in_doubt_;  // uid -> reason
};

Judge::Judge(Facts facts, JudgeOptions options)
    : impl_(std::make_unique<Impl>(std::move(facts), std::move(options))) {}
Judge::~Judge() = default;

Facts& Judge::facts() { return impl_->facts(); }
void Judge::Add(const Recorded& recorded) { impl_->Add(recorded); }
void Judge::Expect(Expected expected) { impl_->Expect(std::move(expected)); }
Verdict Judge::Take() { return impl_->Take(); }

Verdict JudgeRun(const Recorded& recorded, Facts facts, JudgeOptions options) {
  Judge judge(std::move(facts), std::move(options));
  judge.Add(recorded);
  return judge.Take();
}

}  // namespace e2e
