// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/fake_watch.h"

#include <vector>

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

std::string Unescape(std::string_view text) {
  auto hex = [](char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; };
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      out += static_cast<char>(hex(text[i + 1]) * 16 + hex(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    size_t end = text.find(separator);
    if (end != 0) parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return parts;
}

}  // namespace

Result<FakeTarget> FakeTarget::Parse(std::string_view text) {
  FakeTarget target;
  size_t question = text.find('?');
  if (question != std::string_view::npos) {
    for (const std::string& pair : Split(text.substr(question + 1), '&')) {
      size_t equals = pair.find('=');
      target.query[pair.substr(0, equals)] =
          equals == std::string::npos ? "" : Unescape(pair.substr(equals + 1));
    }
  }
  std::vector<std::string> path = Split(text.substr(0, question), '/');
  size_t versions = !path.empty() && path[0] == "api" ? 2 : 3;  // /api/v1 or /apis/group/v1
  if (path.size() <= versions)
    return Error::FromHttpStatus(404, "NotFound", "no such path: " + std::string(text));
  for (size_t i = 0; i < versions; ++i) target.collection += "/" + path[i];

  size_t at = versions;
  // /namespaces/ns/pods..., but /namespaces/ns and /namespaces/ns/status are the namespace itself.
  bool scoped = path[at] == "namespaces" && path.size() > at + 2 && path[at + 2] != "status" &&
                path[at + 2] != "finalize";
  if (scoped) {
    target.key.ns = Unescape(path[at + 1]);
    at += 2;
  }
  target.collection += "/" + path[at++];
  if (at < path.size()) target.key.name = Unescape(path[at++]);
  if (at < path.size()) target.subresource = path[at++];
  if (at < path.size())
    return Error::FromHttpStatus(404, "NotFound", "no such path: " + std::string(text));
  return target;
}

std::string FakeTarget::Query(const std::string& name) const {
  auto found = query.find(name);
  return found == query.end() ? "" : found->second;
}

Result<bool> FakeTarget::Matches(const ObjectKey& object_key, const FakeObject& object) const {
  if (!key.ns.empty() && object_key.ns != key.ns) return false;
  if (!object.MatchesLabels(Query("labelSelector"))) return false;
  return object.MatchesFields(Query("fieldSelector"));
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
  const FakeObject& object = *after ? *change.after : *change.before;
  Send(!*before ? "ADDED" : *after ? "MODIFIED" : "DELETED", object.protobuf(), object.Body());
}

void FakeWatch::SendBookmark(uint64_t version, bool end_of_initial_events) {
  if (ended_ || target_.Query("allowWatchBookmarks") != "true") return;
  meta::PartialObject object;
  object.mutable_metadata()->set_resource_version(std::to_string(version));
  if (end_of_initial_events)
    (*object.mutable_metadata()->mutable_annotations())[kInitialEventsEnd] = "true";
  std::string body = protobuf_ ? SealFakeEnvelope("v1", "", object.SerializeAsString())
                               : DumpJson(Json({{"metadata", MetadataToJson(object.metadata())}}));
  Send("BOOKMARK", protobuf_, std::move(body));
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
  Send("ERROR", protobuf_, std::move(body));
  End(std::nullopt);
}

void FakeWatch::End(std::optional<Error> failure) {
  ended_ = true;
  failure_ = std::move(failure);
  changed_.NotifyAll();
}

void FakeWatch::Send(std::string_view type, bool protobuf, std::string body) {
  if (protobuf != protobuf_)
    return End(Error::Invalid("the object was written in the other encoding than is watched"));
  if (protobuf) {
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
