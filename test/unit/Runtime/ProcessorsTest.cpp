//===- ProcessorsTest.cpp - CPU quotas of control groups ------------------===//

#include "Processors.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sched.h>
#include <string>
#include <unistd.h>

namespace {

/// A folder with the files of control groups, and a process's membership.
class Processors : public testing::Test {
protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "heddle-processors-XXXXXX";
    ASSERT_TRUE(mkdtemp(name.data()));
    folder = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  void write(const std::string &name, const std::string &text) {
    std::filesystem::create_directories((folder / "root" / name).parent_path());
    std::ofstream(folder / "root" / name) << text;
  }

  int count(const std::string &membership) {
    std::ofstream(folder / "membership") << membership;
    return heddle::rt::countPaidProcessors((folder / "membership").c_str(),
                                           (folder / "root").c_str());
  }

  std::filesystem::path folder;
};

TEST_F(Processors, QuotaOfVersion2) {
  write("pod/cpu.max", "200000 100000\n");
  EXPECT_EQ(count("0::/pod\n"), 2);
  write("pod/cpu.max", "150000 100000\n");
  EXPECT_EQ(count("0::/pod\n"), 2);
  write("pod/cpu.max", "5000 100000\n");
  EXPECT_EQ(count("0::/pod\n"), 1);
  write("pod/cpu.max", "max 100000\n");
  EXPECT_EQ(count("0::/pod\n"), 0);
}

TEST_F(Processors, EveryGroupAboveCounts) {
  write("pod/cpu.max", "300000 100000\n");
  write("pod/box/cpu.max", "800000 100000\n");
  EXPECT_EQ(count("0::/pod/box/inner\n"), 3);
  write("cpu.max", "50000 50000\n");
  EXPECT_EQ(count("0::/pod/box/inner\n"), 1);
}

TEST_F(Processors, PathOfTheHostInsideAContainer) {
  write("cpu.max", "400000 100000\n");
  EXPECT_EQ(count("0::/system.slice/docker-1234.scope\n"), 4);
  EXPECT_EQ(count("0::/\n"), 4);
}

TEST_F(Processors, QuotaOfVersion1) {
  write("cpu,cpuacct/pod/cpu.cfs_quota_us", "250000\n");
  write("cpu,cpuacct/pod/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(count("5:memory:/pod\n4:cpu,cpuacct:/pod\n"), 3);
  EXPECT_EQ(count("4:cpuset:/pod\n3:cpuacct:/pod\n"), 0);
  write("cpu,cpuacct/pod/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(count("4:cpu,cpuacct:/pod\n"), 0);
}

TEST_F(Processors, Version2BesideVersion1) {
  write("unified/pod/cpu.max", "100000 100000\n");
  write("cpu/pod/cpu.cfs_quota_us", "600000\n");
  write("cpu/pod/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(count("1:cpu:/pod\n0::/pod\n"), 1);
  EXPECT_EQ(count("1:cpu:/pod\n"), 6);
}

TEST_F(Processors, WhatIsNoQuotaIsNoLimit) {
  EXPECT_EQ(count(""), 0);
  EXPECT_EQ(count("nonsense\n:\n::\n0::\n"), 0);
  EXPECT_EQ(heddle::rt::countPaidProcessors((folder / "absent").c_str(), "/"), 0);
  for (const char *text : {"", "\n", "-5 100000", "100000", "100000 0", "what 5", "0 100000"}) {
    write("pod/cpu.max", text);
    EXPECT_EQ(count("0::/pod\n"), 0) << text;
  }
  write("pod/cpu.max", "9223372036854775807 1");
  EXPECT_EQ(count("0::/pod\n"), 0);
  // A path that fits nowhere.
  EXPECT_EQ(count("0::/" + std::string(5000, 'x') + "\n"), 0);
}

TEST_F(Processors, AtMostTheAffinityMask) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  EXPECT_GE(heddle::rt::countProcessors(), 1);
  EXPECT_LE(heddle::rt::countProcessors(), CPU_COUNT(&before));
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(heddle::rt::countProcessors(), 1);
  sched_setaffinity(0, sizeof(before), &before);
}

} // namespace
