// SPDX-License-Identifier: Apache-2.0
// Informer: a cache of the objects of one kind, kept up to date by a watch, with an event per
// change.
//
//   Informer<core::Pod> pods(client, clock, {.ns = ns, .field_selector = "status.phase=Pending"});
//   pods.OnChange([&](EventType, const ObjectKey& pod) { controller.Enqueue(pod); });
//   tasks.Spawn("pods", pods.Run());
//   Result<> synced = co_await pods.WaitForSync();
//   std::optional<core::Pod> pod = pods.Get({"ns", "web"});
//
// Protobuf kinds and Unstructured are held as bytes and decoded on each read (about 1.5 KB per pod
// instead of 10), other JSON kinds as objects. Objects that no longer match a selector, or that
// `pack` drops, count as deleted. After an outage of the API server the new list is compared with
// the cache: every change has its event, though several changes of one object may be merged into
// one. Thread: one executor. Handlers run inside the watch: they must only enqueue.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
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
  // JSON kinds: removes unused fields before the object is cached; may be empty.
  std::function<void(T&)> trim;
  // Protobuf kinds: returns the bytes to cache, or nullopt to drop the object; empty: caches whole
  // objects. With `pack` and without OnEvent() no object is decoded before it is read. An object
  // with dropped fields must not be written back but read live first: a PUT deletes the fields that
  // it lacks (except status and managed fields of a pod).
  // Errors: kInvalid for a malformed message.
  std::function<Result<std::optional<std::string>>(std::string_view message)> pack;
  // Protobuf kinds with `pack`, and Unstructured, which is packed as CBOR: the cache's memory
  // limit, and the stub to keep of an object beyond it (see Reader::Complete()).
  CacheBudget budget;
  std::function<std::string(std::string_view packed)> stub;
  // See ReflectorOptions.
  size_t max_objects = 0;
  // Required for Unstructured.
  Resource resource = DefaultResource<T>();
  BackoffOptions backoff;
};

template <class T>
class Informer final : public Reader<T>, private Reflector::Kind {
 public:
  using Handler = std::function<void(EventType, const T&)>;
  using KeyHandler = std::function<void(EventType, const ObjectKey&)>;

  // `client` and `clock` outlive the informer.
  Informer(Client& client, Clock& clock, InformerOptions<T> options)
      : trim_(std::move(options.trim)),
        pack_(std::move(options.pack)),
        stub_(std::move(options.stub)),
        reflector_(client, clock,
                   {.resource = options.resource,
                    .protobuf = ProtobufKind<T>,
                    .ns = std::move(options.ns),
                    .label_selector = std::move(options.label_selector),
                    .field_selector = std::move(options.field_selector),
                    .budget = options.budget,
                    .max_objects = options.max_objects,
                    .backoff = options.backoff},
                   *this) {}

  // Calls `handler` after each change of the cache, in the order of the changes; for kDeleted with
  // the last known state, or, if `pack` dropped the object, with the dropped state. Objects that
  // are already cached are reported immediately as kAdded.
  void OnEvent(Handler handler) {
    ForEach([&](const T& object) { handler(EventType::kAdded, object); });
    handlers_.push_back(std::move(handler));
  }
  // The same with the key only, without decoding the object.
  void OnChange(KeyHandler handler) {
    ForEachKey([&](const ObjectKey& key) { handler(EventType::kAdded, key); });
    key_handlers_.push_back(std::move(handler));
  }

  // Lists and watches until cancelled.
  asio::awaitable<void> Run() { return reflector_.Run(); }
  // Resumes when all objects are cached and their handlers were called. Errors: kCancelled.
  Async<> WaitForSync() { return reflector_.WaitForSync(); }
  // How long there has been no watch because of errors of the API server; zero while there is one.
  Duration failing_for() const { return reflector_.failing_for(); }

  void ForEachKey(const std::function<void(const ObjectKey&)>& visit) const {
    reflector_.ForEach([&](const ObjectKey& key, const Reflector::Held&) { visit(key); });
  }

  // Reader
  std::optional<T> Get(const ObjectKey& key) const override {
    const Reflector::Held* held = reflector_.Find(key);
    std::optional<T> object;
    if (held != nullptr) Unpack(*held, object);
    return object;
  }
  bool Complete(const ObjectKey& key) const override {
    const Reflector::Held* held = reflector_.Find(key);
    return held == nullptr || !held->stub;
  }
  void ForEach(const std::function<void(const T&)>& visit) const override {
    reflector_.ForEach([&](const ObjectKey&, const Reflector::Held& held) { Show(held, visit); });
  }
  size_t size() const override { return reflector_.size(); }
  bool synced() const override { return reflector_.synced(); }
  // True while a watch is open: the cache is current except for events in flight. False between two
  // watches and while the API server is unavailable or refuses the watch.
  bool current() const { return reflector_.current(); }

 private:
  static constexpr bool kAsCbor = std::is_same_v<T, Unstructured>;

  // Reflector::Kind
  Result<Reflector::Packed> Pack(WireObject wire) override {
    Reflector::Packed packed;
    if constexpr (!ProtobufKind<T>) {
      Result<T> decoded = T::FromJson(std::move(wire.json));
      if (!decoded) return decoded.error();
      if (trim_) trim_(*decoded);
      if constexpr (kAsCbor) {
        packed.held.bytes = PackJson(decoded->body());
      } else {
        packed.held.object = std::make_shared<T>(std::move(*decoded));
      }
    } else if (pack_) {
      Result<std::optional<std::string>> bytes = pack_(wire.bytes);
      if (!bytes) return bytes.error();
      packed.keep = bytes->has_value();
      packed.held.bytes = packed.keep ? std::move(**bytes) : std::string(wire.bytes);
    } else {
      T whole;
      Result<void> parsed = ParseMessage(wire.bytes, whole);
      if (!parsed) return parsed.error();
      packed.held.bytes = wire.bytes;
    }
    return packed;
  }
  std::string Stub(std::string_view packed) override {
    return stub_ ? stub_(packed) : std::string(packed);
  }
  void Emit(EventType type, const ObjectKey& key, const Reflector::Held& held) override {
    for (const KeyHandler& handler : key_handlers_) handler(type, key);
    if (handlers_.empty()) return;
    Show(held, [&](const T& object) {
      for (const Handler& handler : handlers_) handler(type, object);
    });
  }

  // Leaves `object` empty if the bytes are malformed: `pack` need not have parsed all of them.
  static void Unpack(const Reflector::Held& held, std::optional<T>& object) {
    if constexpr (ProtobufKind<T>) {
      if (!object.emplace().ParsePartialFromString(held.bytes)) object.reset();
    } else if constexpr (kAsCbor) {
      Result<Json> json = UnpackJson(held.bytes);
      if (json) object.emplace(std::move(*json));
    } else {
      object = *static_cast<const T*>(held.object.get());
    }
  }
  static void Show(const Reflector::Held& held, const std::function<void(const T&)>& visit) {
    if constexpr (ProtobufKind<T> || kAsCbor) {
      std::optional<T> object;
      Unpack(held, object);
      if (object) visit(*object);
    } else {
      visit(*static_cast<const T*>(held.object.get()));
    }
  }

  std::function<void(T&)> trim_;
  decltype(InformerOptions<T>::pack) pack_;
  decltype(InformerOptions<T>::stub) stub_;
  std::vector<Handler> handlers_;
  std::vector<KeyHandler> key_handlers_;
  Reflector reflector_;
};

}  // namespace kube
