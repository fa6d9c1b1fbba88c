// SPDX-License-Identifier: Apache-2.0
#include "plugin/images/known_images.h"

#include <utility>

#include "image-facts/fact_scope.h"
#include "inspection/base/reference.h"
#include "placement/images.h"

namespace plugin {

std::optional<KnownImages::Fact> KnownImages::Find(const std::string& image,
                                                   const kube::core::Pod& pod) const {
  auto reference = inspection::Reference::Parse(image);
  if (!reference) return std::nullopt;
  const std::string name = reference->ToString();
  const std::string& account = pod.spec().service_account_name();
  std::optional<std::string> own_scope =
      image_facts::ScopeOf(pod.metadata().namespace_(), account.empty() ? "default" : account,
                           placement::PullSecretsOf(pod));
  std::vector<uint64_t> hashes = {image_facts::HashOf(name),
                                  image_facts::HashOf(name, image_facts::kWholeCluster)};
  if (own_scope) hashes.push_back(image_facts::HashOf(name, *own_scope));
  std::optional<Fact> newest;
  for (const image_facts::FactIndex& object : objects_) {
    for (uint64_t hash : hashes) {
      std::optional<Fact> fact = object.Find(hash);
      if (fact && (!newest || fact->read > newest->read)) newest = std::move(fact);
    }
  }
  return newest;
}

void KnownImages::Add(exec_format::ImageFinding finding) {
  auto reference = inspection::Reference::Parse(finding.image);
  if (finding.ignored || !reference) return;
  finding.image = reference->ToString();
  findings_.push_back(std::move(finding));
}

void KnownImages::Judge(PodImage& image, const std::string& ns) const {
  auto reference = inspection::Reference::Parse(image.image);
  if (!reference) return;
  const std::string name = reference->ToString();
  for (const exec_format::ImageFinding& finding : findings_) {
    if (finding.image != name || !(finding.ns.empty() || finding.ns == ns)) continue;
    const bool is_wrong = finding.amd64_level == 0;
    if (is_wrong && !image.wrong.insert(finding.architecture).second) continue;
    if (!image.finding.empty()) image.finding += "; ";
    image.finding += (is_wrong ? "not on " : "on ") + finding.architecture + ": " +
                     exec_format::Describe(finding);
  }
}

}  // namespace plugin
