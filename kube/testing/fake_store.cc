// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/fake_store.h"

#include <algorithm>
#include <charconv>

#include "kube/testing/fake_patch.h"

namespace kube {
namespace {

uint64_t ParseNumber(std::string_view text) {
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

Error NotFound(const FakeTarget& target) {
  return Error::FromHttpStatus(404, "NotFound",
                               target.collection + " \"" + target.key.ToString() + "\" not found");
}

Error Conflict(const std::string& message) {
  return Error::FromHttpStatus(409, "Conflict", message);
}

// A parameter that validation refuses.
Error Forbidden(const std::string& field, const std::string& why) {
  return Error::FromHttpStatus(422, "Invalid", field + " " + why)
      .WithCauses({{"FieldValueForbidden", why, field}});
}

bool WantsProtobuf(const ApiRequest& request) { return request.accept.starts_with(kProtobuf); }

Result<ApiResponse> Answer(int status, const FakeObject& object, const ApiRequest& request) {
  bool as_protobuf = WantsProtobuf(request);
  Result<std::string> body = object.Body(as_protobuf);
  if (!body) return body.error();
  return ApiResponse{status, std::string(as_protobuf ? kProtobuf : kJson), std::move(*body)};
}

// The value of `json` at spec or status, or null.
Json Part(const FakeObject& object, const char* name) {
  Result<std::shared_ptr<const Json>> json = object.AsJson();
  return json ? (*json)->value(name, Json()) : Json();
}

std::shared_ptr<const Json> JsonOf(const std::optional<FakeObject>& object) {
  if (!object) return nullptr;
  Result<std::shared_ptr<const Json>> json = object->AsJson();
  if (json) return *json;
  return std::make_shared<const Json>(
      Json{{"kind", object->kind()}, {"metadata", MetadataToJson(object->metadata())}});
}

// As RBAC names it.
std::string VerbOf(Method method) {
  switch (method) {
    case Method::kPost:
      return "create";
    case Method::kPut:
      return "update";
    case Method::kPatch:
      return "patch";
    case Method::kDelete:
      return "delete";
    default:
      return "get";
  }
}

}  // namespace

FakeStore::FakeStore(Clock& clock) : clock_(clock) {}

Result<ApiResponse> FakeStore::Handle(const Caller& caller, const ApiRequest& request) {
  Result<FakeTarget> target = FakeTarget::Parse(request.target);
  if (!target) return target.error();
  FakeCall call{caller, request, std::move(*target)};
  switch (request.method) {
    case Method::kGet:
      return call.target.key.name.empty() ? HandleList(call) : HandleGet(call);
    case Method::kPost:
      return HandlePost(call);
    case Method::kPut:
      return HandlePut(call);
    case Method::kPatch:
      return HandlePatch(call);
    case Method::kDelete:
      return HandleDelete(call);
  }
  return Error::FromHttpStatus(405, "MethodNotAllowed", "no such method");
}

Result<ApiResponse> FakeStore::HandleGet(const FakeCall& call) {
  const FakeTarget& target = call.target;
  Collection& objects = collections_[target.collection];
  auto found = objects.find(target.key);
  if (found == objects.end()) return NotFound(target);
  return Answer(200, found->second, call.request);
}

Result<ApiResponse> FakeStore::HandleList(const FakeCall& call) {
  const FakeTarget& target = call.target;
  // A continue token is "version|ns/name": continue after that key.
  uint64_t version = version_;
  std::optional<ObjectKey> after;
  if (std::string token = target.Query("continue"); !token.empty()) {
    version = ParseNumber(token);
    if (version < oldest_)
      return Error::FromHttpStatus(410, "Expired", "the continue token is too old");
    std::string name = token.substr(token.find('|') + 1);
    after = ObjectKey{name.substr(0, name.find('/')), name.substr(name.find('/') + 1)};
  }
  size_t limit = ParseNumber(target.Query("limit"));

  // In the order of etcd's keys, in which "a-b/x" comes before "a/x".
  std::vector<const Collection::value_type*> ordered;
  for (const auto& entry : collections_[target.collection]) ordered.push_back(&entry);
  auto comes_before = [](const ObjectKey& a, const ObjectKey& b) {
    return a.ToString() < b.ToString();
  };
  std::sort(ordered.begin(), ordered.end(),
            [&](auto* a, auto* b) { return comes_before(a->first, b->first); });

  std::vector<const FakeObject*> items;
  std::string next;
  for (const Collection::value_type* entry : ordered) {
    const auto& [key, object] = *entry;
    if (after && !comes_before(*after, key)) continue;
    Result<bool> matches = target.Matches(key, object);
    if (!matches) return matches.error();
    if (!*matches) continue;
    if (limit > 0 && items.size() == limit) {
      meta::ObjectMeta last = items.back()->metadata();
      next = std::to_string(version) + "|" + last.namespace_() + "/" + last.name();
      break;
    }
    items.push_back(&object);
  }

  if (WantsProtobuf(call.request)) {
    meta::List list;
    list.mutable_metadata()->set_resource_version(std::to_string(version));
    list.mutable_metadata()->set_continue_token(next);
    for (const FakeObject* item : items) {
      Result<std::string> bytes = item->Bare(/*as_protobuf=*/true);
      if (!bytes) return bytes.error();
      list.add_items(std::move(*bytes));
    }
    return ApiResponse{200, std::string(kProtobuf),
                       SealFakeEnvelope("v1", "List", list.SerializeAsString())};
  }
  Json list = {{"kind", "List"},
               {"metadata", {{"resourceVersion", std::to_string(version)}}},
               {"items", Json::array()}};
  if (!next.empty()) list["metadata"]["continue"] = next;
  for (const FakeObject* item : items) {
    Result<std::shared_ptr<const Json>> json = item->AsJson();
    if (!json) return json.error();
    list["items"].push_back(**json);
  }
  return ApiResponse{200, std::string(kJson), DumpJson(list)};
}

Result<ApiResponse> FakeStore::HandlePost(const FakeCall& call) {
  const FakeTarget& target = call.target;
  Result<FakeObject> object =
      FakeObject::Parse(target.collection, call.request.content_type, call.request.body);
  if (!object) return object.error();
  Result<FakeObject> created = Insert(call, std::move(*object));
  if (!created) return created.error();
  return Answer(201, *created, call.request);
}

Result<ApiResponse> FakeStore::HandlePut(const FakeCall& call) {
  const FakeTarget& target = call.target;
  Result<FakeObject> object =
      FakeObject::Parse(target.collection, call.request.content_type, call.request.body);
  if (!object) return object.error();
  Result<FakeObject> replaced = Replace(call, std::move(*object));
  if (!replaced) return replaced.error();
  return Answer(200, *replaced, call.request);
}

Result<ApiResponse> FakeStore::HandlePatch(const FakeCall& call) {
  const FakeTarget& target = call.target;
  Collection& objects = collections_[target.collection];
  auto found = objects.find(target.key);
  if (found == objects.end()) {
    if (call.request.content_type != kApplyPatch || !target.subresource.empty())
      return NotFound(target);
    Result<FakeObject> object = CreatedByApply(target.collection, call.request);
    if (!object) return object.error();
    Result<FakeObject> created = Insert(call, std::move(*object));
    if (!created) return created.error();
    return Answer(201, *created, call.request);
  }
  Result<FakeObject> patched = Patched(found->second, call.request);
  if (!patched) return patched.error();
  Result<FakeObject> replaced = Replace(call, std::move(*patched));
  if (!replaced) return replaced.error();
  return Answer(200, *replaced, call.request);
}

Result<ApiResponse> FakeStore::HandleDelete(const FakeCall& call) {
  const FakeTarget& target = call.target;
  Collection& objects = collections_[target.collection];
  auto found = objects.find(target.key);
  if (found == objects.end()) return NotFound(target);
  FakeObject before = found->second;
  meta::ObjectMeta meta = before.metadata();
  if (Result<Json> options = ParseJson(call.request.body); options) {
    std::string uid = StringAt(*options, "preconditions.uid", meta.uid());
    std::string version =
        StringAt(*options, "preconditions.resourceVersion", meta.resource_version());
    if (uid != meta.uid() || version != meta.resource_version())
      return Conflict("the precondition failed");
  }
  ApiResponse response{200, std::string(kJson),
                       R"({"kind":"Status","apiVersion":"v1","status":"Success"})"};
  if (meta.finalizers().empty()) {
    objects.erase(found);
    Commit(call, target.key, std::move(before), std::nullopt);
    return response;
  }
  if (meta.has_deletion_timestamp()) return response;
  meta.mutable_deletion_timestamp()->set_seconds(
      std::chrono::system_clock::to_time_t(clock_.WallNow()));
  FakeObject after = before;
  after.SetMetadata(meta);
  Commit(call, target.key, std::move(before), std::move(after));
  return response;
}

// --- Storage

Result<FakeObject> FakeStore::Insert(const FakeCall& call, FakeObject object) {
  const FakeTarget& target = call.target;
  meta::ObjectMeta meta = object.metadata();
  if (meta.name().empty() && !meta.generate_name().empty()) {
    meta.set_name(meta.generate_name() + "x" + std::to_string(next_uid_));
  }
  if (meta.name().empty())
    return Error::FromHttpStatus(422, "Invalid", "metadata.name: Required value");
  if (!meta.namespace_().empty() && meta.namespace_() != target.key.ns) {
    return Error::FromHttpStatus(400, "BadRequest",
                                 "the namespace of the object and of the request differ");
  }
  if (!target.key.ns.empty()) meta.set_namespace_(target.key.ns);
  ObjectKey key{target.key.ns, meta.name()};
  if (collections_[target.collection].contains(key)) {
    return Error::FromHttpStatus(409, "AlreadyExists",
                                 target.collection + " \"" + key.ToString() + "\" already exists");
  }
  meta.set_uid("uid-" + std::to_string(next_uid_++));
  meta.set_generation(1);
  // The test may set a creation time.
  if (!meta.has_creation_timestamp()) {
    meta.mutable_creation_timestamp()->set_seconds(
        std::chrono::system_clock::to_time_t(clock_.WallNow()));
  }
  object.SetMetadata(meta);
  Commit(call, key, std::nullopt, object);
  return collections_[target.collection].at(key);
}

Result<FakeObject> FakeStore::Replace(const FakeCall& call, FakeObject object) {
  const FakeTarget& target = call.target;
  bool trusted = call.caller.trusted;
  Collection& objects = collections_[target.collection];
  auto found = objects.find(target.key);
  if (found == objects.end()) return NotFound(target);
  FakeObject before = found->second;
  meta::ObjectMeta old = before.metadata();
  meta::ObjectMeta meta = object.metadata();
  if (!trusted && !meta.resource_version().empty() &&
      meta.resource_version() != old.resource_version()) {
    return Conflict(
        "the object has been modified; please apply your changes to the latest version and try "
        "again");
  }
  if (!trusted && !meta.uid().empty() && meta.uid() != old.uid())
    return Conflict("the uid in the precondition differs");

  // The object and its status are written separately.
  if (!trusted) {
    Result<FakeObject> kept =
        target.subresource == "status" ? before.WithStatusOf(object) : object.WithStatusOf(before);
    if (!kept) return kept.error();
    object = std::move(*kept);
    meta = object.metadata();
    // As in the API server, for clients whose caches drop them.
    if (meta.managed_fields().empty()) *meta.mutable_managed_fields() = old.managed_fields();
  }
  meta.set_name(old.name());
  if (!old.namespace_().empty()) meta.set_namespace_(old.namespace_());
  meta.set_uid(old.uid());
  meta.set_resource_version(old.resource_version());
  *meta.mutable_creation_timestamp() = old.creation_timestamp();
  if (!trusted || old.has_deletion_timestamp()) {
    meta.clear_deletion_timestamp();
    if (old.has_deletion_timestamp()) *meta.mutable_deletion_timestamp() = old.deletion_timestamp();
  }
  bool new_spec = !object.protobuf() && Part(object, "spec") != Part(before, "spec");
  meta.set_generation(old.generation() + (new_spec ? 1 : 0));
  object.SetMetadata(meta);
  if (object == before) return before;  // unchanged: no new version, no event

  // The last finalizer of a deleted object was removed: remove the object.
  if (meta.has_deletion_timestamp() && meta.finalizers().empty()) {
    objects.erase(found);
    Commit(call, target.key, std::move(before), std::nullopt);
    return object;
  }
  Commit(call, target.key, std::move(before), std::move(object));
  return objects.at(target.key);
}

void FakeStore::Commit(const FakeCall& call, const ObjectKey& key, std::optional<FakeObject> before,
                       std::optional<FakeObject> after) {
  const std::string& collection = call.target.collection;
  ++version_;
  if (after) {
    meta::ObjectMeta meta = after->metadata();
    meta.set_resource_version(std::to_string(version_));
    after->SetMetadata(meta);
    collections_[collection].insert_or_assign(key, *after);
  }
  if (!observers_.empty()) {
    StoreCommit commit{.version = version_,
                       .collection = collection,
                       .key = key,
                       .before = JsonOf(before),
                       .after = JsonOf(after),
                       .caller = call.caller,
                       .verb = VerbOf(call.request.method),
                       .subresource = call.target.subresource};
    for (const StoreObserver& observer : observers_) observer(commit);
  }
  if (before) {
    // A DELETED event carries the version of the deletion.
    meta::ObjectMeta meta = before->metadata();
    meta.set_resource_version(std::to_string(version_));
    before->SetMetadata(meta);
  }
  history_.push_back({version_, collection, key, std::move(before), std::move(after)});
  for (auto& watch : OpenWatches()) watch->Deliver(history_.back());
}

// --- Watches

Result<std::unique_ptr<WatchStream>> FakeStore::OpenWatch(const ApiRequest& request) {
  Result<FakeTarget> target = FakeTarget::Parse(request.target);
  if (!target) return target.error();
  bool streaming = target->Query("sendInitialEvents") == "true";
  if (streaming && streaming_lists_ == StreamingLists::kRefused) {
    return Forbidden("sendInitialEvents", "is forbidden for watch unless the feature is enabled");
  }
  if (streaming && target->Query("resourceVersionMatch") != "NotOlderThan") {
    return Forbidden("resourceVersionMatch", "must be NotOlderThan for sendInitialEvents");
  }

  auto watch = std::make_shared<FakeWatch>(*target, request.accept.starts_with(kProtobuf));
  std::erase_if(watches_, [](const auto& watch) { return watch.expired(); });
  watches_.push_back(watch);
  uint64_t from = ParseNumber(target->Query("resourceVersion"));
  if (streaming || from == 0) {
    for (const auto& [key, object] : collections_[target->collection]) {
      watch->Deliver({version_, target->collection, key, std::nullopt, object});
    }
    if (streaming && streaming_lists_ == StreamingLists::kServed)
      watch->SendBookmark(version_, /*end_of_initial_events=*/true);
  } else if (from < oldest_) {
    watch->SendExpired();
  } else {
    for (const FakeChange& change : history_) {
      if (change.version > from) watch->Deliver(change);
    }
  }
  return MakeFakeStream(watch);
}

std::vector<std::shared_ptr<FakeWatch>> FakeStore::OpenWatches() const {
  std::vector<std::shared_ptr<FakeWatch>> open;
  for (const auto& weak : watches_) {
    if (auto watch = weak.lock(); watch && !watch->ended()) open.push_back(watch);
  }
  return open;
}

int FakeStore::open_watches() const { return static_cast<int>(OpenWatches().size()); }

void FakeStore::EndWatches(std::optional<Error> failure) {
  for (auto& watch : OpenWatches()) watch->End(failure);
}

void FakeStore::ExpireWatches() {
  // Compaction up to the newest version: every version that a client may hold has expired.
  oldest_ = ++version_;
  history_.clear();
  for (auto& watch : OpenWatches()) watch->SendExpired();
}

void FakeStore::SendBookmarks() {
  for (auto& watch : OpenWatches()) watch->SendBookmark(version_, /*end_of_initial_events=*/false);
}

}  // namespace kube
