// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/fake_watch.h"

#include <algorithm>

namespace kube {
namespace {

constexpr char kInitialEventsEnd[] = "k8s.io/initial-events-end";

class FakeStream final : public WatchStream {
 public:
  explicit FakeStream(std::shared_ptr<FakeWatch> watch) : watch_(std::move(watch)) {}
  Async<std::optional<std::string>> Next() override { return watch_->Next(); }

 private:
  std::shared_ptr<FakeWatch> watch_;
};

}  // namespace

void FakeWatch::SendInitial(const ObjectKey& key, const FakeObject& object, uint64_t version) {
  if (ended_) return;
  Result<bool> matches = target_.Matches(key, object);
  if (!matches) return End(matches.error());
  if (*matches) Send("ADDED", version, object.Body(protobuf_));
}

void FakeWatch::Deliver(const FakeChange& change) {
  if (ended_ || change.collection != target_.collection) return;
  auto matches = [&](const std::optional<FakeObject>& object) -> Result<bool> {
    if (!object) return false;
    return target_.Matches(change.key, *object);
  };
  Result<bool> before = matches(change.before);
  Result<bool> after = matches(change.after);
  if (!before || !after) return End(before ? after.error() : before.error());
  if (!*before && !*after) return;
  // The client reads too slowly.
  if (frames_.size() >= max_unread_) return End(std::nullopt);
  if (*after) {
    return Send(*before ? "MODIFIED" : "ADDED", change.version, change.after->Body(protobuf_));
  }
  // A DELETED event carries the version of the change.
  FakeObject last = *change.before;
  meta::ObjectMeta meta = last.metadata();
  meta.set_resource_version(std::to_string(change.version));
  last.SetMetadata(meta);
  Send("DELETED", change.version, last.Body(protobuf_));
}

void FakeWatch::SendBookmark(uint64_t version, bool end_of_initial_events) {
  if (ended_ || target_.Query("allowWatchBookmarks") != "true") return;
  meta::PartialObject object;
  object.mutable_metadata()->set_resource_version(std::to_string(version));
  if (end_of_initial_events)
    (*object.mutable_metadata()->mutable_annotations())[kInitialEventsEnd] = "true";
  std::string body = protobuf_ ? SealFakeEnvelope("v1", "", object.SerializeAsString())
                               : DumpJson(Json({{"metadata", MetadataToJson(object.metadata())}}));
  Send("BOOKMARK", version, std::move(body));
}

void FakeWatch::SendExpired() {
  if (ended_) return;
  meta::Status status;
  status.set_status("Failure");
  status.set_code(410);
  status.set_reason("Expired");
  status.set_message("too old resource version");
  std::string body = protobuf_ ? SealFakeEnvelope("v1", "Status", status.SerializeAsString())
                               : DumpJson(Json({{"kind", "Status"},
                                                {"status", status.status()},
                                                {"code", status.code()},
                                                {"reason", status.reason()},
                                                {"message", status.message()}}));
  Send("ERROR", frames_.empty() ? 0 : frames_.back().version, std::move(body));
  End(std::nullopt);
}

void FakeWatch::End(std::optional<Error> failure) {
  ended_ = true;
  failure_ = std::move(failure);
  changed_.NotifyAll();
}

void FakeWatch::Send(std::string_view type, uint64_t version, const Result<std::string>& body) {
  if (!body) return End(body.error());
  if (protobuf_) {
    meta::WatchEvent event;
    event.set_type(std::string(type));
    event.mutable_object()->set_raw(*body);
    frames_.push_back({version, event.SerializeAsString()});
  } else {
    frames_.push_back(
        {version, R"({"type":")" + std::string(type) + R"(","object":)" + *body + "}"});
  }
  if (!held_) Release(1);
}

void FakeWatch::Release(size_t frames) {
  released_ = std::min(frames_.size(), released_ + frames);
  changed_.NotifyAll();
}

void FakeWatch::ReleaseThrough(uint64_t version) {
  while (released_ < frames_.size() && frames_[released_].version <= version) ++released_;
  changed_.NotifyAll();
}

void FakeWatch::Cut(Error failure) {
  frames_.clear();
  released_ = 0;
  End(std::move(failure));
}

Async<std::optional<std::string>> FakeWatch::Next() {
  while (released_ == 0 && !(ended_ && frames_.empty())) {
    Result<> waited = co_await changed_.Wait();
    if (!waited) co_return waited.error();
  }
  if (frames_.empty()) {
    if (failure_) co_return *failure_;
    co_return std::nullopt;
  }
  std::string frame = std::move(frames_.front().text);
  frames_.pop_front();
  --released_;
  co_return std::optional<std::string>(std::move(frame));
}

std::unique_ptr<WatchStream> MakeFakeStream(std::shared_ptr<FakeWatch> watch) {
  return std::make_unique<FakeStream>(std::move(watch));
}

}  // namespace kube
