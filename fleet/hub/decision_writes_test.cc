// SPDX-License-Identifier: Apache-2.0
#include "fleet/hub/decision_writes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "fleet/api/names.h"
#include "fleet/api/placement_decision.h"

namespace fleet {
namespace {

using Kind = DecisionWrite::Kind;
using Stored = std::vector<StoredPage>;
using Wanted = std::vector<WantedPage>;

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

std::vector<Decision> Items(const std::string& text) {
  std::vector<Decision> items;
  for (const std::string& word : Split(text, ' ')) {
    if (!word.empty()) items.push_back({.cluster = word});
  }
  return items;
}

std::string Words(const std::vector<Decision>& items) {
  std::string text;
  for (const Decision& item : items) text += " " + item.cluster;
  return text;
}

// "a b|c": pages 1 and 2, of group 0. In front of a page, "!" hides it and "~" takes its owner.
Stored StoredPages(const std::string& text) {
  Stored pages;
  for (std::string part : Split(text, '|')) {
    StoredPage page{.name = DecisionName("p", pages.size() + 1), .group = GroupLabels{"0", ""}};
    if (part.starts_with('!')) page.visible = false;
    if (part.starts_with('~')) page.owned = false;
    if (!page.visible || !page.owned) part = part.substr(1);
    page.decisions = Items(part);
    pages.push_back(page);
  }
  return pages;
}

Wanted WantedPages(const std::string& text) {
  Wanted pages;
  for (const std::string& part : Split(text, '|'))
    pages.push_back({.group = {"0", ""}, .decisions = Items(part)});
  return pages;
}

std::string Describe(const std::vector<DecisionWrite>& writes) {
  std::string text;
  for (const DecisionWrite& write : writes) {
    std::string number = write.name.substr(std::string("p-decision-").size());
    if (!text.empty()) text += "; ";
    switch (write.kind) {
      case Kind::kCreate:
        text += "create " + number;
        break;
      case Kind::kLabels:
        text += "label " + number;
        break;
      case Kind::kDecisions:
        text += "set " + number + Words(write.decisions);
        break;
      case Kind::kDelete:
        text += "delete " + number;
        break;
    }
  }
  return text;
}

std::string Numbered(int from, int to) {
  std::string text;
  for (int i = from; i < to; ++i) text += "c" + std::to_string(i) + " ";
  return text;
}

TEST(DecisionWrites, AreOrdered) {
  struct Row {
    const char* what;
    std::string stored, wanted, writes;
  };
  const Row rows[] = {
      {"first result", "", "a b|c", "create 1; set 1 a b; create 2; set 2 c"},
      {"an empty result has one page", "", " ", "create 1"},
      {"nothing differs", "a b|c", "a b|c", ""},
      {"all are lost", "a b|c", " ", "set 1; delete 2"},
      {"one comes, one goes", "a b", "a c", "set 1 a c"},
      {"another order", "a b", "b a", "set 1 b a"},
      {"moves to a later page: that one first", "a b|c", "a|b c", "set 2 b c; set 1 a"},
      {"moves to a new page", "a b", "a|b", "create 2; set 2 b; set 1 a"},
      {"moves to an earlier page", "a|b c", "a b|c", "set 1 a b; set 2 c"},
      {"moves from a page that goes", "a|b", "a b", "set 1 a b; delete 2"},
      {"all pages shift", "a b|c d|e", "x a|b c|d e", "set 3 d e; set 2 b c; set 1 x a"},
      {"two change places", "a|b", "b|a", "set 1 b a; set 2 a; set 1 b"},
      {"three change places", "a|b|c", "c|a|b", "set 1 c a; set 3 b; set 2 a; set 1 c"},
      {"a cycle keeps no cluster that is lost", "a x|b", "b|a", "set 1 b a; set 2 a; set 1 b"},
      {"no owner", "~a|b", "a|b", "label 1"},
      {"hidden: its content first", "!a b", "b c", "set 1 b c; label 1"},
      {"hidden: it does not count", "a|!b", "b|a", "set 2 a; label 2; set 1 b"},
      {"more pages than wanted", "a|b|c", "a", "delete 2; delete 3"},
      {"full pages of which one gains", Numbered(0, 100) + "|" + Numbered(100, 199),
       "x " + Numbered(0, 99) + "|" + Numbered(99, 199),
       "set 2 " + Numbered(99, 199) + "; set 1 x " + Numbered(0, 99)},
      {"full pages that exchange one: it is copied",
       "a " + Numbered(0, 99) + "|b " + Numbered(100, 199),
       "b " + Numbered(0, 99) + "|a " + Numbered(100, 199),
       "create 3; set 3 a; set 1 b " + Numbered(0, 99) + "; set 2 a " + Numbered(100, 199) +
           "; delete 3"},
  };
  for (const Row& row : rows) {
    std::string writes =
        Describe(PlanDecisionWrites("p", StoredPages(row.stored), WantedPages(row.wanted)));
    auto spaces = [](char a, char b) { return a == ' ' && b == ' '; };
    auto normal = [&](std::string text) {
      for (size_t at; (at = text.find(" ;")) != std::string::npos;) text.erase(at, 1);
      text.erase(std::unique(text.begin(), text.end(), spaces), text.end());
      while (text.ends_with(' ')) text.pop_back();
      return text;
    };
    EXPECT_EQ(normal(writes), normal(row.writes)) << row.what;
  }
}

TEST(DecisionWrites, RepairLabelsOnlyWhereTheyDiffer) {
  Stored stored = StoredPages("a|b|c");
  stored[1].group = GroupLabels{"0", "canary"};
  stored[2].group = std::nullopt;
  EXPECT_EQ(Describe(PlanDecisionWrites("p", stored, WantedPages("a|b|c"))), "label 2; label 3");
}

TEST(DecisionWrites, LeaveOutWhatIsBeingDeleted) {
  Stored stored = StoredPages("a|b");
  stored[1].deleting = true;
  EXPECT_EQ(Describe(PlanDecisionWrites("p", stored, WantedPages("a"))), "");
}

TEST(DecisionWrites, DeleteOthersWithTheLabel) {
  Stored stored = StoredPages("a");
  for (const char* name : {"p-decision-01", "other", "p-decision-99999999999999999999"}) {
    Stored more = stored;
    more.push_back({.name = name, .decisions = Items("b")});
    std::vector<DecisionWrite> writes = PlanDecisionWrites("p", more, WantedPages("a b"));
    ASSERT_EQ(writes.size(), 2u) << name;
    EXPECT_EQ(writes[0].kind, Kind::kDecisions);
    EXPECT_EQ(writes[1].kind, Kind::kDelete);
    EXPECT_EQ(writes[1].name, name);
  }
}

TEST(DecisionWrites, ScoreThatIsNotStoredIsNoDifference) {
  Stored stored = StoredPages("a b");
  Wanted wanted = WantedPages("a b");
  wanted[0].decisions[0].score = 7;
  EXPECT_TRUE(PlanDecisionWrites("p", stored, wanted).empty());
  stored[0].decisions[0].score = 6;
  EXPECT_EQ(Describe(PlanDecisionWrites("p", stored, wanted)), "set 1 a b");
  stored[0].decisions[0].score = 7;
  EXPECT_TRUE(PlanDecisionWrites("p", stored, wanted).empty());
}

// What the API server has.
struct Server {
  std::map<std::string, StoredPage> pages;

