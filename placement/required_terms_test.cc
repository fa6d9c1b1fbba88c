// SPDX-License-Identifier: Apache-2.0
#include "placement/required_terms.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "api/names.h"
#include "kube/testing/make_pod.h"
#include "placement/pod_metadata.h"

namespace placement {
namespace {

using kube::MakePod;
using kube::core::Pod;

// Of each character one term: "z" is on a zone, "a" on the architecture, "0" has no expression.
Pod PodOf(const std::string& terms) {
  MakePod make("web");
  for (char term : terms) {
    if (term == 'a') {
      make.Requires(api::kArchLabel, "In", {"arm64"});
    } else {
      make.Requires("zone", "In", {"a"});
    }
  }
  Pod pod = make;
  for (size_t i = 0; i < terms.size(); ++i) {
    if (terms[i] != '0') continue;
    pod.mutable_spec()
        ->mutable_affinity()
        ->mutable_node_affinity()
        ->mutable_required_during_scheduling_ignored_during_execution()
        ->mutable_node_selector_terms(static_cast<int>(i))
        ->clear_match_expressions();
  }
  return pod;
}

bool HasRecord(const Pod& pod) {
  return pod.metadata().annotations().contains(std::string(api::kRequiredTermsAnnotation));
}

// As many characters as `terms` has: "x" for each that counts, "-" for the others.
std::string Counted(const Pod& pod, size_t terms) {
  RequiredTerms required = RequiredTerms::Of(pod);
  std::string text;
  for (size_t i = 0; i < terms; ++i) text += required.Has(static_cast<int>(i)) ? 'x' : '-';
  return text;
}

TEST(RequiredTermsTest, AreRecordedIfNotAllGetARequirement) {
  struct Row {
    const char* terms;
    const char* record;
    const char* counted;
  };
  const Row rows[] = {
      {"za", "0", "x-"},
      {"az", "1", "-x"},
      {"z0", "0", "x-"},
      {"zaz", "0,2", "x-x"},
      {"azz", "1-2", "-xx"},
      {"zzzaz", "0-2,4", "xxx-x"},
      {"azzazzza", "1-2,4-6", "-xx-xxx-"},
      {"", "", ""},
      {"z", "", "x"},
      {"zzz", "", "xxx"},
  };
  for (const Row& row : rows) {
    for (const char* forged : {"", "7", "nothing"}) {
      Pod pod = PodOf(row.terms);
      if (*forged != 0) SetAnnotation(pod, api::kRequiredTermsAnnotation, forged);
      RequiredTerms::Record(pod);
      EXPECT_EQ(AnnotationOf(pod, api::kRequiredTermsAnnotation), row.record) << row.terms;
      EXPECT_EQ(HasRecord(pod), *row.record != 0) << row.terms;
      EXPECT_EQ(Counted(pod, std::string(row.terms).size()), row.counted) << row.terms;
    }
  }
}

// A user can write the record: what cannot be read is not this operator's.
TEST(RequiredTermsTest, AnInvalidRecordCountsUpToItsError) {
  struct Row {
    const char* record;
    const char* counted;
  };
  const Row rows[] = {
      {"", "------"},
      {"x", "------"},
      {"-1", "------"},
      {"1-", "------"},
      {"2-1", "------"},
      {"1,x", "-x----"},
      {"1,,3", "-x----"},
      {"3,1", "---x--"},
      {"1-2-3", "-xx---"},
      {"1 ,3", "-x----"},
      {"1-2147483647", "-xxxxx"},
      {"99999999999", "------"},
      {"0,1,2,3", "xxxx--"},
  };
  for (const Row& row : rows) {
    Pod pod = MakePod("web").Annotation(api::kRequiredTermsAnnotation, row.record);
    EXPECT_EQ(Counted(pod, 6), row.counted) << row.record;
  }
  Pod largest = MakePod("web").Annotation(api::kRequiredTermsAnnotation, "0-2147483647");
  EXPECT_TRUE(RequiredTerms::Of(largest).Has(std::numeric_limits<int>::max()));
}

TEST(RequiredTermsTest, WithFullAnnotationsThereIsNoRecord) {
  Pod pod = PodOf("za");
  SetAnnotation(pod, api::kRequiredTermsAnnotation, "");
  SetAnnotation(pod, "note",
                std::string(256 * 1024 - 4 - api::kRequiredTermsAnnotation.size(), 'x'));
  RequiredTerms::Record(pod);
  EXPECT_FALSE(HasRecord(pod));
  EXPECT_TRUE(pod.metadata().annotations().contains("note"));
}

}  // namespace
}  // namespace placement
