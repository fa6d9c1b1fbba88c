// SPDX-License-Identifier: Apache-2.0
// RbacAudit: compares what our programs asked of an API server, by its audit log, with what our
// roles allow.
//
//   RbacAudit audit("ops");
//   audit.AddRole(role); audit.AddBinding(binding);        // every version of them that there ever
//   was audit.AddRequest(event);                               // every line of the audit log for
//   (const std::string& line : audit.Missing()) ...    // "pod-placement-controller: list nodes, 3
//   times, such as /" for (const std::string& line : audit.Unused({})) ...   //
//   "pod-placement-controller: watch secrets, by ClusterRole x"
//
// Ours are the ServiceAccounts of the operator's namespace, and those of shards in any other; all
// shards count as one.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "kube/types/unstructured.h"

namespace e2e {

using kube::Json;

// A right that a program needs although no request shows it where the audit log was written.
struct UnusedRight {
  // As Unused() says it: "multiarch-tuning-operator: create prometheusrules.monitoring.coreos.com".
  std::string right;
  std::string why;
};

class RbacAudit {
 public:
  explicit RbacAudit(std::string operator_namespace)
      : operator_namespace_(std::move(operator_namespace)) {}

  // A Role or ClusterRole. What it allowed at any time counts.
  void AddRole(const Json& role);
  // A RoleBinding or ClusterRoleBinding.
  void AddBinding(const Json& binding);
  // An Event of audit.k8s.io/v1; those that are not of ServiceAccounts of ours do not count.
  void AddRequest(const Json& event);

  // What was asked for and no role of ours allows. A request that was refused although a role
  // allows it does not count: it came before the role, or after it.
  std::vector<std::string> Missing() const;
  // What a role of ours allows and nobody asked for, but for `expected`. A request counts for the
  // narrowest right that allows it: in one namespace before everywhere, for names before all names.
  // A watch counts as a list too, as it begins with one where an API server does not stream the
  // first state. What the operator writes into a Role it must be allowed itself, so that counts as
  // asked for.
  std::vector<std::string> Unused(const std::vector<UnusedRight>& expected) const;

  size_t requests() const { return count_; }
  // The names of ServiceAccounts that made any.
  std::set<std::string> users() const;

 private:
  // What a rule allows: one verb on one resource, of one name if that is not empty.
  struct Right {
    std::string group;
    std::string resource;
    std::string verb;
    std::string name;
    auto operator<=>(const Right&) const = default;
  };
  // A right of a user: in a namespace, kOwn or kEverywhere.
  struct Grant {
    std::string user;
    std::string scope;
    Right right;
    std::string role;
    auto operator<=>(const Grant&) const = default;
  };
  struct Request {
    std::string user;
    // The namespace, kOwn or, for cluster-scoped objects and all namespaces, "".
    std::string scope;
    Right right;
    auto operator<=>(const Request&) const = default;
  };
  using RoleKey = std::tuple<std::string, std::string, std::string>;  // kind, namespace, name

  std::string UserOf(const std::string& ns, const std::string& name) const;
  std::string ScopeOf(const std::string& user_ns, const std::string& ns) const;
  std::set<Grant> Grants() const;
  static bool Allows(const Grant& grant, const Request& request);
  static std::string Describe(const std::string& user, const Right& right);

  std::string operator_namespace_;
  std::map<RoleKey, std::set<Right>> roles_;
  // User, scope and role.
  std::set<std::tuple<std::string, std::string, RoleKey>> bindings_;
  std::map<Request, int> requests_;
  size_t count_ = 0;
};

}  // namespace e2e
