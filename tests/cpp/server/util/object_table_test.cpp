#include "server/util/object_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace remotecl::server {
namespace {

struct Thing : RefCounted {
  explicit Thing(std::uint64_t number) : value(number) {}
  std::uint64_t value;
};

TEST(ObjectTable, BehavesLikeAMap) {
  ObjectTable<Thing> table;
  std::map<std::uint64_t, std::uint64_t> model;
  std::mt19937_64 random(5);
  SCOPED_TRACE("seed 5");
  for (int step = 0; step < 200'000; ++step) {
    const std::uint64_t id = 1 + random() % 300;
    switch (random() % 3) {
      case 0:
        EXPECT_EQ(table.insert(id, make_ref<Thing>(step)), model.emplace(id, step).second);
        break;
      case 1: {
        const auto taken = table.take(id);
        ASSERT_EQ(static_cast<bool>(taken), model.contains(id));
        if (taken) {
          EXPECT_EQ(taken->value, model[id]);
        }
        model.erase(id);
        break;
      }
      default: {
        const Thing* found = table.find(id);
        ASSERT_EQ(found != nullptr, model.contains(id));
        if (found != nullptr) {
          EXPECT_EQ(found->value, model[id]);
        }
      }
    }
    ASSERT_EQ(table.size(), model.size());
  }
}

TEST(ObjectTable, HasNoObjectZero) {
  ObjectTable<Thing> table;
  EXPECT_FALSE(table.insert(0, make_ref<Thing>(1)));
  EXPECT_EQ(table.find(0), nullptr);
  EXPECT_TRUE(table.insert(1, make_ref<Thing>(1)));
  EXPECT_EQ(table.find(0), nullptr);
  EXPECT_FALSE(table.take(0));
}

TEST(ObjectTable, GivesObjectsBack) {
  auto thing = make_ref<Thing>(1);
  {
    ObjectTable<Thing> table;
    for (std::uint64_t id = 1; id <= 100; ++id) table.insert(id, thing);
    EXPECT_EQ(thing->ref_count(), 101u);
    for (std::uint64_t id = 1; id <= 50; ++id) table.take(id);
    EXPECT_EQ(thing->ref_count(), 51u);
  }
  EXPECT_EQ(thing->ref_count(), 1u);
}

}  // namespace
}  // namespace remotecl::server
