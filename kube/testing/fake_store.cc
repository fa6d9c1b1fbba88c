// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/fake_store.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include "kube/testing/fake_list.h"
#include "kube/testing/namespace_rules.h"
#include "kube/testing/pod_rules.h"
#include "kube/types/kinds.h"

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

// A parameter that validation refuses.
Error Forbidden(const std::string& field, const std::string& why) {
  return Error::FromHttpStatus(422, "Invalid", field + " " + why)
      .WithCauses({{"FieldValueForbidden", why, field}});
}

Result<ApiResponse> Answer(int status, const FakeObject& object, const FakeCall& call) {
  bool as_protobuf = call.WantsProtobuf();
  Result<std::string> body = object.Body(as_protobuf);
  if (!body) return body.error();
  return ApiResponse{status, std::string(as_protobuf ? kProtobuf : kJson), std::move(*body)};
}

// A replica of the API server whose cache is at `version` has not seen what the client has seen.
Result<void> CheckKnown(const FakeTarget& target, uint64_t version) {
  uint64_t wanted = ParseNumber(target.Query("resourceVersion"));
  if (wanted <= version) return Ok();
  return Error::FromHttpStatus(504, "Timeout",
                               "Too large resource version: " + std::to_string(wanted) +
                                   ", current: " + std::to_string(version))
      .WithCauses({{"ResourceVersionTooLarge", "Too large resource version", ""}});
}

std::shared_ptr<const Json> JsonOf(const std::optional<FakeObject>& object) {
  if (!object) return nullptr;
  Result<std::shared_ptr<const Json>> json = object->AsJson();
  if (json) return *json;
  return std::make_shared<const Json>(
      Json{{"kind", object->kind()}, {"metadata", MetadataToJson(object->metadata())}});
}

}  // namespace

FakeStore::FakeStore(Clock& clock, StoreOptions options)
    : clock_(clock), options_(options), history_(options.history) {}

Result<ApiResponse> FakeStore::Handle(const Caller& caller, const ApiRequest& request) {
  Result<FakeCall> call = FakeCall::Parse(caller, request);
  if (!call) return call.error();
  if (request.method == Method::kGet) return Read(*call, version_);
  Result<FakeWrite> write = Prepare(*call);
  if (!write) return write.error();
  return CarryOut(*call, std::move(*write));
}

Async<ApiResponse> FakeStore::Call(Caller caller, ApiRequest request) {
  Result<FakeCall> call = FakeCall::Parse(std::move(caller), std::move(request));
  if (!call) co_return call.error();
  if (call->request.method == Method::kGet) co_return Read(*call, version_);
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    Result<FakeWrite> write = Prepare(*call);
    if (!write) co_return write.error();
    if (!admission_ || call->caller.trusted) co_return CarryOut(*call, std::move(*write));

    if (!write->before) write->number = next_uid_++;
    Result<AdmissionAttributes> attributes = AttributesOf(*call, *write);
    if (!attributes) co_return attributes.error();
    Async<Admitted> admission = admission_(std::move(*attributes));
    Result<Admitted> admitted = co_await std::move(admission);
    if (!admitted) co_return admitted.error();
    if (admitted->object && write->after) {
      Result<FakeObject> changed = write->after->WithJson(std::move(*admitted->object));
      if (!changed) co_return changed.error();
      write->after = std::move(*changed);
    }
    if (!IsCurrent(*call, *write)) continue;
    Result<ApiResponse> response = CarryOut(*call, std::move(*write));
    if (response) response->warnings = std::move(admitted->warnings);
    co_return response;
  }
  co_return Error::FromHttpStatus(409, "Conflict", "the object changes too often");
}

Result<AdmissionAttributes> FakeStore::AttributesOf(const FakeCall& call,
                                                    const FakeWrite& write) const {
  AdmissionAttributes asked{.operation = !write.before  ? "CREATE"
                                         : !write.after ? "DELETE"
                                                        : "UPDATE",
                            .collection = call.target.collection,
                            .key = call.target.key,
                            .subresource = call.target.subresource,
                            .dry_run = call.dry_run,
                            .field_manager = call.target.Query("fieldManager"),
                            .caller = call.caller};
  if (write.after) {
    Result<FakeObject> object =
        write.before
            ? UpdatedObject(call, *write.before, *write.after)
            : CreatedObject(call, *write.after, {.number = *write.number, .now = clock_.WallNow()});
    if (!object) return object.error();
    Result<std::shared_ptr<const Json>> json = object->AsJson();
    if (!json) return json.error();
    asked.object = *json;
    if (asked.key.name.empty()) asked.key.name = write.after->metadata().name();
  }
  if (write.before) {
    Result<std::shared_ptr<const Json>> object = write.before->AsJson();
    if (!object) return object.error();
    asked.old_object = *object;
  }
  return asked;
}

