// SPDX-License-Identifier: Apache-2.0
// Informer: a copy of the objects of one kind, kept up to date by a watch, and the events of its changes.
//
//   Informer<core::Pod> pods(client, clock, {.ns = ns, .field_selector = "spec.nodeName=,status.phase=Pending"});
//   pods.OnEvent([&](EventType, const core::Pod& pod) { controller.Enqueue(KeyOf(pod)); });
//   tasks.Spawn("pods", pods.Run());
//   Result<> synced = co_await pods.WaitForSync();
//   std::optional<core::Pod> pod = pods.Get({"ns", "web"});
//
// Protobuf kinds are held as bytes and decoded for who asks (about 1.5 KB a pod instead of 10), JSON kinds as objects.
// Objects that leave a selector or the `keep` predicate count as deleted. What comes back after an outage of the API
// server is compared with what was there: no change goes without its event, though several may come as one.
// Thread: one executor. Handlers run inside the watch: they take note (enqueue), they don't work.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kube/cache/reader.h"
#include "kube/cache/reflector.h"
#include "kube/codec/codec.h"

namespace kube {

template <class T>
constexpr Resource DefaultResource() {
  if constexpr (requires { ResourceOf<T>::value; }) {
    return ResourceOf<T>::value;
  } else {
    return Resource{};
  }
}

template <class T>
struct InformerOptions {
  std::string ns;              // empty: all namespaces, or cluster-scoped
  std::string label_selector;  // "a=b,c in (d,e)"
  std::string field_selector;  // "spec.nodeName="
  // Drops what nobody reads before the object is held; may be empty. Do not write back an object that was trimmed, but
  // read it live: what is absent from a PUT is deleted (managed_fields excepted, which the server then keeps).
  std::function<void(T&)> trim;
  // False for objects that nobody reads; empty: all are kept. Sees the object before `trim`.
  std::function<bool(const T&)> keep;
  // To be given for Unstructured.
  Resource resource = DefaultResource<T>();
  BackoffOptions backoff;
};

template <class T>
class Informer final : public Reader<T>, private Reflector::Kind {
 public:
  using Handler = std::function<void(EventType, const T&)>;

  // `client` and `clock` outlive the informer.
  Informer(Client& client, Clock& clock, InformerOptions<T> options)
      : trim_(std::move(options.trim)),
        keep_(std::move(options.keep)),
        reflector_(client, clock,
                   {.resource = options.resource,
                    .protobuf = ProtobufKind<T>,
                    .ns = std::move(options.ns),
                    .label_selector = std::move(options.label_selector),
                    .field_selector = std::move(options.field_selector),
                    .backoff = options.backoff},
                   *this) {}

  // Calls `handler` after each change of the cache, in the order of the changes; for kDeleted with the last known state,
  // or, where `keep` dropped the object, the state that did. What is already there is told at once as kAdded.
  void OnEvent(Handler handler) {
    ForEach([&](const T& object) { handler(EventType::kAdded, object); });
    handlers_.push_back(std::move(handler));
  }

  // Lists and watches until cancelled.
  asio::awaitable<void> Run() { return reflector_.Run(); }
  // Resumes when all objects are there and their events have been told. Errors: kCancelled.
  Async<> WaitForSync() { return reflector_.WaitForSync(); }

  // Reader
  std::optional<T> Get(const ObjectKey& key) const override {
    const Reflector::Held* held = reflector_.Find(key);
    if (held == nullptr) return std::nullopt;
    return *static_cast<const T*>(Unpack(*held).get());
  }
  void ForEach(const std::function<void(const T&)>& visit) const override {
    reflector_.ForEach(
        [&](const Reflector::Held& held) { visit(*static_cast<const T*>(Unpack(held).get())); });
  }
  size_t size() const override { return reflector_.size(); }
  bool synced() const override { return reflector_.synced(); }

 private:
  // Reflector::Kind
  Result<Reflector::Decoded> Decode(WireObject wire) override {
    auto object = std::make_shared<T>();
    if constexpr (ProtobufKind<T>) {
      Result<void> parsed = ParseMessage(wire.bytes, *object);
      if (!parsed) return parsed.error();
    } else {
      Result<T> decoded = T::FromJson(std::move(wire.json));
      if (!decoded) return decoded.error();
      *object = std::move(*decoded);
    }
    Reflector::Decoded out{.keep = !keep_ || keep_(*object), .object = object, .held = {}};
    if (trim_) trim_(*object);
    if constexpr (ProtobufKind<T>) {
      // Copied, so that the bytes take no more room than they need.
      if (out.keep) out.held.bytes = trim_ ? object->SerializePartialAsString() : std::string(wire.bytes.data(), wire.bytes.size());
      out.held.bytes.shrink_to_fit();
    } else {
      out.held.object = object;
    }
    return out;
  }
  std::shared_ptr<const void> Unpack(const Reflector::Held& held) const override {
    if constexpr (ProtobufKind<T>) {
      auto object = std::make_shared<T>();
      // Parsed once already, when it came in.
      object->ParsePartialFromString(held.bytes);
      return object;
    } else {
      return held.object;
    }
  }
  void Emit(EventType type, const void* object) override {
    for (const Handler& handler : handlers_) handler(type, *static_cast<const T*>(object));
  }

  std::function<void(T&)> trim_;
  std::function<bool(const T&)> keep_;
  std::vector<Handler> handlers_;
  Reflector reflector_;
};

}  // namespace kube
