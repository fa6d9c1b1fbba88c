// SPDX-License-Identifier: Apache-2.0
// Learner: finds out which images do not run on an architecture that their index names, and keeps
// that as ImageFindings: by the failures that monitors report and, if the ClusterPodPlacementConfig
// wants it, before there are any. It reads the program of the image from the registry, as the pod
// would (entrypoint/image_files.h); evidence.h says what that proves.
//
// No pod waits for it. One image is read at a time, at a pace: so much of the time of the cluster
// controller, and of the bytes of registries, tenants can take at most. Thread: the client's.
#pragma once

#include <map>
#include <string>

#include "api/cluster_pod_placement_config.h"
#include "cluster-controller/pod_inspector.h"
#include "cluster-controller/term_feature.h"
#include "exec-format/entrypoint/image_file_cache.h"
#include "exec-format/learning/evidence.h"
#include "exec-format/learning/finding_store.h"
#include "exec-format/learning/learning_metrics.h"
#include "exec-format/learning/look_queue.h"
#include "exec-format/pace.h"
#include "inspection/inspector.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/lru_map.h"
#include "kube/base/notifier.h"
#include "kube/base/task_group.h"
#include "kube/controller/event_recorder.h"

namespace exec_format {

// Images that are read: of a burst, and the time to regain one.
inline constexpr int kLooksAtOnce = 3;
inline constexpr std::chrono::seconds kLookPeriod{10};
// Of one image, for all its architectures.
inline constexpr std::chrono::minutes kLookTimeout{1};
// A first failure waits for a second one in another pod this long.
inline constexpr std::chrono::hours kSecondPodWithin{24};
inline constexpr size_t kMaxFirstPods = 1'024;
// Digests that need no second look before a failure; one that could not be read gets another.
inline constexpr size_t kMaxLookedAt = 4'096;
inline constexpr std::chrono::hours kLookAgainAfter{1};

class Learner {
 public:
  Learner(const cluster_controller::TermParts& term, LearningMetrics& metrics);
  ~Learner();

  void Start(kube::TaskGroup& tasks);
  void Follow(const api::ClusterPodPlacementConfig* config);
  // A container of a pod failed on a node of this architecture.
  void OnFailure(Failure failure, const std::string& architecture);

 private:
  // What was read of an image.
  struct Read {
    std::string digest;
    int amd64_level = 0;                     // that the index says
    std::map<std::string, ImageFile> files;  // by architecture
  };
  struct FirstPod {
    std::string uid;
    kube::TimePoint at;
  };

  void OnInspected(const inspection::ImageRequest& request, const inspection::Inspected& image);
  // Returns: whether there is room.
  bool Push(Look look);
  kube::asio::awaitable<void> Run();
  // Errors: those of the registry and of the API server.
  kube::Async<> LookAt(Look& look);
  // `look` and `read` outlive the call. Errors: kCancelled; others are left out of `read`.
  kube::Async<> ReadPrograms(inspection::RegistryClient& client,
                             const inspection::Repository& repository, std::string digest,
                             const Look& look, Read& read);
  kube::Async<> Conclude(const Look& look, const Read& read, const std::string& architecture,
                         const ImageFile& file);
  // Whether it has failed in another pod before.
  bool IsSecondPod(const Look& look, const std::string& digest, const std::string& architecture);

  kube::Clock& clock_;
  kube::EventRecorder& events_;
  cluster_controller::PodInspector& inspector_;
  inspection::ImageInspector& images_;
  cluster_controller::ImageFindings& findings_;
  LearningMetrics& metrics_;
  FindingStore store_;
  bool is_on_ = false;
  bool looks_first_ = false;
  bool wants_levels_ = false;
  LookQueue queue_;
  kube::Notifier queued_;
  Pace pace_;
  ImageFileCache files_;
  kube::LruMap<FirstPod> first_pods_{kMaxFirstPods};
  // By digest, when the next look is allowed.
  kube::LruMap<kube::TimePoint> looked_at_{kMaxLookedAt};
};

}  // namespace exec_format