bool FakeStore::IsCurrent(const FakeCall& call, const FakeWrite& write) const {
  // A creation that others overtook fails when it is carried out.
  if (call.request.method == Method::kPost) return true;
  std::optional<FakeObject> stored = Stored(call.target);
  if (!stored || !write.before) return !stored && !write.before;
  return stored->metadata().resource_version() == write.before->metadata().resource_version();
}

// --- Reads

std::optional<FakeObject> FakeStore::Stored(const FakeTarget& target) const {
  auto collection = collections_.find(target.collection);
  if (collection == collections_.end()) return std::nullopt;
  auto found = collection->second.find(target.key);
  if (found == collection->second.end()) return std::nullopt;
  return found->second;
}

Result<ApiResponse> FakeStore::ReadAt(uint64_t version, const Caller& caller,
                                      const ApiRequest& request) const {
  Result<FakeCall> call = FakeCall::Parse(caller, request);
  if (!call) return call.error();
  version = std::min(version, version_);
  Result<void> known = CheckKnown(call->target, version);
  if (!known) return known.error();
  return Read(*call, version);
}

Result<ApiResponse> FakeStore::Read(const FakeCall& call, uint64_t version) const {
  // All pages of a list are of the state of its first page.
  std::string token = call.target.Query("continue");
  if (!token.empty()) version = VersionOfToken(token);
  if (version < history_.oldest()) {
    return Error::FromHttpStatus(
        410, "Expired",
        token.empty() ? "too old resource version" : "the continue token is too old");
  }
  static const FakeObjects kNone;
  auto collection = collections_.find(call.target.collection);
  const FakeObjects* objects = collection == collections_.end() ? &kNone : &collection->second;
  FakeObjects older;
  if (version < version_) {
    older = *objects;
    history_.Rewind(call.target.collection, version, older);
    objects = &older;
  }
  if (call.target.key.name.empty()) return ListPage(call, *objects, version);
  auto found = objects->find(call.target.key);
  if (found == objects->end()) return NotFound(call.target);
  return Answer(200, found->second, call);
}

// --- Writes

Result<FakeWrite> FakeStore::Prepare(const FakeCall& call) const {
  Result<FakeWrite> write = PrepareWrite(call, Stored(call.target));
  if (!write || !options_.namespace_rules || call.caller.trusted) return write;
  FakeTarget ns{.collection = kNamespaces.Path(), .key = {"", call.target.key.ns}};
  Result<void> checked = CheckNamespaceOf(call, *write, Stored(ns));
  if (!checked) return checked.error();
  return write;
}

bool FakeStore::HasPodRules(const FakeCall& call) const {
  return options_.pod_rules && call.target.collection == kPods.Path();
}

bool FakeStore::HasNamespaceRules(const FakeCall& call) const {
  return options_.namespace_rules && call.target.collection == kNamespaces.Path();
}

Result<ApiResponse> FakeStore::CarryOut(const FakeCall& call, FakeWrite write) {
  if (!write.before) return Create(call, std::move(write));
  if (!write.after) return Remove(call, *write.before);
  return Update(call, *write.before, std::move(*write.after));
}

Result<ApiResponse> FakeStore::Create(const FakeCall& call, FakeWrite write) {
  NewIdentity identity{.number = write.number.value_or(next_uid_), .now = clock_.WallNow()};
  Result<FakeObject> created = CreatedObject(call, std::move(*write.after), identity);
  if (!created) return created.error();
  ObjectKey key{call.target.key.ns, created->metadata().name()};
  if (collections_[call.target.collection].contains(key)) {
    return Error::FromHttpStatus(
        409, "AlreadyExists",
        call.target.collection + " \"" + key.ToString() + "\" already exists");
  }
  if (HasPodRules(call)) created = NewPod(*created, /*keep=*/call.caller.trusted);
  if (HasNamespaceRules(call)) created = NewNamespace(*created);
  if (!created) return created.error();
  if (!call.dry_run && !write.number) ++next_uid_;
  return Answer(201, *Commit(call, key, std::nullopt, std::move(*created)), call);
}

Result<ApiResponse> FakeStore::Update(const FakeCall& call, const FakeObject& before,
                                      FakeObject object) {
  Result<FakeObject> updated = UpdatedObject(call, before, std::move(object));
  if (!updated) return updated.error();
  if (!call.caller.trusted && call.target.subresource.empty()) {
    if (HasNamespaceRules(call)) updated = WithFinalizersOf(*updated, before);
    if (!updated) return updated.error();
    Result<void> checked = HasPodRules(call) ? CheckPodUpdate(before, *updated) : Ok();
    if (!checked) return checked.error();
  }
  // Unchanged: no new version, no event.
  if (*updated == before) return Answer(200, before, call);
  // The last finalizer of a deleted object was removed: remove the object.
  meta::ObjectMeta meta = updated->metadata();
  bool finalized = !HasNamespaceRules(call) || IsFinalized(*updated);
  if (meta.has_deletion_timestamp() && meta.finalizers().empty() && finalized) {
    Commit(call, call.target.key, before, std::nullopt);
    return Answer(200, *updated, call);
  }
  return Answer(200, *Commit(call, call.target.key, before, std::move(*updated)), call);
}

