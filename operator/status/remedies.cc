// SPDX-License-Identifier: Apache-2.0
#include "operator/status/remedies.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace operator_ {
namespace {

// Words of the API server's messages, in the order in which they are looked for.
constexpr std::array<std::pair<std::string_view, std::string_view>, 13> kWords = {{
    {"exceeded quota", "QuotaExceeded"},
    {"must specify limits", "QuotaExceeded"},
    {"must specify requests", "QuotaExceeded"},
    {"violates PodSecurity", "PodSecurity"},
    {"unable to validate against any security context constraint", "PodSecurity"},
    {"failed calling webhook", "AdmissionWebhookFailed"},
    {"failed to call webhook", "AdmissionWebhookFailed"},
    {"denied the request", "AdmissionDenied"},
    {"denied request", "AdmissionDenied"},
    {" is forbidden: User \"", "RightsMissing"},
    {"attempting to grant RBAC permissions not currently held", "RightsMissing"},
    {"usage per ", "LimitRange"},
    {"max limit to request ratio per ", "LimitRange"},
}};

constexpr std::string_view kImageRemedy =
    "check that the image exists for this architecture, that the nodes reach its registry, and "
    "that the namespace has the Secrets of the operator's --image-pull-secrets";
constexpr std::string_view kCrashRemedy = "read the log of the container: kubectl logs --previous";
constexpr std::string_view kDescribeRemedy =
    "kubectl describe shows the events of the Deployment's ReplicaSets and pods";

constexpr std::array<std::pair<std::string_view, std::string_view>, 25> kRemedies = {{
    {"QuotaExceeded",
     "raise the ResourceQuota: a shard needs two pods, and a third one during an upgrade"},
    {"LimitRange",
     "change the LimitRange: a container of a shard requests 10m CPU and 24Mi of memory, with "
     "limits of 500m and 64Mi, unless spec.operands.shard sets others"},
    {"PodSecurity",
     "all operands meet the standard \"restricted\", unless node files are mounted in the "
     "operator's namespace: admit that standard in the namespace"},
    {"AdmissionDenied",
     "exempt objects with the label app.kubernetes.io/managed-by=multiarch-tuning-operator from "
     "the webhook or policy that the message names"},
    {"AdmissionWebhookFailed",
     "repair the webhook that the message names, or set its failurePolicy to Ignore"},
    {"RightsMissing", "apply the operator's manifests again, they grant this right"},
    {"ImagePullBackOff", kImageRemedy},
    {"ErrImagePull", kImageRemedy},
    {"ErrImageNeverPull", kImageRemedy},
    {"InvalidImageName", "correct the image in the operator's flags"},
    {"CrashLoopBackOff", kCrashRemedy},
    {"RunContainerError", kCrashRemedy},
    {"CreateContainerError", kCrashRemedy},
    {"CreateContainerConfigError", "create the Secret or ConfigMap that the message names"},
    {"Unschedulable",
     "add a node of one of the operator's --operand-architectures with enough room, or remove the "
     "taint that the message names"},
    {"ProgressDeadlineExceeded", kDescribeRemedy},
    {"UpgradeTimeout",
     "check that no user changes the Deployments or deletes their pods in a loop"},
    {"WebhookUnreachable",
     "check that policies and firewalls let the API servers reach the pods of the Service, port "
     "9443; the log of the API server has the error (\"failed calling webhook\")"},
    {"MinimumReplicasUnavailable", "check the node of the pod; a new pod is created elsewhere"},
    {"InvalidReference", "correct the field or the object that it names"},
    {"InvalidSpec", "correct the fields that the message names"},
    {"TooLarge", "shorten the selectors and rules, or delete other PodPlacementConfigs"},
    {"RulesNotApplied", "correct or remove the rules that the message names"},
    {"GatingByPolicyNotSupported",
     "upgrade all API servers to Kubernetes 1.36, or set spec.gating to Webhook"},
    {"GatingByPolicyNotInForce",
     "enable the admission plugin MutatingAdmissionPolicy in all API servers, exempt the operator "
     "from what refuses the dry run of a Deployment, or set spec.gating to Webhook"},
}};

// All operands meet the strictest Pod Security Standard, so a refused one is a wrong template.
constexpr std::array<std::string_view, 11> kOfVersion = {
    "CrashLoopBackOff",  "CreateContainerConfigError", "CreateContainerError", "ErrImageNeverPull",
    "ErrImagePull",      "ImagePullBackOff",           "InvalidImageName",     "PodSecurity",
    "RunContainerError", "ProgressDeadlineExceeded",   "UpgradeTimeout"};

// The text between `before` and `after`; nullopt if either is missing.
std::optional<std::string> Between(const std::string& text, std::string_view before,
                                   std::string_view after) {
  size_t begin = text.find(before);
  if (begin == std::string::npos) return std::nullopt;
  begin += before.size();
  size_t end = text.find(after, begin);
  if (end == std::string::npos) return std::nullopt;
  return text.substr(begin, end - begin);
}

// From the API server's `roles.rbac.authorization.k8s.io "x" is forbidden: User "u" cannot patch
// resource "roles" in API group "rbac.authorization.k8s.io" in the namespace "shop"`: "the operator
// may not patch roles.rbac.authorization.k8s.io in namespace shop". "" for another text.
std::string MissingRight(const std::string& message) {
  std::optional<std::string> verb = Between(message, " cannot ", " resource \"");
  std::optional<std::string> resource = Between(message, " resource \"", "\"");
  if (!verb || !resource) return "";
  std::string text = "the operator may not " + *verb + " " + *resource;
  std::optional<std::string> group = Between(message, " in API group \"", "\"");
  if (group && !group->empty()) text += "." + *group;
  std::optional<std::string> ns = Between(message, " in the namespace \"", "\"");
  return text + (ns ? " in namespace " + *ns : " in the whole cluster");
}

}  // namespace

Problem Classify(Problem problem) {
  for (const auto& [words, reason] : kWords) {
    if (problem.message.find(words) == std::string::npos) continue;
    problem.reason = reason;
    break;
  }
  if (problem.reason != "RightsMissing") return problem;
  std::string right = MissingRight(problem.message);
  if (!right.empty()) problem.message = right + " (" + problem.message + ")";
  return problem;
}

std::string_view RemedyFor(std::string_view reason) {
  for (const auto& [known, remedy] : kRemedies) {
    if (known == reason) return remedy;
  }
  return kDescribeRemedy;
}

bool MayBeTheVersion(std::string_view reason) {
  return std::find(kOfVersion.begin(), kOfVersion.end(), reason) != kOfVersion.end();
}

std::string WithRemedy(const Problem& problem) {
  return problem.message + ". Remedy: " + std::string(RemedyFor(problem.reason));
}

}  // namespace operator_
