// SPDX-License-Identifier: Apache-2.0
#include "e2e/recording/recorder.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <utility>

#include "e2e/recording/audit_tail.h"
#include "e2e/recording/kind_watch.h"
#include "kube/base/task_group.h"
#include "kube/client/refusal.h"
#include "sim/checker/recording.h"

namespace e2e {

using namespace std::chrono_literals;
using kube::Async;
using kube::Error;
using kube::Json;
using kube::Ok;
using kube::Resource;
using kube::Result;
using sim::checker::Time;

namespace {

// The audit log has a line within milliseconds of the answer. After this, an API server was killed
// before it wrote the line.
constexpr Time kLogged = 2s;
constexpr auto kPoll = 20ms;

// What no rule reads: it is most of an object, or nothing for a file.
void Trim(const Resource& resource, Json& object) {
  auto metadata = object.find("metadata");
  if (metadata != object.end() && metadata->is_object()) metadata->erase("managedFields");
  if (resource.plural == "configmaps") {
    object.erase("data");
    object.erase("binaryData");
  }
  if (resource.plural == "secrets") {
    // Of authorities, the certificate shows which namespaces share one.
    Json data = Json::object();
    auto found = object.find("data");
    if (found != object.end() && found->contains("ca.crt")) data["ca.crt"] = (*found)["ca.crt"];
    object["data"] = std::move(data);
  }
}

// Whether the API server refused the contents of a write.
bool IsRefused(const Json& event) {
  const int64_t code = kube::IntAt(event, "responseStatus.code");
  return code >= 400 && code < 500 &&
         IsRefusal(Error::FromHttpStatus(static_cast<int>(code),
                                         kube::StringAt(event, "responseStatus.reason"),
                                         kube::StringAt(event, "responseStatus.message")));
}

std::string Describe(const sim::checker::Recording::Id& id, uint64_t version) {
  return std::get<1>(id) + " " + std::get<2>(id).ToString() + ", version " +
         std::to_string(version);
}

}  // namespace

class Recorder::Impl {
 public:
  Impl(kube::Client& client, kube::Clock& clock, kube::Executor executor, RecorderOptions options)
      : client_(client), clock_(clock), options_(std::move(options)), tasks_(std::move(executor)) {
    for (const std::string& path : options_.audit_logs)
      logs_.push_back(std::make_unique<AuditTail>(path));
  }

  Async<> Start(kube::Duration timeout) {
    started_ = clock_.Now();
    started_wall_ = clock_.WallNow();
    for (const Resource& resource : options_.kinds) {
      KindWatch::Observer observer;
      observer.on_change = [this](const Resource& of, const std::string& type, Json object,
                                  size_t bytes) { Add(of, type, std::move(object), bytes); };
      observer.on_gap = [this](const Resource& of, kube::TimePoint since, const std::string& why) {
        AddGap(of, since - started_, now(), why);
      };
      auto& watch = watches_[{std::string(resource.group), std::string(resource.plural)}];
      watch = std::make_unique<KindWatch>(client_, clock_, resource, std::move(observer));
      tasks_.Spawn("record " + std::string(resource.plural), watch->Run());
    }
    const kube::TimePoint deadline = clock_.Now() + timeout;
    while (true) {
      auto waiting = std::find_if(watches_.begin(), watches_.end(),
                                  [](const auto& one) { return !one.second->answered(); });
      if (waiting == watches_.end()) co_return Ok();
      if (clock_.Now() >= deadline)
        co_return Error::DeadlineExceeded("no list of " + waiting->first.second);
      Result<> paused = co_await clock_.Sleep(kPoll);
      if (!paused) co_return paused.error();
    }
  }

  Async<> Sync(kube::Duration timeout) {
    const kube::TimePoint deadline = clock_.Now() + timeout;
    while (true) {
      ReadLogs();
      std::string missing = Missing();
      if (missing.empty()) co_return Ok();
      if (clock_.Now() >= deadline) co_return Error::DeadlineExceeded(missing);
      Result<> paused = co_await clock_.Sleep(kPoll);
      if (!paused) co_return paused.error();
    }
  }

