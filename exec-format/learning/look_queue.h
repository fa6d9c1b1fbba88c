// SPDX-License-Identifier: Apache-2.0
// LookQueue: images whose programs are to be read from their registries. Those of failed containers
// come first. Namespaces take turns, and each has its share of the room. Pure.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cluster-controller/pod_inspector.h"
#include "exec-format/learning/evidence.h"
#include "kube/types/core.pb.h"

namespace exec_format {

// A container failed on a node.
struct Failure {
  FailedContainer container;
  kube::core::ObjectReference about;  // the pod
  std::string node;
};

// Read the program of an image for these architectures.
struct Look {
  cluster_controller::PodInspector::Images images;  // one image
  std::vector<std::string> architectures;
  std::optional<Failure> failure = std::nullopt;

  const std::string& ns() const { return images.pod.ns; }
  const std::string& image() const { return images.images.front().reference; }
};

class LookQueue {
 public:
  static constexpr size_t kOfNamespace = 8;
  static constexpr size_t kInAll = 128;
  // Of one look. A pod may name thousands of pull secrets.
  static constexpr size_t kMaxBytes = 16u << 10;

  // False if there is no room, of its kind, or it is too large. One that waits already is not added
  // again.
  bool Push(Look look) {
    if (BytesOf(look) > kMaxBytes) return false;
    Kind& kind = look.failure ? failures_ : others_;
    std::string key = KeyOf(look);
    if (kind.keys.contains(key)) return true;
    if (kind.keys.size() >= kInAll) return false;
    std::deque<Look>& own = kind.by_namespace[look.ns()];
    if (own.size() >= kOfNamespace) return false;
    kind.keys.insert(std::move(key));
    own.push_back(std::move(look));
    return true;
  }

  std::optional<Look> Take() {
    std::optional<Look> look = TakeFrom(failures_);
    if (!look) look = TakeFrom(others_);
    return look;
  }

  void Clear() { failures_ = others_ = {}; }
  size_t size() const { return failures_.keys.size() + others_.keys.size(); }

 private:
  struct Kind {
    std::map<std::string, std::deque<Look>> by_namespace;
    std::set<std::string> keys;
    std::string last;  // the namespace that had the last turn
  };

  static size_t BytesOf(const Look& look) {
    size_t bytes = look.ns().size() + look.image().size();
    if (look.images.identity != nullptr) {
      bytes += look.images.identity->account.size();
      for (const std::string& secret : look.images.identity->pull_secrets)
        bytes += sizeof(secret) + secret.size();
    }
    if (!look.failure) return bytes;
    const FailedContainer& container = look.failure->container;
    // The secrets are there twice.
    return 2 * bytes + container.image_id.size() + container.path.size() +
           CommandBytes(container.command);
  }

  // A pod has a name without spaces, so has an image.
  static std::string KeyOf(const Look& look) {
    std::string key = look.ns() + " " + look.image();
    if (look.failure) key += " " + look.failure->container.uid + " " + look.failure->container.path;
    return key;
  }

  static std::optional<Look> TakeFrom(Kind& kind) {
    std::erase_if(kind.by_namespace, [](const auto& entry) { return entry.second.empty(); });
    if (kind.by_namespace.empty()) return std::nullopt;
    auto next = kind.by_namespace.upper_bound(kind.last);
    if (next == kind.by_namespace.end()) next = kind.by_namespace.begin();
    kind.last = next->first;
    Look look = std::move(next->second.front());
    next->second.pop_front();
    kind.keys.erase(KeyOf(look));
    return look;
  }

  Kind failures_, others_;
};

}  // namespace exec_format
