// SPDX-License-Identifier: Apache-2.0
// FactBook: the facts that the cluster controller knows, in which objects they are, and which
// object is to be written next. Pure: the caller reads and writes the objects.
//
//   book.Reset(configuration, now);
//   book.Restore(object, now);                 // for each that is stored
//   book.Put(fact, "team-a", now);
//   while (std::optional<ImageFacts> object = book.TakeDue(clock.Now())) { ... write it ... }
//
// What a registry said again is written when half of the time for which it counts has passed.
//
// A new fact gets into the object that is to be written anyway, or into the smallest one, and stays
// there. So the new facts of a burst are one write.
//
// Bounds: of bytes in an object, objects, and bytes of a namespace. What was restored belongs to no
// namespace until it is used. Beyond them, the least recently
// used fact of the namespace that has the most goes, or of the namespace itself.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "image-facts/image_fact.h"
#include "image-facts/image_facts.h"
#include "kube/base/clock.h"

namespace image_facts {

// What the names of a cluster's objects begin with.
inline constexpr std::string_view kNamePrefix = "image-facts-";

struct FactLimits {
  size_t objects = 64;
  size_t object_bytes = 224 * 1024;
  size_t namespace_bytes = 1u << 20;
  // How long the write of a new fact waits for others.
  kube::Duration fresh{};
  // How long the write of what was removed to make room, or read again, waits for others.
  kube::Duration again = std::chrono::seconds(15);
  std::string_view prefix = kNamePrefix;
};

// The name of an object of a book: "image-facts-3". Its number, from untrusted text; nullopt if it
// is no such name.
std::string ObjectName(size_t number, std::string_view prefix = kNamePrefix);
std::optional<size_t> ObjectNumber(std::string_view name, std::string_view prefix = kNamePrefix);

// Whether both say the same about their image, at whatever time.
bool SaysTheSame(const ImageFact& a, const ImageFact& b);

// A fact has a name: the image and the scope.
struct FactName {
  std::string_view image;
  std::string_view scope = "";

  bool operator==(const FactName&) const = default;
};

class FactBook {
 public:
  explicit FactBook(FactLimits limits = {});

  // Adds a fact of an image that a pod of `ns` uses, or one that a registry was asked about again.
  // With `always_pull`, pods count it for a shorter time (lifetime.h).
  // False if it does not fit: its name or platforms have no text, or are too long.
  bool Put(ImageFact fact, const std::string& ns, kube::TimePoint now, bool always_pull = false);
  // The fact is used by a pod of `ns`.
  void Use(const FactName& name, const std::string& ns);
  void Erase(const FactName& name, kube::TimePoint now);
  // All facts of `ns`.
  void EraseAll(const std::string& ns, kube::TimePoint now);
  const ImageFact* Find(const FactName& name) const;
  // Whether Put() of a new fact would drop no other one of all.
  bool HasRoomFor(const ImageFact& fact) const;

  // Drops all facts: the next ones are read under another configuration than they were.
  void Reset(const std::string& configuration, kube::TimePoint now);
  // An object as it is stored: facts that are not known, or newer, are added. The object is due if
  // it should not be like that. Facts of another configuration than that of Reset() are dropped,
  // and so is all that exceeds a limit.
  // Returns: the added ones, of `object`.
  std::vector<const ImageFact*> Restore(const ImageFacts& object, kube::TimePoint now);

  // The object that is to be written next, with all its facts; nullopt: none is due. Facts that
  // were added or removed are due at once, facts that were read again after limits.again.
  std::optional<ImageFacts> TakeDue(kube::TimePoint now);
  // When the next object is due; nullopt: none is.
  std::optional<kube::TimePoint> NextDue() const;
  // An object that may be empty is due: whoever adds facts to it learns the configuration.
  void WriteFirst(kube::TimePoint now) { SetDue(0, now); }
  // The write has failed: the object is due again.
  void Retry(const std::string& object, kube::TimePoint now);

  template <class Visit>
  void ForEach(const Visit& visit) const {
    for (const auto& [name, held] : facts_) visit(held->fact);
  }
  size_t size() const { return facts_.size(); }
  size_t bytes() const { return bytes_; }

 private:
  struct Held {
    ImageFact fact;
    size_t bytes = 0;
    std::string ns;
    size_t object = 0;
    size_t place = 0;                     // in Object::facts
    kube::TimePoint taken = {};           // by TakeDue()
    std::list<Held*>::iterator use = {};  // in Namespace::order
  };
  struct Namespace {
    std::list<Held*> order;  // least recently used first
    size_t bytes = 0;
  };
  struct Object {
    std::vector<Held*> facts;
    size_t bytes = 0;
    std::optional<kube::TimePoint> due;
  };

  struct HashOfName {
    size_t operator()(const FactName& name) const {
      return std::hash<std::string_view>()(name.image) ^
             (std::hash<std::string_view>()(name.scope) << 1);
    }
  };

  static FactName NameOf(const ImageFact& fact) { return {fact.image, fact.scope}; }
  std::optional<size_t> ObjectOf(std::string_view name) const;
  // Where a new fact goes; nullopt: no object has room.
  std::optional<size_t> RoomFor(size_t bytes) const;
  // Makes room in the namespace and in the objects; nullopt if that is impossible.
  std::optional<size_t> MakeRoom(size_t bytes, const std::string& ns, kube::TimePoint now);
  void Insert(ImageFact fact, size_t bytes, const std::string& ns, size_t object);
  // The fact counts for `ns`, as the one that was used last; it must have no owner.
  void Adopt(Held& held, std::string ns);
  void Disown(const Held& held);
  void SetDue(size_t object, kube::TimePoint due);
  Namespace& Most();

  FactLimits limits_;
  std::string configuration_;
  std::vector<Object> objects_;
  std::map<std::string, Namespace> namespaces_;  // none is empty
  // By their own image and scope.
  std::unordered_map<FactName, std::unique_ptr<Held>, HashOfName> facts_;
  size_t bytes_ = 0;
};

}  // namespace image_facts
