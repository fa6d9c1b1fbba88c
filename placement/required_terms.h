// SPDX-License-Identifier: Apache-2.0
// RequiredTerms: which required terms of a pod have got a requirement, for the second inspection of
// a pod that awaited the gates of other controllers (narrowing.h). A term of the author, with an
// architecture of its own, may look the same, and stays as it is (I5).
//
// The record is an annotation with the positions of the terms ("0,2-4"). It can name them because
// the API server lets no term of a gated pod be added, removed or moved. Only a pod that also has
// terms that got no requirement has a record.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "kube/types/core.pb.h"

namespace placement {

class RequiredTerms {
 public:
  // To be called before ApplyRequirement(): records the terms that will get a requirement. There is
  // no record if the annotations of the pod are full.
  static void Record(kube::core::Pod& pod);

  // Reads the record, which a user can write as well. Without one, every term counts; of one that
  // is not valid, what is before the error.
  static RequiredTerms Of(const kube::core::Pod& pod);

  bool Has(int term) const;

 private:
  bool all_ = false;
  // First and last of each range, ascending.
  std::vector<std::pair<int, int>> ranges_;
};

}  // namespace placement
