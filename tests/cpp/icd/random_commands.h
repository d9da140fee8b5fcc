#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "icd/opencl.h"
#include "icd/sequential_model.h"

namespace remotecl::testing {

// From REMOTECL_TEST_SEED, or random; always the same in one process.
std::uint64_t test_seed();

// The source of the kernels of random commands.
extern const char* const kRandomKernels;

// Gives random commands to queues of all devices of the context, and checks every result against a model. A server
// may be lost meanwhile. One thread.
class RandomCommands {
 public:
  RandomCommands(cl_context context, std::uint64_t seed);

  // From now on some commands wait for an event that fails. They leave everything as it was, also for those behind
  // them that do not wait for them.
  void refuse_some() { refuses_some_ = true; }
  // One command, or a few that belong together.
  void step();
  // Waits for everything and checks what has come.
  void settle();
  // The same, and reads everything that there has to be, wherever it is.
  void expect_all();
  // Writes anew what is lost or unknown. After expect_all().
  void repair();

  // Whether it is time for expect_all() and repair().
  bool has_failures() const { return failures_since_repair_ != 0; }
  Locations lost() const;
  std::size_t commands() const { return commands_; }
  std::size_t failures() const { return failures_; }
  std::chrono::milliseconds longest_call() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(longest_call_);
  }

 private:
  static constexpr std::size_t kSide = 96;  // of the image, in pixels of one word

  using Clock = std::chrono::steady_clock;
  using Range = ModelCommand::Range;

  struct Queue {
    Owned<cl_command_queue> handle;
    unsigned device;
  };
  // A buffer, or the image at last, and what still uses it.
  struct Memory {
    Owned<cl_mem> handle;
    SharedEvent written;
    std::vector<SharedEvent> read;
  };

  void make_buffers();
  void make_image();

  void write();
  void read();
  void copy();
  void copy_rect();
  void fill();
  void add();
  void add_to_part();
  void mix();
  void overwrite();
  void map();
  void map_for_writing();
  void migrate();
  void brighten();
  void copy_image();
  void write_image();

  void map_with(cl_map_flags flags);
  void unmap(const Queue& on, const Range& range, cl_uint* words);
  void run_on(const Range& range, cl_mem argument, const char* kernel, cl_uint value,
              std::function<void(SequentialModel&)> effect, bool reads);
  void write_range(const Queue& on, const Range& range, bool blocking);
  void read_range(const Queue& on, const Range& range, bool blocking, bool survives = false);
  void read_image(bool survives);
  void write_rows(const Queue& on, std::size_t row, std::size_t rows, bool blocking);

  using Call = std::function<cl_int(cl_command_queue, cl_uint, const cl_event*, cl_event*)>;
  // Makes the call, with the events of all that the command has to come after. False when the call fails.
  bool enqueue(ModelCommand command, const Queue& on, const Call& call);
  static std::vector<SharedEvent> after_all(const Memory& memory);
  void note(ModelCommand command, bool succeeded);
  // Returns the event that it has to wait for.
  cl_event refuse(ModelCommand& command);
  void fail_gates();
  cl_int timed(const std::function<cl_int()>& call);
  void finish();
  bool reads_survivors();

  std::size_t below(std::size_t bound) { return random_() % bound; }
  cl_uint word() { return static_cast<cl_uint>(random_()); }
  Words words(std::size_t count);
  const Queue& queue();  // nearly always of a device that is there
  const Queue& living_queue();
  bool is_alone() const;  // all devices are lost
  std::size_t buffer() { return below(memories_.size() - 1); }
  std::size_t large_buffer() { return 2 + below(4); }
  std::size_t other_than(std::size_t memory);
  std::size_t image() const { return memories_.size() - 1; }
  Range all_of(std::size_t memory) { return {memory, 0, model_.words(memory).size()}; }
  Range part_of(std::size_t memory);

  std::mt19937_64 random_;
  const cl_context context_;
  const std::vector<cl_device_id> devices_;
  const Owned<cl_program> program_;
  std::vector<Queue> queues_;
  std::deque<Words> hosts_;  // memory of the application that buffers use
  std::vector<Memory> memories_;
  SequentialModel model_;
  std::vector<ModelCommand> under_way_;
  bool refuses_some_ = false;
  std::vector<Owned<cl_event>> gates_;  // user events that will fail
  SharedEvent refused_;                 // of a command that waits for one of them
  std::size_t commands_ = 0, failures_ = 0, failures_since_repair_ = 0;
  Clock::duration longest_call_{};
};

}  // namespace remotecl::testing
