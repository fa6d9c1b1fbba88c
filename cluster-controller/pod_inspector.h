// SPDX-License-Identifier: Apache-2.0
// PodInspector: finds the platforms that all images of a pod have in common. Its images are
// inspected at the same time. Where no registry can tell, the nodes that have the image do: with
// the pull policy Never, and with IfNotPresent if the registry denies that it has the image, or
// still does not answer at the last attempt.
//
// The memory for images and secrets that wait is limited by namespace and in total, and so is the
// number of pods that read their secrets at a time. A pod beyond a limit is queued, and woken when
// there is room.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cluster-controller/findings/image_findings.h"
#include "cluster-controller/inspection_metrics.h"
#include "cluster-controller/inspection_queue.h"
#include "cluster-controller/nodes/node_images.h"
#include "cluster-controller/pull_secrets.h"
#include "inspection/config/account_tokens.h"
#include "inspection/inspector.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/queue/fair_share.h"
#include "kube/types/core.pb.h"
#include "kube/types/resource.h"
#include "placement/architecture.h"
#include "placement/images.h"
#include "placement/judged_images.h"
#include "placement/platforms.h"

namespace cluster_controller {

struct PodInspectorOptions {
  // Memory for the names and credentials of images that wait for their inspection.
  kube::FairShareOptions memory{
      .per_namespace = 4u << 20, .total = 16u << 20, .first_always_enters = true};
  // Pods that read their secrets. Some namespaces with many secrets keep no other one from reading
  // its own. A worker of the controller waits for each pod, so `most` are fewer than its workers.
  kube::FairShareOptions readers{
      .per_namespace = 4, .total = 8, .first_always_enters = true, .most = 12};
  // Images are prefetched only below these numbers of queued inspections, and of prefetching pods
  // that read their secrets.
  size_t prefetch_queued = 64;
  size_t prefetch_readers = 8;
};

struct PodImages {
  placement::CommonPlatforms platforms;
  // Not empty: what was used of an earlier inspection, and why (ImageInspector).
  std::string stale = {};
  // For an image, the nodes that have it now decided: others may have it later.
  bool from_nodes = false;
  // Architectures of linux that all indexes name, and that `platforms` leaves out: an image was
  // found not to run there. If that leaves none, the indexes are believed nevertheless.
  placement::ArchitectureSet avoided = {};
  bool believes_indexes = false;
  // One of the images that were found not to run; "" if none was.
  std::string wrong_image = {};
};

class PodInspector {
 public:
  // The parts of a pod that its inspection needs.
  struct Images {
    kube::ObjectKey pod;
    inspection::SharedPodIdentity identity;  // not nullptr
    std::vector<placement::ContainerImage> images;
    // The credentials in its pull secrets and the global ones, once they have been read.
    std::optional<inspection::SharedKeyring> keyring = std::nullopt;
    // No read of a Secret starts after it.
    kube::TimePoint deadline = kube::TimePoint::max();

    static Images Of(const kube::core::Pod& pod);
    // One image, read as a pod with this identity would, by the registry's current digest. `name`:
    // with a '/', which no pod has.
    static Images OfImage(const std::string& name, inspection::PodIdentity identity,
                          std::string image);
  };

  // Whether the key is that of a pod. Templates of other objects are inspected as pods whose names
  // have a '/', which no pod has: they count in no metric of pods.
  static bool IsPod(const kube::ObjectKey& key) { return key.name.find('/') == std::string::npos; }

  // All outlive it.
  PodInspector(InspectionQueue& queue, PullSecrets& secrets, NodeImages& nodes,
               InspectionMetrics& metrics, kube::Clock& clock, PodInspectorOptions options = {})
      : PodInspector(queue, secrets, &nodes, metrics, clock, options) {}
  // Without the images of nodes: what no registry tells is not known.
  PodInspector(InspectionQueue& queue, PullSecrets& secrets, InspectionMetrics& metrics,
               kube::Clock& clock, PodInspectorOptions options = {})
      : PodInspector(queue, secrets, nullptr, metrics, clock, options) {}

  // `wake` is called with each pod that was queued because of a limit and may be inspected now.
  void OnTurn(const std::function<void(const kube::ObjectKey&)>& wake);
  // Without them, indexes are believed. `findings` outlives all other calls; nullptr: none.
  void Use(const ImageFindings* findings) { findings_ = findings; }

  // nullopt: not known yet; the queue's OnResult() or OnTurn() wakes the pod for the next
  // call. Errors: that of the first image that cannot be inspected (it names image, registry and
  // cause), kInvalid for too many images or too long names, or the API server's for a pull secret.
  // After a result or an error, the next call starts again.
  kube::Async<std::optional<PodImages>> Inspect(const kube::core::Pod& pod,
                                                bool last_attempt = false);
  // The same of `images`, which outlives the call. Sets their keyring, and reads no Secret if it is
  // set.
  kube::Async<std::optional<PodImages>> InspectImages(Images& images, bool last_attempt = false);
  // The requests of `images`, which outlives the call. Sets their keyring. Errors: as Inspect().
  kube::Async<std::vector<inspection::ImageRequest>> RequestsFor(Images& images);
  // Queues inspections whose results are needed later; does nothing unless CanPrefetch().
  kube::Async<> Prefetch(Images images);
  bool CanPrefetch() const;
  // To be called when the pod is deleted.
  void Forget(const kube::ObjectKey& pod);

 private:
  PodInspector(InspectionQueue& queue, PullSecrets& secrets, NodeImages* nodes,
               InspectionMetrics& metrics, kube::Clock& clock, PodInspectorOptions options)
      : queue_(queue),
        secrets_(secrets),
        nodes_(nodes),
        metrics_(metrics),
        clock_(clock),
        options_(options),
        memory_(options.memory),
        readers_(options.readers) {}

  struct Wanted {
    inspection::ImageRequest request;
    bool never_pull = false;
  };
  // `images` outlives the call.
  kube::Async<std::vector<Wanted>> WantedFor(Images& images);
  using Known = std::optional<kube::Result<inspection::Inspected>>;
  // The image, with what was found out about it.
  placement::JudgedImage Judge(const std::string& ns, const Wanted& wanted,
                               inspection::Inspected& image);
  // What is known of an image; nullopt: not yet. Sets `from_nodes` if nodes decided.
  Known Find(const kube::ObjectKey& pod, const Wanted& wanted, bool last_attempt, bool& from_nodes);
  // `wait`: as in NodeImages. `otherwise`: if no node has the image, or nodes are not asked.
  Known FindOnNodes(const kube::ObjectKey& pod, const std::string& image, bool wait,
                    const kube::Error& otherwise);

  InspectionQueue& queue_;
  PullSecrets& secrets_;
  NodeImages* nodes_;                        // may be nullptr
  const ImageFindings* findings_ = nullptr;  // may be nullptr
  InspectionMetrics& metrics_;
  kube::Clock& clock_;
  PodInspectorOptions options_;
  kube::FairShare memory_;
  kube::FairShare readers_;
  size_t prefetching_ = 0;
};

}  // namespace cluster_controller
