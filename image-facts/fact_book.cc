// SPDX-License-Identifier: Apache-2.0
#include "image-facts/fact_book.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "image-facts/lifetime.h"

namespace image_facts {
namespace {

using kube::TimePoint;

// Of a line: the digits of its numbers, spaces, quotes and the comma.
constexpr size_t kLineOverhead = 24;
// And of a scope.
constexpr size_t kScopeOverhead = 8;

// The most that the fact adds to an object; 0 if it has no text.
size_t BytesOf(const ImageFact& fact) {
  std::string platforms = PlatformsToText(*fact.platforms);
  if (platforms.empty() || fact.image.empty() || fact.image.size() > kMaxImageName) return 0;
  size_t scope = fact.scope.empty() ? 0 : fact.scope.size() + kScopeOverhead;
  return fact.image.size() + fact.digest.size() + platforms.size() + scope + kLineOverhead;
}

}  // namespace

bool SaysTheSame(const ImageFact& a, const ImageFact& b) {
  return a.digest == b.digest && *a.platforms == *b.platforms;
}

std::string ObjectName(size_t number, std::string_view prefix) {
  return std::string(prefix) + std::to_string(number);
}

std::optional<size_t> ObjectNumber(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  std::string_view digits = name.substr(prefix.size());
  size_t number = 0;
  auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  bool same = failure == std::errc() && ObjectName(number, prefix) == name;
  return same ? std::optional(number) : std::nullopt;
}

FactBook::FactBook(FactLimits limits) : limits_(limits), objects_(limits.objects) {}

std::optional<size_t> FactBook::ObjectOf(std::string_view name) const {
  std::optional<size_t> object = ObjectNumber(name, limits_.prefix);
  return object && *object < objects_.size() ? object : std::nullopt;
}

void FactBook::SetDue(size_t object, TimePoint due) {
  std::optional<TimePoint>& current = objects_[object].due;
  current = current ? std::min(*current, due) : due;
}

const ImageFact* FactBook::Find(const FactName& name) const {
  auto found = facts_.find(name);
  return found == facts_.end() ? nullptr : &found->second->fact;
}

bool FactBook::HasRoomFor(const ImageFact& fact) const {
  const size_t bytes = BytesOf(fact);
  return bytes > 0 && RoomFor(bytes).has_value();
}

bool FactBook::Put(ImageFact fact, const std::string& ns, TimePoint now, bool always_pull) {
  std::string owner = ns;
  if (auto found = facts_.find(NameOf(fact)); found != facts_.end()) {
    Held& held = *found->second;
    if (SaysTheSame(held.fact, fact)) {
      auto lifetime = LifetimeOf({fact.image, fact.scope, always_pull});
      if (lifetime && held.fact.read < fact.read)
        SetDue(held.object, std::max(now, held.taken + *lifetime / 2));
      held.fact.read = std::max(held.fact.read, fact.read);
      return true;
    }
    // It may be larger than before, and not fit where it was.
    owner = held.ns;
    Erase(NameOf(fact), now);
  }
  size_t bytes = BytesOf(fact);
  if (bytes == 0 || bytes > std::min(limits_.object_bytes, limits_.namespace_bytes)) return false;
  std::optional<size_t> object = MakeRoom(bytes, owner, now);
  if (!object) return false;
  Insert(std::move(fact), bytes, owner, *object);
  SetDue(*object, now + limits_.fresh);
  return true;
}

void FactBook::Use(const FactName& name, const std::string& ns) {
  auto found = facts_.find(name);
  if (found == facts_.end()) return;
  // A fact of an earlier leader has no owner yet.
  Held& held = *found->second;
  Disown(held);
  Adopt(held, held.ns.empty() ? ns : held.ns);
}

void FactBook::Adopt(Held& held, std::string ns) {
  Namespace& owner = namespaces_[ns];
  owner.order.push_back(&held);
  owner.bytes += held.bytes;
  held.ns = std::move(ns);
  held.use = std::prev(owner.order.end());
}

void FactBook::Disown(const Held& held) {
  auto owner = namespaces_.find(held.ns);
  owner->second.bytes -= held.bytes;
  owner->second.order.erase(held.use);
  if (owner->second.order.empty()) namespaces_.erase(owner);
}

void FactBook::Erase(const FactName& name, TimePoint now) {
  auto found = facts_.find(name);
  if (found == facts_.end()) return;
  // `name` may be of it.
  std::unique_ptr<Held> erased = std::move(found->second);
  facts_.erase(found);
  const Held& held = *erased;
  Disown(held);
  Object& object = objects_[held.object];
  object.bytes -= held.bytes;
  object.facts[held.place] = object.facts.back();
  object.facts[held.place]->place = held.place;
  object.facts.pop_back();
  bytes_ -= held.bytes;
  SetDue(held.object, now);
}

void FactBook::EraseAll(const std::string& ns, TimePoint now) {
  for (auto of_ns = namespaces_.find(ns); of_ns != namespaces_.end(); of_ns = namespaces_.find(ns))
    Erase(NameOf(of_ns->second.order.front()->fact), now);
}

void FactBook::Insert(ImageFact fact, size_t bytes, const std::string& ns, size_t object) {
  auto held =
      std::make_unique<Held>(Held{.fact = std::move(fact), .bytes = bytes, .object = object});
  Adopt(*held, ns);
  held->place = objects_[object].facts.size();
  objects_[object].facts.push_back(held.get());
  objects_[object].bytes += bytes;
  bytes_ += bytes;
  FactName name = NameOf(held->fact);
  facts_[name] = std::move(held);
}

std::optional<size_t> FactBook::RoomFor(size_t bytes) const {
  std::optional<size_t> best;
  auto fits = [&](const Object& object) {
    return object.bytes + bytes <= limits_.object_bytes && object.facts.size() < kMaxFactsPerObject;
  };
  for (size_t i = 0; i < objects_.size(); ++i) {
    if (!fits(objects_[i])) continue;
    // An object without facts costs one more write, and one more object in each list.
    auto rank = [&](size_t object) {
      const Object& o = objects_[object];
      return std::tuple(!o.due.has_value(), o.facts.empty(), o.bytes);
    };
    if (!best || rank(i) < rank(*best)) best = i;
  }
  return best;
}

FactBook::Namespace& FactBook::Most() {
  return std::max_element(
             namespaces_.begin(), namespaces_.end(),
             [](const auto& a, const auto& b) { return a.second.bytes < b.second.bytes; })
      ->second;
}

std::optional<size_t> FactBook::MakeRoom(size_t bytes, const std::string& ns, TimePoint now) {
  auto own = ns.empty() ? namespaces_.end() : namespaces_.find(ns);
  while (own != namespaces_.end() && own->second.bytes + bytes > limits_.namespace_bytes) {
    Erase(NameOf(own->second.order.front()->fact), now + limits_.again);
    own = namespaces_.find(ns);
  }
  std::optional<size_t> object = RoomFor(bytes);
  while (!object && !namespaces_.empty()) {
    Erase(NameOf(Most().order.front()->fact), now + limits_.again);
    object = RoomFor(bytes);
  }
  return object;
}

void FactBook::Reset(const std::string& configuration, TimePoint now) {
  configuration_ = configuration;
  namespaces_.clear();
  facts_.clear();
  bytes_ = 0;
  for (size_t i = 0; i < objects_.size(); ++i) {
    bool stored = !objects_[i].facts.empty() || objects_[i].due;
    objects_[i] = {};
    if (stored) SetDue(i, now);
  }
}

std::vector<const ImageFact*> FactBook::Restore(const ImageFacts& object, TimePoint now) {
  std::optional<size_t> number = ObjectOf(object.metadata().name());
  if (!number) return {};
  if (object.configuration != configuration_) {
    SetDue(*number, now);
    return {};
  }
  std::vector<const ImageFact*> added;
  std::unordered_set<FactName, HashOfName> names;
  for (const ImageFact& fact : object.facts) {
    const FactName name = NameOf(fact);
    names.insert(name);
    auto known = facts_.find(name);
    if (known != facts_.end() && known->second->fact.read >= fact.read) {
      if (known->second->object != *number) SetDue(*number, now);
      continue;
    }
    Erase(name, now);
    const size_t bytes = BytesOf(fact);
    if (bytes == 0 || objects_[*number].bytes + bytes > limits_.object_bytes) {
      SetDue(*number, now);
      continue;
    }
    Insert(fact, bytes, "", *number);
    added.push_back(&fact);
  }
  for (const Held* held : objects_[*number].facts) {
    if (!names.contains(NameOf(held->fact))) SetDue(*number, now);
  }
  return added;
}

std::optional<ImageFacts> FactBook::TakeDue(TimePoint now) {
  auto first =
      std::min_element(objects_.begin(), objects_.end(), [](const Object& a, const Object& b) {
        return a.due.value_or(TimePoint::max()) < b.due.value_or(TimePoint::max());
      });
  if (first == objects_.end() || !first->due || *first->due > now) return std::nullopt;
  first->due.reset();
  ImageFacts object;
  object.mutable_metadata()->set_name(
      ObjectName(static_cast<size_t>(std::distance(objects_.begin(), first)), limits_.prefix));
  object.configuration = configuration_;
  object.facts.reserve(first->facts.size());
  for (Held* held : first->facts) {
    held->taken = now;
    object.facts.push_back(held->fact);
  }
  std::sort(object.facts.begin(), object.facts.end(), [](const ImageFact& a, const ImageFact& b) {
    return std::tie(a.image, a.scope) < std::tie(b.image, b.scope);
  });
  return object;
}

std::optional<TimePoint> FactBook::NextDue() const {
  std::optional<TimePoint> next;
  for (const Object& object : objects_) {
    if (object.due) next = std::min(next.value_or(*object.due), *object.due);
  }
  return next;
}

void FactBook::Retry(const std::string& object, TimePoint now) {
  std::optional<size_t> number = ObjectOf(object);
  if (number) SetDue(*number, now);
}

}  // namespace image_facts