  Async<> Stop() { return tasks_.Stop(clock_, 10s); }

  Recorded Take() {
    ReadLogs();
    // No watch will deliver these any more.
    const auto awaited = recording_.AwaitedWrites();
    Recorded recorded;
    recorded.commits = recording_.Take();
    for (const auto& commit : recorded.commits) taken_ = std::max(taken_, commit.version);
    for (const auto& write : awaited) {
      const KindWatch* watch = WatchOf(write.id);
      if (write.version > taken_ || watch == nullptr || !watch->first_listed_at() ||
          write.version <= *watch->first_listed_at())
        continue;
      // A later list has shown what there is.
      const bool listed = write.version <= watch->listed_at().value_or(0);
      AddGap(watch->resource(), write.at.value_or(now()),
             listed ? watch->listed_when() - started_ : now(),
             "not delivered: " + Describe(write.id, write.version));
    }
    for (auto& [of, gap] : dropped_) {
      gap.to = now();
      gaps_.push_back(std::move(gap));
    }
    dropped_.clear();
    bytes_ = 0;
    recorded.gaps = std::exchange(gaps_, {});
    recorded.refused = std::exchange(refused_, {});
    return recorded;
  }

  Time now() const { return clock_.Now() - started_; }
  uint64_t frames() const { return Sum(&KindWatch::frames); }
  uint64_t watches() const { return Sum(&KindWatch::watches); }

 private:
  using Kind = std::pair<std::string, std::string>;  // group, plural

  uint64_t Sum(uint64_t (KindWatch::*of)() const) const {
    uint64_t sum = 0;
    for (const auto& [kind, watch] : watches_) sum += (*watch.*of)();
    return sum;
  }

  void Add(const Resource& of, const std::string& type, Json object, size_t bytes) {
    const std::string group(of.group), plural(of.plural);
    if (bytes == 0) {
      // Gone when it was looked for, which is after all that was seen.
      uint64_t version = std::max(VersionOf(object), highest_);
      object["metadata"]["resourceVersion"] = std::to_string(version);
    }
    uint64_t version = VersionOf(object);
    highest_ = std::max(highest_, version);
    if (bytes_ + bytes > options_.max_bytes) {
      dropped_.try_emplace({group, plural},
                           Gap{.group = group, .plural = plural, .from = now(), .why = "memory"});
      return;
    }
    bytes_ += bytes;
    // A later commit of another kind was judged already. Lists have any version, and Sync() does
    // not wait for events.
    if (version < taken_ && type != "LISTED" && plural != "events")
      AddGap(of, now(), now(), "delivered too late");
    Trim(of, object);
    recording_.AddWatched(group, plural, type, std::move(object), now());
  }

  void AddGap(const Resource& of, Time from, Time to, std::string why) {
    Gap gap{.group = std::string(of.group),
            .plural = std::string(of.plural),
            .from = from,
            .to = to,
            .why = std::move(why)};
    for (Gap& known : gaps_) {
      if (known.group != gap.group || known.plural != gap.plural || known.why != gap.why) continue;
      known.from = std::min(known.from, gap.from);
      known.to = std::max(known.to, gap.to);
      return;
    }
    gaps_.push_back(std::move(gap));
  }

  void ReadLogs() {
    for (const auto& log : logs_) log->Read([this](std::string_view line) { AddLine(line); });
  }

