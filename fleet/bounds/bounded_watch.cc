// SPDX-License-Identifier: Apache-2.0
#include "fleet/bounds/bounded_watch.h"

#include <glog/logging.h>

#include <chrono>
#include <optional>

#include "fleet/bounds/find_by_name.h"

namespace fleet {
namespace {

using kube::Json;
using kube::ObjectKey;
using kube::Result;

// Between attempts to read an object that has room again.
constexpr std::chrono::seconds kReadAgain{1};

// The creationTimestamp, in the order of age. Eight bytes: a short text needs no memory of its own.
std::string AgeOf(const Json& object) {
  uint64_t seconds = 0;
  if (auto time = kube::ParseTime(kube::StringAt(object, "metadata.creationTimestamp"))) {
    auto since = std::chrono::duration_cast<std::chrono::seconds>(time->time_since_epoch()).count();
    if (since > 0) seconds = static_cast<uint64_t>(since);
  }
  std::string age(sizeof(seconds), '\0');
  for (size_t i = age.size(); i-- > 0; seconds >>= 8) age[i] = static_cast<char>(seconds & 255);
  return age;
}

ObjectKey KeyOf(const Json& object) {
  return {kube::StringAt(object, "metadata.namespace"), kube::StringAt(object, "metadata.name")};
}

// Of many objects that an owner has left out, the first ones are told; all are counted.
bool IsTold(const std::set<ObjectKey>& left_out, const std::string& owner) {
  const int most = owner.empty() ? 100 : 3;
  int number = 0;
  for (auto next = left_out.lower_bound({owner, ""});
       next != left_out.end() && next->ns == owner && number <= most; ++next)
    ++number;
  return number <= most;
}

}  // namespace

BoundedWatch::BoundedWatch(kube::Client& client, kube::Clock& clock, const kube::Resource& resource,
                           const Budget& budget, std::unique_ptr<Follower> follower)
    : client_(client),
      clock_(clock),
      resource_(resource),
      budget_(budget),
      follower_(std::move(follower)),
      fair_(budget),
      reflector_(client, clock, {.resource = resource}, *this) {}

void BoundedWatch::Start(kube::TaskGroup& tasks, const std::string& name) {
  tasks.Spawn(name, reflector_.Run());
  tasks.Spawn(name + "-missing", ReadMissing());
}

Result<kube::Reflector::Packed> BoundedWatch::Pack(kube::WireObject wire) {
  kube::Reflector::Packed packed;
  Result<size_t> bytes = follower_->Read(wire.json);
  if (!bytes) return bytes.error();
  bytes_ = *bytes;
  created_ = AgeOf(wire.json);
  ObjectKey key = KeyOf(wire.json);
  if (reflector_.Find(key) != nullptr) return packed;
  if (std::optional<Excess> excess = ExceedsObjects(key.ns)) {
    packed.keep = false;
    if (full_.insert(key.ns).second) {
      std::string message = DescribeExcess(resource_.plural, budget_, *excess, bytes_);
      LOG(WARNING) << resource_.kind << " " << key.ToString() << " " << message;
      if (listener_) listener_(resource_, key, message);
    }
    follower_->LeaveOut(key, *excess, /*read=*/true);
  }
  return packed;
}

std::optional<Excess> BoundedWatch::ExceedsObjects(const std::string& owner) const {
  auto found = objects_of_.find(owner);
  if (found != objects_of_.end() && found->second >= budget_.owner_objects)
    return Excess::kOwnerObjects;
  if (reflector_.size() >= budget_.objects) return Excess::kObjects;
  return std::nullopt;
}

void BoundedWatch::Emit(kube::EventType type, const ObjectKey& key,
                        const kube::Reflector::Held& /*held*/) {
  if (type == kube::EventType::kDeleted) {
    auto of_owner = objects_of_.find(key.ns);
    if (--of_owner->second == 0) objects_of_.erase(of_owner);
    fair_.Remove(key);
    left_out_.erase(key);
    missing_.erase(key);
    follower_->Remove(key);
    Settle(key);
    return;
  }
  if (type == kube::EventType::kAdded) ++objects_of_[key.ns];
  Decide(key);
}

void BoundedWatch::Decide(const ObjectKey& key) {
  missing_.erase(key);
  fair_.Put(key, created_, bytes_);
  if (std::optional<Excess> excess = fair_.Exceeds(key)) {
    LeaveOut(key, *excess, /*read=*/true);
  } else {
    left_out_.erase(key);
    follower_->Put();
  }
  Settle(key);
}

void BoundedWatch::LeaveOut(const ObjectKey& key, Excess excess, bool read) {
  if (left_out_.insert(key).second && IsTold(left_out_, key.ns)) {
    std::string message = DescribeExcess(resource_.plural, budget_, excess, read ? bytes_ : 0);
    if (!read) message = "gave way to older ones: " + message;
    LOG(WARNING) << resource_.kind << " " << key.ToString() << " " << message;
    if (listener_) listener_(resource_, key, message);
  }
  follower_->LeaveOut(key, excess, read);
}

void BoundedWatch::Settle(const ObjectKey& besides) {
  for (const ObjectKey& key : fair_.TakeChanged()) {
    if (key == besides) continue;
    if (std::optional<Excess> excess = fair_.Exceeds(key)) {
      missing_.erase(key);
      LeaveOut(key, *excess, /*read=*/false);
    } else {
      missing_.insert(key);
      missing_changed_.NotifyAll();
    }
  }
}

boost::asio::awaitable<void> BoundedWatch::ReadMissing() {
  co_await kube::IgnoreCancellation();
  while (true) {
    while (missing_.empty()) {
      Result<> waited = co_await missing_changed_.Wait();
      if (!waited) co_return;
    }
    const ObjectKey key = *missing_.begin();
    Result<std::optional<kube::Unstructured>> object = co_await FindByName(client_, resource_, key);
    if (!object) {
      Result<> slept = co_await clock_.Sleep(kReadAgain);
      if (!slept) co_return;
      continue;
    }
    // The watch may have delivered it meanwhile, or its deletion; or that follows.
    if (missing_.erase(key) == 0 || !*object) continue;
    Result<size_t> bytes = follower_->Read((*object)->body());
    if (!bytes) continue;
    bytes_ = *bytes;
    created_ = AgeOf((*object)->body());
    Decide(key);
  }
}

}  // namespace fleet
