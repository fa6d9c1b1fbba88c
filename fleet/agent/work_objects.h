// SPDX-License-Identifier: Apache-2.0
// What a PodPlacementWork asks this cluster to apply, and what has to be done for each object.
// Pure.
//
// The hub is untrusted: whatever it writes, an object here is a ClusterPodPlacementConfig or a
// PodPlacementConfig, and of its metadata only name, namespace, labels and annotations are used.
// An applied object carries the label kWorkUidLabel with the work's uid: only such an object is
// ever changed or deleted, unless the work adopts.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/api/pod_placement_work.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace fleet {

// Marks of an applied object: the uid of its work; for people, the work's name on the hub. A third
// is kWorkHashAnnotation, by which an object of an older hash is applied again.
inline constexpr std::string_view kWorkUidLabel = "fleet.multiarch.openshift.io/work-uid";
inline constexpr std::string_view kWorkAnnotation = "fleet.multiarch.openshift.io/work";
inline constexpr std::string_view kAgentFieldManager = "multiarch-fleet-agent";

// The only kinds that are applied, the ClusterPodPlacementConfig first.
const std::vector<kube::Resource>& AppliedKinds();

// Why a work has not succeeded. A reason is one word for programs, below.
struct WorkProblem {
  std::string reason;
  std::string message;
  bool failed = true;  // false: it is expected to pass by itself (Progressing)

  bool operator==(const WorkProblem&) const = default;
};
inline constexpr std::string_view kInvalidWork = "InvalidWork";
inline constexpr std::string_view kKindNotAllowed = "KindNotAllowed";
inline constexpr std::string_view kForeignObject = "Conflict";
inline constexpr std::string_view kApplyFailed = "ApplyFailed";
inline constexpr std::string_view kNotStored = "NotStored";
inline constexpr std::string_view kNamespaceNotFound = "NamespaceNotFound";
inline constexpr std::string_view kOperatorNotInstalled = "OperatorNotInstalled";
inline constexpr std::string_view kNotAvailable = "Progressing";
inline constexpr std::string_view kMemberUnavailable = "MemberUnavailable";
inline constexpr std::string_view kDeleting = "Deleting";

struct WorkObject {
  kube::Resource resource;
  kube::ObjectKey key;
  kube::Json json;  // complete, with the marks

  // "PodPlacementConfig ns/web"
  std::string Name() const { return std::string(resource.kind) + " " + key.ToString(); }
};

struct WorkObjects {
  std::vector<WorkObject> objects;  // empty if there is a problem
  std::optional<WorkProblem> problem;
};
WorkObjects ObjectsOf(const PodPlacementWork& work);

enum class WorkAction {
  kNothing,   // stored as wanted
  kCreate,    // does not exist: apply without force, so that an object created meanwhile is safe
  kApply,     // owned, but different; or taken over
  kConflict,  // belongs to another work or to none: never written
};
// `stored`: the object in the cluster, or null. `works`: the uids of all works of this cluster. An
// object whose work is not among them was applied by this agent for a work that is gone, as when
// the hub was restored from a backup: the new work takes it over.
WorkAction ActionFor(const WorkObject& object, const kube::Json* stored,
                     const PodPlacementWork& work, const std::set<std::string>& works);

// Why `object` conflicts with the `stored` one, and which work the stored one belongs to.
std::string ConflictMessage(const WorkObject& object, const kube::Json& stored);

// True if `stored` has every value of `wanted`; it may have more fields. A null or an empty object
// counts as absent. Lists must be equal in length.
bool Contains(const kube::Json& stored, const kube::Json& wanted);

// The availability of an object that is stored as wanted: nullopt if the cluster's operator reports
// it as Available, for the object's generation.
std::optional<WorkProblem> AvailabilityProblem(const WorkObject& object, const kube::Json& stored);

// The uid of the work that applied `stored`; "" if none did.
std::string WorkUidOf(const kube::Json& stored);

// The answer to the hub, from the previous one: conditions keep their transition time, and an equal
// answer need not be written. `problems` empty: succeeded. The first failure decides, else the
// first problem.
PodPlacementWorkStatus AnswerOf(const PodPlacementWork& work, int64_t generation,
                                const std::vector<WorkProblem>& problems, kube::WallTime now);

}  // namespace fleet