  Stored stored() const {
    Stored all;
    for (const auto& [name, page] : pages) all.push_back(page);
    return all;
  }

  std::set<std::string> Visible() const {
    std::set<std::string> clusters;
    for (const auto& [name, page] : pages) {
      for (const Decision& item : page.decisions) {
        if (page.visible) clusters.insert(item.cluster);
      }
    }
    return clusters;
  }

  // Fails the test if the API server would refuse the write.
  void Apply(const DecisionWrite& write) {
    if (write.kind == Kind::kCreate) {
      ASSERT_TRUE(pages.try_emplace(write.name).second) << write.name;
      pages[write.name].name = write.name;
      pages[write.name].group = write.group;
      return;
    }
    ASSERT_TRUE(pages.contains(write.name)) << write.name;
    StoredPage& page = pages[write.name];
    if (write.kind == Kind::kDelete) pages.erase(write.name);
    if (write.kind == Kind::kDecisions) {
      ASSERT_LE(write.decisions.size(), kDecisionsPerPage);
      page.decisions = write.decisions;
    }
    if (write.kind == Kind::kLabels) {
      page.visible = page.owned = true;
      page.group = write.group;
    }
  }
};

class DecisionWritesProperty : public testing::Test {
 protected:
  int Below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random_); }

  // Cuts a random part of `universe` clusters, in a random order, into pages.
  Wanted RandomPages(int universe, size_t page_size) {
    std::vector<std::string> clusters;
    for (int i = 0; i < universe; ++i) {
      if (Below(8) != 0) clusters.push_back("c" + std::to_string(i));
    }
    if (Below(3) != 0) {
      std::shuffle(clusters.begin(), clusters.end(), random_);
    } else if (!clusters.empty()) {
      int by = Below(static_cast<int>(clusters.size()));
      std::rotate(clusters.begin(), clusters.begin() + by, clusters.end());
    }
    Wanted pages(1);
    for (const std::string& cluster : clusters) {
      bool full = pages.back().decisions.size() >= page_size;
      if (full || Below(static_cast<int>(3 * page_size)) == 0) pages.emplace_back();
      pages.back().decisions.push_back({.cluster = cluster});
    }
    for (size_t i = 0; i < pages.size(); ++i)
      pages[i].group = {std::to_string(i / 2), Below(10) == 0 ? "new" : "group"};
    return pages;
  }

