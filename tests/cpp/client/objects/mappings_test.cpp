#include "runtime/client/objects/mappings.h"

#include <gtest/gtest.h>

#include <vector>

namespace remotecl {
namespace {

class MappingsTest : public ::testing::Test {
 protected:
  // Their objects live until then() is told otherwise; nobody looks at what the link names.
  static MemoryLink object() {
    return std::make_shared<std::atomic<MemoryObject*>>(reinterpret_cast<MemoryObject*>(sizeof(int)));
  }
  void add(std::uint64_t offset, std::uint64_t size, const MemoryLink& of, cl_map_flags flags = CL_MAP_READ) {
    Mapping mapping{{offset, size}, flags, host_.data() + offset};
    mapping.of = of;
    mappings_.add(std::move(mapping));
  }
  bool has(std::uint64_t offset, std::uint64_t size) const {
    return mappings_.has({offset, size}, host_.data() + offset);
  }
  bool remove(std::uint64_t offset, const MemoryLink& of) {
    return mappings_.find(host_.data() + offset, of, removed_) && mappings_.remove(host_.data() + offset, of);
  }

  std::vector<std::byte> host_ = std::vector<std::byte>(10'000);
  const MemoryLink one_ = object(), other_ = object();
  Mapping removed_{};
  Mappings mappings_;
};

TEST_F(MappingsTest, TheNewestOfAnObjectIsRemoved) {
  add(100, 10, one_, CL_MAP_READ);
  add(100, 10, other_, CL_MAP_READ);
  add(100, 20, one_, CL_MAP_WRITE);
  EXPECT_FALSE(remove(101, one_));
  ASSERT_TRUE(remove(100, one_));
  EXPECT_EQ(removed_.flags, cl_map_flags{CL_MAP_WRITE});
  ASSERT_TRUE(remove(100, one_));
  EXPECT_EQ(removed_.flags, cl_map_flags{CL_MAP_READ});
  EXPECT_FALSE(remove(100, one_));
  EXPECT_TRUE(remove(100, other_));
  EXPECT_TRUE(mappings_.empty());
}

TEST_F(MappingsTest, MappedBytesAreFoundAmongMany) {
  for (std::uint64_t i = 0; i < 1000; ++i) add(10 * i, 5, one_);
  EXPECT_TRUE(has(4, 1));
  EXPECT_FALSE(has(5, 5));
  EXPECT_TRUE(has(5, 6));
  add(1000, 5000, other_);
  EXPECT_TRUE(has(5998, 1)) << "begins far before";
  ASSERT_TRUE(remove(1000, other_));
  EXPECT_FALSE(has(5998, 1));
}

TEST_F(MappingsTest, ADestroyedObjectMapsNothing) {
  add(100, 10, one_);
  add(200, 10, other_);
  one_->store(nullptr);
  EXPECT_FALSE(has(100, 10));
  EXPECT_TRUE(has(100, 101));
}

}  // namespace
}  // namespace remotecl
