#pragma once

#include "runtime/schedule/policy.h"

namespace remotecl::schedule {

// The device on which the task costs least, of those where it ends in time: at most `patience` times as late as where
// it would end first. Without such a limit all tasks would queue on the one most thrifty device.
class LeastCost : public Policy {
 public:
  static constexpr double kPatience = 3;

  // REQUIRES: patience >= 1.
  explicit LeastCost(double patience) : patience_(patience) {}
  Choice choose(const Situation& situation) override;

 protected:
  virtual double cost_per_s(const Device& device) const = 0;

 private:
  const double patience_;
};

// Joules, with the limit on lateness of energy-conscious scheduling (Lee and Zomaya, "Energy conscious scheduling for
// distributed computing systems under different operating conditions", 2011, who weigh both against each other).
class LeastEnergy : public LeastCost {
 public:
  explicit LeastEnergy(double patience = kPatience) : LeastCost(patience) {}
  std::string_view name() const override { return "least-energy"; }
  std::string_view reason() const override { return "least energy in time"; }

 private:
  double cost_per_s(const Device& device) const override { return device.watts; }
};

// Money, within a deadline: the cost optimisation of Nimrod/G (Buyya, Abramson, Giddy 2000).
class Cheapest : public LeastCost {
 public:
  explicit Cheapest(double patience = kPatience) : LeastCost(patience) {}
  std::string_view name() const override { return "cheapest"; }
  std::string_view reason() const override { return "cheapest in time"; }

 private:
  double cost_per_s(const Device& device) const override { return device.price_per_s; }
};

}  // namespace remotecl::schedule