  Server RandomServer(int universe, size_t page_size) {
    Server server;
    for (const WantedPage& page : RandomPages(universe, page_size)) {
      std::string name = DecisionName("p", server.pages.size() + 1);
      StoredPage stored{.name = name, .decisions = page.decisions};
      stored.visible = Below(10) != 0;
      stored.owned = Below(10) != 0;
      if (Below(10) != 0) stored.group = page.group;
      server.pages[name] = stored;
    }
    return server;
  }

  // Applies the plan, up to `stop_after` writes, and checks the order of its writes. Returns:
  // whether all were made.
  bool Run(Server& server, const Wanted& wanted, size_t stop_after) {
    std::set<std::string> may_be = server.Visible();
    std::set<std::string> must_stay;
    for (const WantedPage& page : wanted) {
      for (const Decision& item : page.decisions) {
        if (may_be.contains(item.cluster)) must_stay.insert(item.cluster);
      }
    }
    for (const WantedPage& page : wanted) {
      for (const Decision& item : page.decisions) may_be.insert(item.cluster);
    }
    bool deleted = false;
    std::vector<DecisionWrite> writes = PlanDecisionWrites("p", server.stored(), wanted);
    for (const DecisionWrite& write : writes) {
      if (stop_after-- == 0) return false;
      EXPECT_TRUE(!deleted || write.kind == Kind::kDelete) << "a write after a deletion";
      deleted |= write.kind == Kind::kDelete;
      server.Apply(write);
      std::set<std::string> visible = server.Visible();
      EXPECT_TRUE(std::includes(visible.begin(), visible.end(), must_stay.begin(), must_stay.end()))
          << "a cluster is missing after " << Describe({write});
      EXPECT_TRUE(std::includes(may_be.begin(), may_be.end(), visible.begin(), visible.end()))
          << "a cluster is in neither result after " << Describe({write});
    }
    return true;
  }

  void ExpectWritten(const Server& server, const Wanted& wanted) {
    ASSERT_EQ(server.pages.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      auto page = server.pages.find(DecisionName("p", i + 1));
      ASSERT_NE(page, server.pages.end());
      EXPECT_EQ(page->second.decisions, wanted[i].decisions);
      EXPECT_EQ(page->second.group, wanted[i].group);
      EXPECT_TRUE(page->second.visible && page->second.owned);
    }
    EXPECT_TRUE(PlanDecisionWrites("p", server.stored(), wanted).empty());
  }

  void Check(int rounds, int universe, size_t page_size) {
    for (int round = 0; round < rounds && !HasFailure(); ++round) {
      SCOPED_TRACE("round " + std::to_string(round));
      Server server = RandomServer(universe, page_size);
      // Failures, some followed by another result.
      Wanted wanted = RandomPages(universe, page_size);
      for (int failure = Below(4); failure > 0; --failure) {
        Run(server, wanted, static_cast<size_t>(Below(6)));
        if (Below(2) == 0) wanted = RandomPages(universe, page_size);
      }
      EXPECT_TRUE(Run(server, wanted, 1'000'000));
      ExpectWritten(server, wanted);
    }
  }

  std::mt19937 random_{20261123};
};

TEST_F(DecisionWritesProperty, FewClustersOnSmallPages) { Check(3000, 9, 2); }

TEST_F(DecisionWritesProperty, ManyClustersOnSmallPages) { Check(200, 60, 7); }

TEST_F(DecisionWritesProperty, FullPages) { Check(40, 420, kDecisionsPerPage); }

TEST(DecisionWrites, FiveThousandClustersOnePageEach) {
  Stored stored;
  Wanted wanted;
  constexpr int kPages = 5000;
  for (int i = 0; i < kPages; ++i) {
    GroupLabels group{std::to_string(i), ""};
    stored.push_back({.name = DecisionName("p", static_cast<size_t>(i) + 1),
                      .group = group,
                      .decisions = {{.cluster = "c" + std::to_string(i)}}});
    // All shift by one, in a cycle.
    wanted.push_back({group, {{.cluster = "c" + std::to_string((i + 1) % kPages)}}});
  }
  EXPECT_EQ(PlanDecisionWrites("p", stored, wanted).size(), kPages + 1u);
}

}  // namespace
}  // namespace fleet
