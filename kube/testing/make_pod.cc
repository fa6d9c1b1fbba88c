// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/make_pod.h"

namespace kube {
namespace {

void FillExpression(core::NodeSelectorRequirement& expression, std::string_view key,
                    std::string_view op, std::initializer_list<std::string_view> values) {
  expression.set_key(std::string(key));
  expression.set_operator_(std::string(op));
  for (std::string_view value : values) expression.add_values(std::string(value));
}

void FillContainer(core::Container& container, std::string name, std::string_view image,
                   std::string_view pull_policy) {
  container.set_name(std::move(name));
  container.set_image(std::string(image));
  if (!pull_policy.empty()) container.set_image_pull_policy(std::string(pull_policy));
}

}  // namespace

MakePod::MakePod(std::string_view name) {
  pod_.mutable_metadata()->set_name(std::string(name));
  pod_.mutable_metadata()->set_namespace_("ns");
  pod_.mutable_spec();
  pod_.mutable_status()->set_phase("Pending");
}

MakePod& MakePod::Namespace(std::string_view ns) {
  pod_.mutable_metadata()->set_namespace_(std::string(ns));
  return *this;
}

MakePod& MakePod::Uid(std::string_view uid) {
  pod_.mutable_metadata()->set_uid(std::string(uid));
  return *this;
}

MakePod& MakePod::ResourceVersion(std::string_view version) {
  pod_.mutable_metadata()->set_resource_version(std::string(version));
  return *this;
}

MakePod& MakePod::Label(std::string_view key, std::string_view value) {
  (*pod_.mutable_metadata()->mutable_labels())[std::string(key)] = std::string(value);
  return *this;
}

MakePod& MakePod::Annotation(std::string_view key, std::string_view value) {
  (*pod_.mutable_metadata()->mutable_annotations())[std::string(key)] = std::string(value);
  return *this;
}

MakePod& MakePod::Finalizer(std::string_view name) {
  pod_.mutable_metadata()->add_finalizers(std::string(name));
  return *this;
}

MakePod& MakePod::Owner(std::string_view api_version, std::string_view kind,
                        std::string_view name) {
  auto* owner = pod_.mutable_metadata()->add_owner_references();
  owner->set_api_version(std::string(api_version));
  owner->set_kind(std::string(kind));
  owner->set_name(std::string(name));
  owner->set_uid("uid-of-" + std::string(name));
  owner->set_controller(true);
  return *this;
}

MakePod& MakePod::Gate(std::string_view name) {
  pod_.mutable_spec()->add_scheduling_gates()->set_name(std::string(name));
  return *this;
}

MakePod& MakePod::Image(std::string_view image, std::string_view pull_policy) {
  auto* spec = pod_.mutable_spec();
  std::string name = "c" + std::to_string(spec->containers_size());
  FillContainer(*spec->add_containers(), std::move(name), image, pull_policy);
  return *this;
}

MakePod& MakePod::InitImage(std::string_view image, std::string_view pull_policy) {
  auto* spec = pod_.mutable_spec();
  std::string name = "i" + std::to_string(spec->init_containers_size());
  FillContainer(*spec->add_init_containers(), std::move(name), image, pull_policy);
  return *this;
}

MakePod& MakePod::PullSecret(std::string_view name) {
  pod_.mutable_spec()->add_image_pull_secrets()->set_name(std::string(name));
  return *this;
}

MakePod& MakePod::ServiceAccount(std::string_view name) {
  pod_.mutable_spec()->set_service_account_name(std::string(name));
  return *this;
}

MakePod& MakePod::NodeSelector(std::string_view key, std::string_view value) {
  (*pod_.mutable_spec()->mutable_node_selector())[std::string(key)] = std::string(value);
  return *this;
}

MakePod& MakePod::Os(std::string_view name) {
  pod_.mutable_spec()->mutable_os()->set_name(std::string(name));
  return *this;
}

MakePod& MakePod::Node(std::string_view name) {
  pod_.mutable_spec()->set_node_name(std::string(name));
  return *this;
}

MakePod& MakePod::Phase(std::string_view phase) {
  pod_.mutable_status()->set_phase(std::string(phase));
  return *this;
}

MakePod& MakePod::Requires(std::string_view key, std::string_view op,
                           std::initializer_list<std::string_view> values) {
  auto* required = pod_.mutable_spec()
                       ->mutable_affinity()
                       ->mutable_node_affinity()
                       ->mutable_required_during_scheduling_ignored_during_execution();
  FillExpression(*required->add_node_selector_terms()->add_match_expressions(), key, op, values);
  return *this;
}

MakePod& MakePod::Prefers(int weight, std::string_view key,
                          std::initializer_list<std::string_view> values) {
  auto* preferred = pod_.mutable_spec()
                        ->mutable_affinity()
                        ->mutable_node_affinity()
                        ->add_preferred_during_scheduling_ignored_during_execution();
  preferred->set_weight(weight);
  FillExpression(*preferred->mutable_preference()->add_match_expressions(), key, "In", values);
  return *this;
}

}  // namespace kube
