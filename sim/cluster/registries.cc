// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/registries.h"

#include <chrono>
#include <optional>
#include <utility>

#include "inspection/base/digest.h"
#include "inspection/base/timing.h"
#include "placement/platforms.h"

namespace sim {
namespace {

using namespace std::chrono_literals;
using inspection::ImageRequest;
using inspection::Inspected;
using kube::Error;
using kube::Result;

// The name as it is in the pod is its own reference here.
inspection::ImageAnswer AnswerOf(const ImageRequest& request, const Inspected& answer) {
  std::string content;
  for (const placement::Platform& platform : answer.platforms->platforms)
    content += platform.architecture + " ";
  return {request.image, inspection::Sha256Digest(content), answer.platforms};
}

class Inspector final : public inspection::ImageInspector {
 public:
  Inspector(Registries& registries, kube::Clock& clock) : registries_(registries), clock_(clock) {}

  kube::Async<Inspected> Inspect(ImageRequest request) override {
    co_await kube::IgnoreCancellation();
    const int generation = generation_;
    Result<Inspected> answer = co_await registries_.Ask(request.image, clock_);
    if (answer && registries_.Refuses(request))
      answer = Error::Unauthenticated("inspect " + request.image + ": 401 Unauthorized");
    if (answer && generation == generation_) {
      known_.insert_or_assign(request.image, Known{*answer, clock_.Now() + kTagLifetime});
      Learn(request, *answer, clock_.Now());
    }
    co_return answer;
  }
  std::optional<Result<Inspected>> Cached(const ImageRequest& request) override {
    auto found = known_.find(request.image);
    if (request.always_pull || registries_.Refuses(request) || found == known_.end() ||
        found->second.until <= clock_.Now())
      return std::nullopt;
    Learn(request, found->second.inspected, found->second.until - kTagLifetime);
    return found->second.inspected;
  }
  std::string SharingKey(const ImageRequest& request) const override {
    std::string key = std::to_string(generation_) + " " + request.image;
    if (request.use == inspection::Use::kVolume) key += " volume";
    if (request.always_pull) key += " always";
    if (request.keyring != nullptr) key += " " + request.keyring->Identity();
    return key;
  }
  void Restore(const inspection::ImageAnswer& image, kube::Duration age) override {
    known_.insert_or_assign(image.image,
                            Known{Inspected{image.platforms}, clock_.Now() - age + kTagLifetime});
  }
  void Observe(std::function<void(inspection::Learned)> learned,
               std::function<void()> configured) override {
    learned_ = std::move(learned);
    configured_ = std::move(configured);
  }
  const std::string& Configuration() const override { return configuration_; }
  Result<void> SetConfig(inspection::InspectorConfig) override {
    configuration_ = "c" + std::to_string(++generation_);
    known_.clear();
    if (configured_) configured_();
    return kube::Ok();
  }

 private:
  static constexpr kube::Duration kTagLifetime = 1min;

  struct Known {
    Inspected inspected;
    kube::TimePoint until;
  };

  void Learn(const ImageRequest& request, const Inspected& answer, kube::TimePoint read) {
    if (!learned_) return;
    const bool is_public = registries_.IsPublic(request.image);
    learned_({AnswerOf(request, answer),
              is_public ? inspection::Holders::kEveryPod : inspection::Holders::kPullSecret,
              is_public, read, request.pod, request.always_pull});
  }

  Registries& registries_;
  kube::Clock& clock_;
  int generation_ = 0;
  std::string configuration_ = "c0";
  std::function<void(inspection::Learned)> learned_;
  std::function<void()> configured_;
  std::map<std::string, Known> known_;
};

}  // namespace

void Registries::Set(const std::string& image, std::set<std::string> architectures) {
  images_.insert_or_assign(image, std::move(architectures));
}

std::unique_ptr<inspection::ImageInspector> Registries::NewInspector(kube::Clock& clock) {
  return std::make_unique<Inspector>(*this, clock);
}

kube::Async<Inspected> Registries::Ask(std::string image, kube::Clock& clock) {
  co_await kube::IgnoreCancellation();
  auto mood = moods_.find(inspection::RegistryOf(image));
  const bool hangs = mood != moods_.end() && mood->second == Mood::kHangs;
  kube::Duration wait = hangs ? kube::Duration(inspection::kInspectionTimeout)
                              : random_.Between(1ms, random_.OnceIn(10) ? 5s : 50ms);
  Result<> waited = co_await clock.Sleep(wait);
  if (!waited) co_return waited.error();
  if (hangs) co_return Error::DeadlineExceeded("inspect " + image);
  co_return Answer(image);
}

bool Registries::IsPublic(const std::string& image) const {
  return !private_.contains(inspection::RegistryOf(image));
}

bool Registries::Refuses(const ImageRequest& request) const {
  const std::string host = inspection::RegistryOf(request.image);
  if (!private_.contains(host)) return false;
  return request.keyring == nullptr || request.keyring->Match(host, "private").empty();
}

Result<Inspected> Registries::Answer(const std::string& image) const {
  auto mood = moods_.find(inspection::RegistryOf(image));
  if (mood != moods_.end() && mood->second == Mood::kRefuses)
    return Error::Unavailable("inspect " + image + ": connection refused");
  if (mood != moods_.end() && mood->second == Mood::kThrottles)
    return Error::Throttled("inspect " + image + ": 429 Too Many Requests");
  auto found = images_.find(image);
  if (found == images_.end()) return Error::NotFound("inspect " + image + ": 404 Not Found");
  placement::ImagePlatforms platforms;
  for (const std::string& architecture : found->second)
    platforms.platforms.push_back(
        {.os = std::string(placement::kLinux), .architecture = architecture});
  return Inspected{std::make_shared<const placement::ImagePlatforms>(std::move(platforms))};
}

}  // namespace sim
