// SPDX-License-Identifier: Apache-2.0
// Budget: which policies of namespaces are applied. An owner of a namespace takes neither the
// memory nor the CPU time of others.
//
// In each namespace, the oldest policies up to kNamespaceBytes are applied, and among these of all
// namespaces the oldest up to kTotalBytes. The first one that does not fit and all younger ones are
// left out. One that is larger than kPolicyBytes is left out and counts for no other. The result
// depends on the set of policies alone: the operator and each replica of the webhook, which know
// them in orders of their own, come to the same one.
//
//   budget.Put({"shop", "a"}, "2026-01-01T00:00:00Z", BudgetBytes(policy));
//   for (const kube::ObjectKey& policy : budget.TakeChanged()) ... budget.Fits(policy) ...
//
// A change costs time for the policies whose result it changes. Thread: one.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace policy {

// In BudgetBytes(). The compiled policies need about ten times as much memory.
inline constexpr size_t kPolicyBytes = 64 * 1024;
inline constexpr size_t kNamespaceBytes = 256 * 1024;
inline constexpr size_t kTotalBytes = 4 * 1024 * 1024;

// What counts of a policy as stored: its spec, as CBOR.
size_t BudgetBytes(const kube::Json& policy);

class Budget {
 public:
  Budget() : total_(kTotalBytes) {}

  // Adds the policy, or replaces it. `created`: its creationTimestamp.
  void Put(const kube::ObjectKey& policy, std::string created, size_t bytes);
  void Remove(const kube::ObjectKey& policy);
  // False also for a policy that is not known.
  bool Fits(const kube::ObjectKey& policy) const;
  // The policies for which Fits() has changed since the last call, without removed ones.
  std::vector<kube::ObjectKey> TakeChanged();
  // How many policies of the namespace, or of all if it is empty, are left out.
  size_t LeftOut(const std::string& ns) const;

 private:
  // The items in order of age.
  struct Item {
    std::string created;
    kube::ObjectKey policy;
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
  struct Entry {
    std::string created;
    size_t bytes = 0;
    bool fits = false;
    // The state as TakeChanged() returned it.
    bool told = false;
  };

  void Set(const Item& item, bool fits);
  void MoveInNamespace(const Item& item, size_t bytes, bool fits);
  void Discharge(const kube::ObjectKey& policy, const Entry& entry);

  std::unordered_map<kube::ObjectKey, Entry> entries_;
  std::unordered_map<std::string, Oldest> namespaces_;
  // What fits into its namespace.
  Oldest total_;
  std::unordered_map<std::string, size_t> left_out_;
  size_t all_left_out_ = 0;
  std::set<kube::ObjectKey> touched_;
};

}  // namespace policy
