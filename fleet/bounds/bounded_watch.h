// SPDX-License-Identifier: Apache-2.0
// BoundedWatch: hands the objects of one kind from a watch to a store, as long as they are within a
// Budget. It keeps the key, the age and the size of each. What exceeds the budget is left out; when
// there is room again, it is read and handed over.
//
//   BoundedWatch placements(client, clock, kPlacements, kPlacementBudget,
//                           NewFollower<Placement>({.put = ..., .leave_out = ..., .remove = ...}));
//   placements.Start(tasks, "watch-placements");
//
// Thread: the client's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "fleet/api/budgets.h"
#include "fleet/bounds/fair_budget.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/notifier.h"
#include "kube/base/task_group.h"
#include "kube/cache/reflector.h"
#include "kube/client/client.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace fleet {

class BoundedWatch final : private kube::Reflector::Kind {
 public:
  // What takes the objects.
  class Follower {
   public:
    virtual ~Follower() = default;
    // Reads an object, of which the next call of Put() or LeaveOut() is. Returns KeptBytes().
    virtual kube::Result<size_t> Read(const kube::Json& json) = 0;
    // It is in force.
    virtual void Put() = 0;
    // It is not in force, or not any more. `read`: it is the one of Read().
    virtual void LeaveOut(const kube::ObjectKey& key, Excess excess, bool read) = 0;
    virtual void Remove(const kube::ObjectKey& key) = 0;
  };
  // An object that is left out, once; `message`: DescribeExcess().
  using OnLeftOut = std::function<void(const kube::Resource& resource, const kube::ObjectKey& key,
                                       const std::string& message)>;

  // `client` and `clock` outlive this.
  BoundedWatch(kube::Client& client, kube::Clock& clock, const kube::Resource& resource,
               const Budget& budget, std::unique_ptr<Follower> follower);

  // Before Start().
  void Listen(OnLeftOut listener) { listener_ = std::move(listener); }
  // The tasks end before this is destroyed.
  void Start(kube::TaskGroup& tasks, const std::string& name);

  bool synced() const { return reflector_.synced(); }
  kube::Async<> WaitForSync() { return reflector_.WaitForSync(); }
  const kube::Resource& resource() const { return resource_; }
  // How many known objects are left out.
  size_t left_out() const { return left_out_.size(); }

 private:
  // kube::Reflector::Kind
  kube::Result<kube::Reflector::Packed> Pack(kube::WireObject wire) override;
  std::string Stub(std::string_view /*packed*/) override { return ""; }
  void Emit(kube::EventType type, const kube::ObjectKey& key,
            const kube::Reflector::Held& held) override;

  // The limit of objects that a new one of this owner exceeds.
  std::optional<Excess> ExceedsObjects(const std::string& owner) const;
  // The object that was just read.
  void Decide(const kube::ObjectKey& key);
  void LeaveOut(const kube::ObjectKey& key, Excess excess, bool read);
  // The objects that others displaced, or made room for; `besides` is decided already.
  void Settle(const kube::ObjectKey& besides);
  boost::asio::awaitable<void> ReadMissing();

  kube::Client& client_;
  kube::Clock& clock_;
  const kube::Resource resource_;
  const Budget budget_;
  std::unique_ptr<Follower> follower_;
  OnLeftOut listener_;
  FairBudget fair_;
  kube::Reflector reflector_;

  // Of the object that was read last.
  std::string created_;
  size_t bytes_ = 0;

  std::unordered_map<std::string, size_t> objects_of_;  // by owner
  std::set<kube::ObjectKey> left_out_;
  // Owners with objects that are not known, of which the first was reported.
  std::set<std::string> full_;
  // In force, but not with the store yet.
  std::set<kube::ObjectKey> missing_;
  kube::Notifier missing_changed_;
};

// A Follower of objects that T::FromJson() reads.
template <class T>
struct Handlers {
  std::function<void(T object)> put;
  // `object`: nullptr if it is one that is with the store, or was left out before.
  std::function<void(const kube::ObjectKey& key, Excess excess, T* object)> leave_out;
  std::function<void(const kube::ObjectKey& key)> remove;
};

template <class T>
std::unique_ptr<BoundedWatch::Follower> NewFollower(Handlers<T> handlers) {
  class Typed final : public BoundedWatch::Follower {
   public:
    explicit Typed(Handlers<T> handlers) : handlers_(std::move(handlers)) {}
    kube::Result<size_t> Read(const kube::Json& json) override {
      kube::Result<T> read = T::FromJson(json);
      if (!read) return read.error();
      object_ = std::make_unique<T>(std::move(*read));
      return KeptBytes(*object_, json);
    }
    void Put() override {
      std::unique_ptr<T> object = std::exchange(object_, nullptr);
      handlers_.put(std::move(*object));
    }
    void LeaveOut(const kube::ObjectKey& key, Excess excess, bool read) override {
      std::unique_ptr<T> object;
      if (read) object = std::exchange(object_, nullptr);
      handlers_.leave_out(key, excess, object.get());
    }
    void Remove(const kube::ObjectKey& key) override { handlers_.remove(key); }

   private:
    Handlers<T> handlers_;
    std::unique_ptr<T> object_;
  };
  return std::make_unique<Typed>(std::move(handlers));
}

}  // namespace fleet
