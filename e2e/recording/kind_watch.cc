// SPDX-License-Identifier: Apache-2.0
#include "e2e/recording/kind_watch.h"

#include <charconv>
#include <chrono>
#include <utility>

#include "kube/client/typed.h"

namespace e2e {

using namespace std::chrono_literals;
using kube::Async;
using kube::Code;
using kube::Json;
using kube::ObjectKey;
using kube::Ok;
using kube::Result;
using kube::Unstructured;

namespace {

constexpr auto kRetry = 100ms;
// A kind that is not served may be soon, when its CustomResourceDefinition is created.
constexpr auto kRetryUnknown = 1s;
// A frame that cannot be read is sent again at each retry.
constexpr int kMostFailures = 20;

uint64_t Number(const std::string& text) {
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

ObjectKey KeyOfJson(const Json& object) {
  return {kube::StringAt(object, "metadata.namespace"), kube::StringAt(object, "metadata.name")};
}

std::string VersionText(const Json& object) {
  return kube::StringAt(object, "metadata.resourceVersion");
}

}  // namespace

uint64_t VersionOf(const Json& object) { return Number(VersionText(object)); }

KindWatch::KindWatch(kube::Client& client, kube::Clock& clock, kube::Resource resource,
                     Observer observer)
    : client_(client), clock_(clock), resource_(resource), observer_(std::move(observer)) {}

std::optional<uint64_t> KindWatch::listed_at() const {
  return listed_ ? std::optional(listed_at_) : std::nullopt;
}

std::optional<uint64_t> KindWatch::first_listed_at() const {
  return listed_ ? std::optional(first_listed_at_) : std::nullopt;
}

boost::asio::awaitable<void> KindWatch::Run() {
  co_await kube::IgnoreCancellation();
  while (true) {
    Result<> done = Ok();
    if (listed_) {
      done = co_await Watch();
    } else {
      done = co_await List();
    }
    if (done) continue;
    kube::Duration pause = kRetry;
    switch (done.error().code()) {
      case Code::kCancelled:
        co_return;
      case Code::kExpired:
        Expire(done.error().message());
        continue;
      case Code::kNotFound:
        // All objects of a kind end with it.
        Compare({}, version_);
        answered_ = true;
        listed_ = false;
        pause = kRetryUnknown;
        break;
      case Code::kUnavailable:
      case Code::kThrottled:
      case Code::kDeadlineExceeded:
        break;
      default:
        if (listed_ && ++failures_ > kMostFailures) Expire(done.error().ToString());
    }
    Result<> paused = co_await clock_.Sleep(pause);
    if (!paused) co_return;
  }
}

void KindWatch::Expire(std::string why) {
  listed_ = false;
  failures_ = 0;
  why_expired_ = std::move(why);
}

Async<> KindWatch::List() {
  auto list = co_await kube::ListObjects(client_, resource_, kube::ListOptions());
  if (!list) co_return list.error();
  std::map<ObjectKey, const Json*> listed;
  for (const Unstructured& object : list->items) listed[KeyOfJson(object.body())] = &object.body();
  Compare(listed, list->resource_version);
  version_ = list->resource_version;
  listed_at_ = Number(version_);
  if (!was_listed_) first_listed_at_ = listed_at_;
  answered_ = listed_ = was_listed_ = true;
  co_return Ok();
}

void KindWatch::Compare(const std::map<ObjectKey, const Json*>& listed,
                        const std::string& version) {
  const bool resumes = was_listed_;
  bool changed = false;
  for (auto known = known_.begin(); known != known_.end();) {
    if (listed.contains(known->first)) {
      ++known;
      continue;
    }
    Json object;
    object["metadata"] = {{"name", known->first.name}, {"resourceVersion", version}};
    if (!known->first.ns.empty()) object["metadata"]["namespace"] = known->first.ns;
    observer_.on_change(resource_, "DELETED", std::move(object), 0);
    changed = true;
    known = known_.erase(known);
  }
  for (const auto& [key, object] : listed) {
    std::string of_object = VersionText(*object);
    std::string& known = known_[key];
    if (known == of_object) continue;
    known = std::move(of_object);
    changed = true;
    observer_.on_change(resource_, "LISTED", *object, kube::DumpJson(*object).size());
  }
  if (resumes && changed) observer_.on_gap(resource_, seen_, why_expired_);
  seen_ = clock_.Now();
}

Async<> KindWatch::Watch() {
  std::string target = resource_.Path();
  kube::AddQuery(target, "watch", "true");
  kube::AddQuery(target, "allowWatchBookmarks", "true");
  kube::AddQuery(target, "resourceVersion", version_);
  kube::ApiRequest request{.target = std::move(target)};
  auto stream = co_await client_.Watch(std::move(request));
  if (!stream) co_return stream.error();
  ++watches_;
  while (true) {
    auto frame = co_await (*stream)->Next();
    if (!frame) co_return frame.error();
    if (!*frame) co_return Ok();
    Result<kube::WatchEvent<Unstructured>> event = kube::DecodeFrame<Unstructured>(**frame);
    if (!event) co_return event.error();
    ++frames_;
    failures_ = 0;
    seen_ = clock_.Now();
    Json object = event->object.body();
    version_ = VersionText(object);
    if (event->type == "BOOKMARK") continue;
    if (event->type == "DELETED") {
      known_.erase(KeyOfJson(object));
    } else {
      known_[KeyOfJson(object)] = version_;
    }
    observer_.on_change(resource_, event->type, std::move(object), (*frame)->size());
  }
}

}  // namespace e2e
