// SPDX-License-Identifier: Apache-2.0
// AgeBudget: which objects of many owners are in force when there is not room for all. An owner of
// a namespace takes neither the memory nor the CPU time of others.
//
// In each namespace, the oldest objects up to CacheBudget::one_namespace fit, and among these of
// all namespaces the oldest up to CacheBudget::total. The first one that does not fit and all
// younger ones are left out. One that is larger than CacheBudget::object is left out and counts for
// no other. With a share, the oldest objects of each namespace up to the share fit whatever others
// have, and do not count for the total. The result depends on the set of objects alone: processes
// that know them in orders of their own come to the same one.
//
//   AgeBudget budget({.object = 64 << 10, .one_namespace = 256 << 10, .total = 4 << 20});
//   budget.Put({"shop", "a"}, "2026-01-01T00:00:00Z", bytes);
//   for (const ObjectKey& object : budget.TakeChanged()) ... budget.Fits(object) ...
//
// A change costs time for the objects whose result it changes. Thread: one.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "kube/cache/reflector.h"
#include "kube/types/resource.h"

namespace kube {

class AgeBudget {
 public:
  // The limit that an object exceeds.
  enum class Limit { kNone, kObject, kNamespace, kTotal };

  // `share`: bytes of each namespace that others cannot take, at most one_namespace.
  explicit AgeBudget(CacheBudget limits, size_t share = 0)
      : limits_(limits), share_(share), total_(limits.total) {}

  // Adds the object, or replaces it. `created`: its creationTimestamp.
  void Put(const ObjectKey& object, std::string created, size_t bytes);
  void Remove(const ObjectKey& object);
  // False also for an object that is not known.
  bool Fits(const ObjectKey& object) const;
  // kNone for an object that fits, or is not known.
  Limit Exceeds(const ObjectKey& object) const;
  // The objects for which Fits() has changed since the last call, without removed ones.
  std::vector<ObjectKey> TakeChanged();
  // How many objects of the namespace, or of all if it is empty, are left out.
  size_t LeftOut(const std::string& ns) const;

 private:
  // The items in order of age.
  struct Item {
    std::string created;
    ObjectKey object;
    auto operator<=>(const Item&) const = default;
  };
  // The first items whose bytes together do not exceed a limit.
  class Oldest {
   public:
    explicit Oldest(size_t limit) : limit_(limit) {}
    Oldest(Oldest&&) = delete;

    // Both call `moved` with each item that is among the first ones now, or not any more.
    template <class Moved>
    void Insert(const Item& item, size_t bytes, Moved moved);
    template <class Moved>
    void Erase(const Item& item, Moved moved);
    bool empty() const { return items_.empty(); }

   private:
    size_t limit_;
    std::map<Item, size_t> items_;
    // The first one that does not fit.
    std::map<Item, size_t>::iterator end_ = items_.end();
    size_t bytes_ = 0;  // of those before it
  };
  struct Namespace {
    Namespace(size_t limit, size_t share_limit) : all(limit), share(share_limit) {}

    Oldest all;
    // Of those that fit into the namespace.
    Oldest share;
  };
  struct Entry {
    std::string created;
    size_t bytes = 0;
    // Among those that fit into the namespace.
    bool fits_namespace = false;
    bool fits = false;
    // The state as TakeChanged() returned it.
    bool told = false;
  };

  void Set(const Item& item, bool fits);
  void MoveInNamespace(const Item& item, size_t bytes, bool fits);
  void Discharge(const ObjectKey& object, const Entry& entry);

  CacheBudget limits_;
  size_t share_;
  std::unordered_map<ObjectKey, Entry> entries_;
  std::unordered_map<std::string, Namespace> namespaces_;
  // What fits into its namespace and is not in its share.
  Oldest total_;
  std::unordered_map<std::string, size_t> left_out_;
  size_t all_left_out_ = 0;
  std::set<ObjectKey> touched_;
};

}  // namespace kube