  void AddLine(std::string_view line) {
    // Only writes of the recorded kinds are logged with their objects.
    if (line.find("\"level\":\"RequestResponse\"") == std::string_view::npos) return;
    Result<Json> event = kube::ParseJson(line);
    if (!event) {
      // An API server that was killed has left the beginning of a line.
      size_t begin = line.rfind("{\"kind\":\"Event\",");
      if (begin == 0 || begin == std::string_view::npos) return;
      event = kube::ParseJson(line.substr(begin));
      if (!event) return;
    }
    Kind kind{kube::StringAt(*event, "objectRef.apiGroup"),
              kube::StringAt(*event, "objectRef.resource")};
    if (!watches_.contains(kind)) return;
    // The write was between these two. Rules about pods say what may not be too early after their
    // creation.
    const bool creates_pod = kind.second == "pods" && kube::StringAt(*event, "verb") == "create";
    const char* when = creates_pod ? "requestReceivedTimestamp" : "stageTimestamp";
    std::optional<Time> at;
    Result<kube::WallTime> stamp = kube::ParseTime(kube::StringAt(*event, when));
    if (stamp) at = std::max(Time(*stamp - started_wall_), Time::zero());
    if (kind.second == "pods" && IsRefused(*event)) {
      refused_.push_back({.user = kube::StringAt(*event, "user.username"),
                          .pod = {kube::StringAt(*event, "objectRef.namespace"),
                                  kube::StringAt(*event, "objectRef.name")},
                          .at = at.value_or(now())});
    }
    recording_.AddAudit(*event, at);
  }

  const KindWatch* WatchOf(const sim::checker::Recording::Id& id) const {
    auto found = watches_.find({std::get<0>(id), std::get<1>(id)});
    return found == watches_.end() ? nullptr : found->second.get();
  }

  // A watch must deliver this write.
  bool IsFollowed(const sim::checker::Recording::Undelivered& write) const {
    const KindWatch* watch = WatchOf(write.id);
    return watch != nullptr && watch->listed_at() && write.version > *watch->listed_at() &&
           !dropped_.contains({std::get<0>(write.id), std::get<1>(write.id)});
  }

  // What Sync() waits for; "" for nothing.
  std::string Missing() const {
    for (const auto& write : recording_.AwaitedWrites()) {
      if (IsFollowed(write)) return "no watch delivered " + Describe(write.id, write.version);
    }
    if (logs_.empty()) return "";
    for (const auto* commit : recording_.UnnamedCommits(now() - kLogged)) {
      if (!HasLoggedWriters(commit->plural)) continue;
      return "no audit log has the writer of " +
             Describe({commit->group, commit->plural, commit->key}, commit->version);
    }
    return "";
  }

  kube::Client& client_;
  kube::Clock& clock_;
  const RecorderOptions options_;
  kube::TaskGroup tasks_;
  kube::TimePoint started_{};
  kube::WallTime started_wall_{};
  std::map<Kind, std::unique_ptr<KindWatch>> watches_;
  std::vector<std::unique_ptr<AuditTail>> logs_;
  sim::checker::Recording recording_;
  // Since the latest Take().
  std::vector<Refused> refused_;
  // Since the latest Take(), one for each kind and reason.
  std::vector<Gap> gaps_;
  // The kinds of which commits were dropped since the latest Take().
  std::map<Kind, Gap> dropped_;
  uint64_t bytes_ = 0;
  // The highest version of all, and of those that were taken.
  uint64_t highest_ = 0, taken_ = 0;
};

Recorder::Recorder(kube::Client& client, kube::Clock& clock, kube::Executor executor,
                   RecorderOptions options)
    : impl_(std::make_unique<Impl>(client, clock, std::move(executor), std::move(options))) {}
Recorder::~Recorder() = default;

Async<> Recorder::Start(kube::Duration timeout) { return impl_->Start(timeout); }
Async<> Recorder::Sync(kube::Duration timeout) { return impl_->Sync(timeout); }
Async<> Recorder::Stop() { return impl_->Stop(); }
Recorded Recorder::Take() { return impl_->Take(); }
Time Recorder::now() const { return impl_->now(); }
uint64_t Recorder::frames() const { return impl_->frames(); }
uint64_t Recorder::watches() const { return impl_->watches(); }

}  // namespace e2e
