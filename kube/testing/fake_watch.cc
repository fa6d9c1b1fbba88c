// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/fake_watch.h"

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
  const FakeObject& object = *after ? *change.after : *change.before;
  Result<std::string> body = object.Body(protobuf_);
  if (!body) return End(body.error());
  Send(!*before ? "ADDED" : *after ? "MODIFIED" : "DELETED", std::move(*body));
}

void FakeWatch::SendBookmark(uint64_t version, bool end_of_initial_events) {
  if (ended_ || target_.Query("allowWatchBookmarks") != "true") return;
  meta::PartialObject object;
  object.mutable_metadata()->set_resource_version(std::to_string(version));
  if (end_of_initial_events)
    (*object.mutable_metadata()->mutable_annotations())[kInitialEventsEnd] = "true";
  std::string body = protobuf_ ? SealFakeEnvelope("v1", "", object.SerializeAsString())
                               : DumpJson(Json({{"metadata", MetadataToJson(object.metadata())}}));
  Send("BOOKMARK", std::move(body));
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
  Send("ERROR", std::move(body));
  End(std::nullopt);
}

void FakeWatch::End(std::optional<Error> failure) {
  ended_ = true;
  failure_ = std::move(failure);
  changed_.NotifyAll();
}

void FakeWatch::Send(std::string_view type, std::string body) {
  if (protobuf_) {
    meta::WatchEvent event;
    event.set_type(std::string(type));
    event.mutable_object()->set_raw(std::move(body));
    frames_.push_back(event.SerializeAsString());
  } else {
    frames_.push_back(R"({"type":")" + std::string(type) + R"(","object":)" + body + "}");
  }
  changed_.NotifyAll();
}

Async<std::optional<std::string>> FakeWatch::Next() {
  while (frames_.empty() && !ended_) {
    Result<> waited = co_await changed_.Wait();
    if (!waited) co_return waited.error();
  }
  if (frames_.empty()) {
    if (failure_) co_return *failure_;
    co_return std::nullopt;
  }
  std::string frame = std::move(frames_.front());
  frames_.pop_front();
  co_return std::optional<std::string>(std::move(frame));
}

std::unique_ptr<WatchStream> MakeFakeStream(std::shared_ptr<FakeWatch> watch) {
  return std::make_unique<FakeStream>(std::move(watch));
}

}  // namespace kube
