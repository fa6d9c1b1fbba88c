// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/fake_write.h"

#include <chrono>
#include <utility>

#include "kube/testing/fake_patch.h"

namespace kube {
namespace {

Error NotFound(const FakeTarget& target) {
  return Error::FromHttpStatus(404, "NotFound",
                               target.collection + " \"" + target.key.ToString() + "\" not found");
}

Error Conflict(const std::string& message) {
  return Error::FromHttpStatus(409, "Conflict", message);
}

// The member `name` of the object, or null.
Json Part(const FakeObject& object, const char* name) {
  Result<std::shared_ptr<const Json>> json = object.AsJson();
  return json ? (*json)->value(name, Json()) : Json();
}

}  // namespace

Result<FakeWrite> PrepareWrite(const FakeCall& call, std::optional<FakeObject> stored) {
  const FakeTarget& target = call.target;
  const ApiRequest& request = call.request;
  bool creates_by_apply =
      !stored && request.content_type == kApplyPatch && target.subresource.empty();
  FakeWrite write;
  if (request.method != Method::kPost) {
    if (!stored && !(request.method == Method::kPatch && creates_by_apply)) return NotFound(target);
    write.before = std::move(stored);
  }
  if (request.method == Method::kDelete) return write;

  Result<FakeObject> object =
      request.method != Method::kPatch
          ? FakeObject::Parse(target.collection, request.content_type, request.body)
      : write.before ? Patched(*write.before, request)
                     : CreatedByApply(target.collection, request);
  if (!object) return object.error();
  write.after = std::move(*object);
  return write;
}

Result<FakeObject> CreatedObject(const FakeCall& call, FakeObject object, NewIdentity identity) {
  const std::string& ns = call.target.key.ns;
  meta::ObjectMeta meta = object.metadata();
  if (meta.name().empty() && !meta.generate_name().empty())
    meta.set_name(meta.generate_name() + "x" + std::to_string(identity.number));
  if (meta.name().empty())
    return Error::FromHttpStatus(422, "Invalid", "metadata.name: Required value");
  if (!meta.namespace_().empty() && meta.namespace_() != ns) {
    return Error::FromHttpStatus(400, "BadRequest",
                                 "the namespace of the object and of the request differ");
  }
  if (!ns.empty()) meta.set_namespace_(ns);
  meta.set_uid("uid-" + std::to_string(identity.number));
  meta.set_generation(1);
  // The test may set a creation time.
  if (!meta.has_creation_timestamp()) {
    meta.mutable_creation_timestamp()->set_seconds(
        std::chrono::system_clock::to_time_t(identity.now));
  }
  object.SetMetadata(meta);
  return object;
}

Result<FakeObject> UpdatedObject(const FakeCall& call, const FakeObject& before,
                                 FakeObject object) {
  bool trusted = call.caller.trusted;
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
    Result<FakeObject> kept = call.target.subresource == "status" ? before.WithStatusOf(object)
                                                                  : object.WithStatusOf(before);
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
  return object;
}

Result<void> CheckDeletion(const FakeCall& call, const FakeObject& before) {
  Result<Json> options = ParseJson(call.request.body);
  if (!options) return Ok();
  meta::ObjectMeta meta = before.metadata();
  std::string uid = StringAt(*options, "preconditions.uid", meta.uid());
  std::string version =
      StringAt(*options, "preconditions.resourceVersion", meta.resource_version());
  if (uid != meta.uid() || version != meta.resource_version())
    return Conflict("the precondition failed");
  return Ok();
}

}  // namespace kube