Result<ApiResponse> FakeStore::Remove(const FakeCall& call, const FakeObject& before) {
  Result<void> met = CheckDeletion(call, before);
  if (!met) return met.error();
  meta::ObjectMeta meta = before.metadata();
  ApiResponse response{200, std::string(kJson),
                       R"({"kind":"Status","apiVersion":"v1","status":"Success"})"};
  if (HasNamespaceRules(call) && !meta.has_deletion_timestamp()) {
    Result<FakeObject> terminating = TerminatingNamespace(before, clock_.WallNow());
    if (!terminating) return terminating.error();
    Commit(call, call.target.key, before, std::move(*terminating));
    return response;
  }
  if (HasNamespaceRules(call) && !IsFinalized(before)) return response;
  if (meta.finalizers().empty()) {
    Commit(call, call.target.key, before, std::nullopt);
  } else if (!meta.has_deletion_timestamp()) {
    meta.mutable_deletion_timestamp()->set_seconds(
        std::chrono::system_clock::to_time_t(clock_.WallNow()));
    FakeObject after = before;
    after.SetMetadata(meta);
    Commit(call, call.target.key, before, std::move(after));
  }
  return response;
}

std::optional<FakeObject> FakeStore::Commit(const FakeCall& call, const ObjectKey& key,
                                            std::optional<FakeObject> before,
                                            std::optional<FakeObject> after) {
  if (call.dry_run) return after;
  const std::string& collection = call.target.collection;
  ++version_;
  if (after) {
    meta::ObjectMeta meta = after->metadata();
    meta.set_resource_version(std::to_string(version_));
    after->SetMetadata(meta);
    collections_[collection].insert_or_assign(key, *after);
  } else {
    collections_[collection].erase(key);
  }
  if (!observers_.empty()) {
    StoreCommit commit{.version = version_,
                       .collection = collection,
                       .key = key,
                       .before = JsonOf(before),
                       .after = JsonOf(after),
                       .caller = call.caller,
                       .verb = call.Verb(),
                       .subresource = call.target.subresource};
    for (const StoreObserver& observer : observers_) observer(commit);
  }
  FakeChange change{version_, collection, key, std::move(before), after};
  for (auto& watch : OpenWatches()) watch->Deliver(change);
  history_.Add(std::move(change));
  return after;
}

// --- Watches

Result<std::unique_ptr<WatchStream>> FakeStore::OpenWatch(const ApiRequest& request) {
  Result<std::shared_ptr<FakeWatch>> watch = Watch(request, WatchOptions());
  if (!watch) return watch.error();
  return MakeFakeStream(std::move(*watch));
}

Result<std::shared_ptr<FakeWatch>> FakeStore::Watch(const ApiRequest& request,
                                                    WatchOptions options) {
  Result<FakeTarget> target = FakeTarget::Parse(request.target);
  if (!target) return target.error();
  bool streaming = target->Query("sendInitialEvents") == "true";
  if (streaming && streaming_lists_ == StreamingLists::kRefused) {
    return Forbidden("sendInitialEvents", "is forbidden for watch unless the feature is enabled");
  }
  if (streaming && target->Query("resourceVersionMatch") != "NotOlderThan") {
    return Forbidden("resourceVersionMatch", "must be NotOlderThan for sendInitialEvents");
  }
  uint64_t version = std::min(options.at.value_or(version_), version_);
  Result<void> known = streaming && options.at ? CheckKnown(*target, version) : Ok();
  if (!known) return known.error();

  auto watch = std::make_shared<FakeWatch>(*target, request.accept.starts_with(kProtobuf),
                                           options.held, options_.unread_frames);
  std::erase_if(watches_, [](const auto& watch) { return watch.expired(); });
  watches_.push_back(watch);
  uint64_t from = ParseNumber(target->Query("resourceVersion"));
  bool initial = streaming || from == 0;
  if (initial) from = version;
  if (from < history_.oldest()) {
    watch->SendExpired();
    return watch;
  }
  if (initial) {
    FakeObjects objects = collections_[target->collection];
    history_.Rewind(target->collection, version, objects);
    for (const auto& [key, object] : objects) watch->SendInitial(key, object, version);
    if (streaming && streaming_lists_ == StreamingLists::kServed)
      watch->SendBookmark(version, /*end_of_initial_events=*/true);
  }
  history_.ForEachAfter(from, [&](const FakeChange& change) { watch->Deliver(change); });
  return watch;
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

void FakeStore::Compact(uint64_t version) { history_.Compact(std::min(version, version_)); }

void FakeStore::ExpireWatches() {
  // Up to a version that no client may hold.
  Compact(++version_);
  for (auto& watch : OpenWatches()) watch->SendExpired();
}

void FakeStore::SendBookmarks() {
  for (auto& watch : OpenWatches()) watch->SendBookmark(version_, /*end_of_initial_events=*/false);
}

}  // namespace kube
