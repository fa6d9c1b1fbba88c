// SPDX-License-Identifier: Apache-2.0
// ObjectBuilder: the base of builders of objects as JSON, with what all kinds have.
//
//   class MakeJob : public kube::ObjectBuilder<MakeJob> { ... };
//   MakeJob("web").Label("app", "web").Set("/spec/parallelism", 3).Build()
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "kube/base/clock.h"
#include "kube/types/unstructured.h"

namespace kube {

// `Self` is the builder.
template <class Self>
class ObjectBuilder {
 public:
  Self& Namespace(std::string_view ns) { return Set("/metadata/namespace", ns); }
  Self& Uid(std::string_view uid) { return Set("/metadata/uid", uid); }
  Self& Generation(int64_t generation) { return Set("/metadata/generation", generation); }
  // The creation timestamp, in seconds since 1970.
  Self& Created(int64_t seconds) {
    return Set("/metadata/creationTimestamp", FormatTime(WallTime(std::chrono::seconds(seconds))));
  }
  Self& Label(std::string_view key, std::string_view value) {
    object_["metadata"]["labels"][std::string(key)] = value;
    return self();
  }
  Self& Annotation(std::string_view key, std::string_view value) {
    object_["metadata"]["annotations"][std::string(key)] = value;
    return self();
  }
  Self& Finalizer(std::string_view name) {
    object_["metadata"]["finalizers"].push_back(name);
    return self();
  }
  // Any other field, by JSON pointer.
  Self& Set(const std::string& pointer, Json value) {
    object_[Json::json_pointer(pointer)] = std::move(value);
    return self();
  }
  const Json& Build() const { return object_; }

 protected:
  ObjectBuilder(std::string_view api_version, std::string_view kind, std::string_view name)
      : object_({{"apiVersion", api_version}, {"kind", kind}, {"metadata", {{"name", name}}}}) {}
  Self& self() { return static_cast<Self&>(*this); }

  Json object_;
};

}  // namespace kube
