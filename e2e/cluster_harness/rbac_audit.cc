// SPDX-License-Identifier: Apache-2.0
#include "e2e/cluster_harness/rbac_audit.h"

#include <algorithm>
#include <utility>

#include "kube/types/list_at.h"

namespace e2e {
namespace {

// Scopes other than the name of a namespace.
constexpr const char* kOwn = "(its own)";
constexpr const char* kEverywhere = "(everywhere)";

constexpr std::string_view kOperator = "multiarch-tuning-operator";
constexpr std::string_view kShard = "pod-placement-shard-controller";
constexpr std::string_view kShardWebhook = "pod-placement-shard-web-hook";
constexpr std::string_view kServiceAccountPrefix = "system:serviceaccount:";

std::vector<std::string> StringsAt(const Json& object, const char* key) {
  std::vector<std::string> strings;
  if (!object.contains(key)) return strings;
  for (const Json& value : object[key]) strings.push_back(value.get<std::string>());
  return strings;
}

}  // namespace

std::string RbacAudit::UserOf(const std::string& ns, const std::string& name) const {
  bool included = ns == operator_namespace_ || name == kShard || name == kShardWebhook;
  return included ? name : "";
}

std::string RbacAudit::ScopeOf(const std::string& user_ns, const std::string& ns) const {
  return ns == user_ns && ns != operator_namespace_ ? kOwn : ns;
}

void RbacAudit::AddRole(const Json& role) {
  RoleKey key(kube::StringAt(role, "kind"), kube::StringAt(role, "metadata.namespace"),
              kube::StringAt(role, "metadata.name"));
  for (const Json& rule : kube::ListAt(role, "rules")) {
    std::vector<std::string> names = StringsAt(rule, "resourceNames");
    if (names.empty()) names.emplace_back();
    for (const std::string& group : StringsAt(rule, "apiGroups")) {
      for (const std::string& resource : StringsAt(rule, "resources")) {
        for (const std::string& verb : StringsAt(rule, "verbs")) {
          for (const std::string& name : names) roles_[key].insert({group, resource, verb, name});
        }
      }
    }
  }
}

void RbacAudit::AddBinding(const Json& binding) {
  std::string ns = kube::StringAt(binding, "metadata.namespace");
  for (const Json& subject : kube::ListAt(binding, "subjects")) {
    if (kube::StringAt(subject, "kind") != "ServiceAccount") continue;
    std::string user_ns = kube::StringAt(subject, "namespace");
    std::string user = UserOf(user_ns, kube::StringAt(subject, "name"));
    if (user.empty()) continue;
    std::string kind = kube::StringAt(binding, "roleRef.kind");
    RoleKey role(kind, kind == "ClusterRole" ? "" : ns, kube::StringAt(binding, "roleRef.name"));
    bool cluster = kube::StringAt(binding, "kind") == "ClusterRoleBinding";
    bindings_.insert({user, cluster ? kEverywhere : ScopeOf(user_ns, ns), std::move(role)});
  }
}

void RbacAudit::AddRequest(const Json& event) {
  std::string user_name = kube::StringAt(event, "user.username");
  const Json* object = kube::Find(event, "objectRef");
  if (!user_name.starts_with(kServiceAccountPrefix) || object == nullptr) return;
  user_name = user_name.substr(kServiceAccountPrefix.size());
  size_t colon = user_name.find(':');
  if (colon == std::string::npos) return;
  std::string user_ns = user_name.substr(0, colon);
  std::string user = UserOf(user_ns, user_name.substr(colon + 1));
  if (user.empty()) return;

  ++count_;
  Request request{.user = std::move(user), .scope = kube::StringAt(*object, "namespace")};
  request.scope = ScopeOf(user_ns, request.scope);
  request.right = {.group = kube::StringAt(*object, "apiGroup"),
                   .resource = kube::StringAt(*object, "resource"),
                   .verb = kube::StringAt(event, "verb"),
                   .name = kube::StringAt(*object, "name")};
  // Every user may read their own rights: ClusterRole system:basic-user.
  if (request.right.resource == "selfsubjectaccessreviews") return;
  std::string subresource = kube::StringAt(*object, "subresource");
  if (!subresource.empty()) request.right.resource += "/" + subresource;
  // A create request has no name for the authorizer; a patch that creates needs both rights.
  bool created = request.right.verb == "patch" && kube::IntAt(event, "responseStatus.code") == 201;
  if (created) ++requests_[request];
  if (created) request.right.verb = "create";
  if (request.right.verb == "create") request.right.name.clear();
  if (request.right.verb == "watch") {
    Request list = request;
    list.right.verb = "list";
    ++requests_[std::move(list)];
  }
  ++requests_[std::move(request)];
}

Json RbacAudit::ToJson() const {
  Json roles = Json::array();
  for (const auto& [key, rights] : roles_) {
    const auto& [kind, ns, name] = key;
    for (const Right& right : rights)
      roles.push_back({kind, ns, name, right.group, right.resource, right.verb, right.name});
  }
  Json bindings = Json::array();
  for (const auto& [user, scope, role] : bindings_) {
    const auto& [kind, ns, name] = role;
    bindings.push_back({user, scope, kind, ns, name});
  }
  Json requests = Json::array();
  for (const auto& [request, count] : requests_) {
    const Right& right = request.right;
    requests.push_back(
        {request.user, request.scope, right.group, right.resource, right.verb, right.name, count});
  }
  return {{"roles", std::move(roles)},
          {"bindings", std::move(bindings)},
          {"requests", std::move(requests)},
          {"count", count_}};
}

void RbacAudit::Merge(const Json& audit) {
  auto text = [](const Json& row, size_t column) { return row.at(column).get<std::string>(); };
  for (const Json& row : audit.at("roles")) {
    RoleKey key(text(row, 0), text(row, 1), text(row, 2));
    roles_[key].insert(Right{text(row, 3), text(row, 4), text(row, 5), text(row, 6)});
  }
  for (const Json& row : audit.at("bindings")) {
    RoleKey role(text(row, 2), text(row, 3), text(row, 4));
    bindings_.emplace(text(row, 0), text(row, 1), std::move(role));
  }
  for (const Json& row : audit.at("requests")) {
    Right right{text(row, 2), text(row, 3), text(row, 4), text(row, 5)};
    requests_[Request{text(row, 0), text(row, 1), std::move(right)}] += row.at(6).get<int>();
  }
  count_ += audit.at("count").get<size_t>();
}

std::set<RbacAudit::Grant> RbacAudit::Grants() const {
  std::set<Grant> grants;
  for (const auto& [user, scope, key] : bindings_) {
    auto role = roles_.find(key);
    if (role == roles_.end()) continue;
    const auto& [kind, ns, name] = key;
    for (const Right& right : role->second) grants.insert({user, scope, right, kind + " " + name});
  }
  return grants;
}

bool RbacAudit::Allows(const Grant& grant, const Request& request) {
  auto matches = [](const std::string& allowed, const std::string& wanted) {
    return allowed == "*" || allowed == wanted;
  };
  const Right& right = grant.right;
  return grant.user == request.user &&
         (grant.scope == kEverywhere || grant.scope == request.scope) &&
         matches(right.group, request.right.group) &&
         matches(right.resource, request.right.resource) &&
         matches(right.verb, request.right.verb) &&
         (right.name.empty() || right.name == request.right.name);
}

std::string RbacAudit::Describe(const std::string& user, const Right& right) {
  std::string text = user + ": " + right.verb + " " + right.resource;
  if (!right.group.empty()) text += "." + right.group;
  if (!right.name.empty()) text += " " + right.name;
  return text;
}

std::vector<std::string> RbacAudit::Missing() const {
  std::set<Grant> grants = Grants();
  // By right and kind of scope, with the first name and namespace as the example.
  std::map<std::string, std::pair<int, std::string>> missing;
  for (const auto& [request, count] : requests_) {
    bool allowed =
        std::any_of(grants.begin(), grants.end(),
                    [&request = request](const Grant& grant) { return Allows(grant, request); });
    if (allowed) continue;
    Right right = request.right;
    right.name.clear();
    bool known =
        request.scope.empty() || request.scope == kOwn || request.scope == operator_namespace_;
    std::string line = Describe(request.user, right);
    if (!request.scope.empty()) line += " in namespace " + (known ? request.scope : "(another)");
    auto& [times, example] = missing[line];
    times += count;
    if (example.empty()) example = request.scope + "/" + request.right.name;
  }
  std::vector<std::string> lines;
  for (const auto& [line, found] : missing) {
    lines.push_back(line + ", " + std::to_string(found.first) + " times, such as " + found.second);
  }
  return lines;
}

std::vector<std::string> RbacAudit::Unused(const std::vector<UnusedRight>& expected) const {
  std::set<Grant> grants = Grants();
  std::set<Grant> used;
  auto use = [&](const Request& request) {
    auto breadth = [](const Grant& grant) {
      return (grant.scope == kEverywhere ? 2 : 0) + (grant.right.name.empty() ? 1 : 0);
    };
    int narrowest = 4;
    for (const Grant& grant : grants) {
      if (Allows(grant, request)) narrowest = std::min(narrowest, breadth(grant));
    }
    for (const Grant& grant : grants) {
      if (Allows(grant, request) && breadth(grant) == narrowest) used.insert(grant);
    }
  };
  std::set<std::string> given;
  for (const auto& [request, count] : requests_) {
    use(request);
    if (request.user == kOperator && request.right.resource == "roles" &&
        request.right.verb == "patch") {
      given.insert("Role " + request.right.name);
    }
  }
  for (const Grant& grant : grants) {
    if (!given.contains(grant.role)) continue;
    use({std::string(kOperator), grant.scope == kOwn ? "(a shard's)" : grant.scope, grant.right});
  }

  std::vector<std::string> lines;
  for (const Grant& grant : grants) {
    std::string right = Describe(grant.user, grant.right);
    bool known = std::any_of(expected.begin(), expected.end(),
                             [&](const UnusedRight& one) { return one.right == right; });
    if (!used.contains(grant) && !known) lines.push_back(right + ", by " + grant.role);
  }
  return lines;
}

std::set<std::string> RbacAudit::users() const {
  std::set<std::string> users;
  for (const auto& [request, count] : requests_) users.insert(request.user);
  return users;
}

}  // namespace e2e
