// SPDX-License-Identifier: Apache-2.0
// RbacAudit: compares the requests of the operator's programs, from the audit log of an API server,
// with the rights of their roles.
//
//   RbacAudit audit("ops");
//   audit.AddRole(role);        // every version of every role
//   audit.AddBinding(binding);  // and of every binding
//   audit.AddRequest(event);    // every line of the audit log
//   audit.Missing();   // {"pod-placement-controller: list nodes, 3 times, such as /"}
//   audit.Unused({});  // {"pod-placement-controller: watch secrets, by ClusterRole x"}
//
// Includes the ServiceAccounts of the operator's namespace and those of shards in all namespaces;
// all shards count as one.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "kube/types/unstructured.h"

namespace e2e {

using kube::Json;

// A right that a program needs although no request in the audit log uses it.
struct UnusedRight {
  // As in Unused(): "multiarch-tuning-operator: update secrets".
  std::string right;
  std::string why;
};

class RbacAudit {
 public:
  explicit RbacAudit(std::string operator_namespace)
      : operator_namespace_(std::move(operator_namespace)) {}

  // A Role or ClusterRole. The rights of all its versions count.
  void AddRole(const Json& role);
  // A RoleBinding or ClusterRoleBinding.
  void AddBinding(const Json& binding);
  // An Event of audit.k8s.io/v1. Ignored unless its user is one of the ServiceAccounts above.
  void AddRequest(const Json& event);

  // Everything that was added. Merge() adds it to an audit of the same operator's namespace, such
  // as one of another API server.
  Json ToJson() const;
  void Merge(const Json& audit);

  // Requests that no role allows. A refused request that a role allows is ignored: it was sent
  // before the role was created or after it was deleted.
  std::vector<std::string> Missing() const;
  // Rights of roles that no request used, without `expected`. A request uses the narrowest right
  // that allows it: in one namespace before all namespaces, with names before all names. A watch
  // also uses the right to list, because it starts with a list if the API server does not stream
  // lists. The operator must have every right that it writes into a Role, so these rights count as
  // used.
  std::vector<std::string> Unused(const std::vector<UnusedRight>& expected) const;

  size_t requests() const { return count_; }
  // The ServiceAccounts with at least one request.
  std::set<std::string> users() const;

 private:
  // A verb on a resource, limited to `name` unless that is empty.
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
