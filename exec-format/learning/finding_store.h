// SPDX-License-Identifier: Apache-2.0
// FindingStore: the ImageFindings in the operator's namespace. They are in force while the store is
// switched on (cluster-controller/findings/image_findings.h), as soon as the architectures of nodes
// are known; what has expired, and all while it is off, is deleted. Objects that an administrator
// ignores are left alone. Thread: the client's.
#pragma once

#include <string>

#include "cluster-controller/findings/image_findings.h"
#include "exec-format/findings/image_finding.h"
#include "exec-format/learning/learning_metrics.h"
#include "kube/base/alarm.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/notifier.h"
#include "kube/base/task_group.h"
#include "kube/cache/informer.h"
#include "kube/client/client.h"
#include "kube/client/metadata_lists.h"

namespace exec_format {

class FindingStore {
 public:
  // `ns`: the operator's namespace. The references outlive it.
  FindingStore(std::string ns, kube::Client& client, kube::Clock& clock,
               cluster_controller::ImageFindings& in_force, LearningMetrics& metrics);

  void Start(kube::TaskGroup& tasks);
  // `owner`: the UID of the ClusterPodPlacementConfig, with which new objects are deleted. Before
  // the first call, nothing is in force, and nothing is deleted.
  void Switch(bool on, const std::string& owner);

  // Creates the object, or says in it that it was found again; its name is set. Others may be
  // deleted to make room (findings/finding_limits.h).
  // Returns: whether it is new. Errors: the API server's; kUnavailable before the first list.
  kube::Async<bool> Save(ImageFinding finding);

 private:
  kube::asio::awaitable<void> Run();
  // Deletes what is not to be kept. Errors: the first one, after all others were deleted.
  kube::Async<> Tidy();
  // Reads the architectures of all nodes. Errors: the API server's.
  kube::Async<> ReadNodes();
  kube::Async<> Remove(std::string name);
  // Puts the object into force, or takes it out.
  void Apply(const ImageFinding& finding);
  void ApplyAll();

  std::string ns_;
  kube::Client& client_;
  kube::MetadataLists metadata_;
  kube::Clock& clock_;
  cluster_controller::ImageFindings& in_force_;
  LearningMetrics& metrics_;
  kube::Informer<ImageFinding> objects_;
  bool is_switched_ = false;  // on or off
  bool is_on_ = false;
  // Before, a pod could be placed where no node is.
  bool knows_nodes_ = false;
  std::string owner_;
  kube::Notifier changed_;
  kube::Alarm due_;
};

}  // namespace exec_format
