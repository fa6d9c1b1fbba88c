// SPDX-License-Identifier: Apache-2.0
// ImageFinding: an image does not run on an architecture that its index names. An object in the
// operator's namespace: the cluster controller creates it, and places pods by it. An administrator
// may delete it, or set `ignored`: then it is kept, and pods are placed as if it were not there.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "kube/base/error.h"
#include "kube/types/meta.pb.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace exec_format {

// Of the texts; longer ones are cut.
inline constexpr size_t kMaxFindingText = 512;

class ImageFinding {
 public:
  // Never fails: a field that is absent or of another type is "".
  static kube::Result<ImageFinding> FromJson(kube::Json object);
  kube::Json ToJson() const;

  const kube::meta::ObjectMeta& metadata() const { return metadata_; }
  kube::meta::ObjectMeta* mutable_metadata() { return &metadata_; }

  // The spec: what counts.
  std::string digest;        // of the index
  std::string architecture;  // of linux
  std::string ns;            // it counts for the pods of this namespace; "": for all
  bool ignored = false;      // an administrator's
  // 0: the image does not run there. 2 to 4, of amd64: only on nodes of this level of x86-64.
  int amd64_level = 0;

  // The evidence.
  std::string image;         // the name that the digest had
  std::string path;          // of the file that was executed, or read
  std::string machine;       // for which the file is built; "": it was not read
  std::string node;          // where it failed; "": nowhere yet
  std::string of_namespace;  // whose pod it was
  // When it was found last; the epoch if the object does not tell.
  std::chrono::sys_seconds seen{};

 private:
  kube::meta::ObjectMeta metadata_;
};

// The name of the object: "arm64-0123456789abcdef0123".
std::string FindingName(std::string_view digest, std::string_view architecture,
                        std::string_view ns);

// "the program /app is built for arm64", "the program /app needs x86-64-v3". On one line: the texts
// are of tenants.
std::string Describe(const ImageFinding& finding);

}  // namespace exec_format

template <>
struct kube::ResourceOf<exec_format::ImageFinding> {
  static constexpr Resource value{"multiarch.openshift.io", "v1alpha1", "imagefindings",
                                  "ImageFinding"};
};
