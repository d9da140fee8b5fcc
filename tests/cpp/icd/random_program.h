#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "icd/choice.h"
#include "icd/opencl.h"
#include "icd/sequential_model.h"
#include "icd/user_events.h"

namespace remotecl::testing {

// A random OpenCL program over buffers of all kinds, an image and queues in and out of order, which waits for events
// singly, keeps maps open, lets user events fail, and releases what is in use. What each command finds, how it ends and
// what each wait says is predicted when it is enqueued, by OpenCL's rules, and checked. Its devices share one context.
// One thread.
class RandomProgram {
 public:
  RandomProgram(const std::vector<cl_device_id>& devices, std::uint64_t seed);
  ~RandomProgram();

  void step();
  // Waits for everything, and reads all memory.
  void settle();

  std::size_t commands() const { return commands_; }
  // The last things that it has done. Any thread.
  std::string history() const EXCLUDES(mutex_);

 private:
  static constexpr std::size_t kSide = 96;           // of the image, in pixels of one word
  static constexpr cl_uint kUntouched = 0x5eed5eed;  // what nobody should write or see

  using Range = ModelCommand::Range;
  using Content = SequentialModel::Content;

  struct Queue {
    Owned<cl_command_queue> handle;
    std::size_t device = 0;
    bool in_order = false;
    std::uint64_t last = 0, barrier = 0;  // positions
    bool has_failure = false;             // clFinish will say so
    bool may_have_failure = false;        // of a command whose event was released before its end was known
  };
  // A command or user event.
  struct Command;
  using Shared = std::shared_ptr<Command>;
  struct Command {
    std::string what;
    std::vector<Range> reads{}, writes{};
    std::function<void(SequentialModel&)> effect{};  // if it succeeds
    std::function<void(bool)> at_end{};              // with whether it has succeeded
    bool may_fail = true;                            // because of its wait list
    bool needs_event = false;
    bool blocks = false;  // the call waits for it
    // "copies the data referred to by ptr and enqueues the write": a blocking call may return before the end.
    bool is_write = false;
    bool keeps_failure = false;  // without an event, its failure may be that of no clFinish
    bool covers_queue = false;   // it waits for all earlier commands of the queue

    Owned<cl_event> event{};         // null: it has none, or it was released
    std::shared_ptr<Queue> queue{};  // null: a user event
    std::uint64_t position = 0;
    std::vector<Shared> waits{};    // its wait list
    cl_int expected = CL_COMPLETE;  // its status at the end
    bool has_ended = false;         // as the program knows
  };
  struct Memory {
    Owned<cl_mem> handle;
    cl_uint* host = nullptr;     // memory of the application that it uses
    std::vector<Shared> uses{};  // that are not known to have ended
    int readers = 0;             // open maps
    bool is_written = false;     // by an open map
  };
  struct HostMemory;
  struct Map {
    Shared command;
    Range range;
    cl_uint* words;
    bool writes;
  };
  using Call = std::function<cl_int(cl_command_queue, cl_uint, const cl_event*, cl_event*)>;

  void say(std::string words) EXCLUDES(mutex_);

  // ---- Objects.
  void make_memory(std::size_t index);
  void make_image();
  void set_content(std::size_t memory, Words content, bool is_known);
  std::shared_ptr<Queue> make_queue(std::size_t device, bool in_order);
  void replace_memory();
  void replace_queue();
  void release_event();
  Shared user_event(bool may_fail);

  // ---- Commands, each with a wait list that orders what it uses.
  // On a random queue. False if the command does not succeed.
  bool enqueue(const Shared& command, const Call& call);
  void order(const Shared& command);
  void order_behind(Command& command, const Shared& former);
  void wait_for_some(Command& command);
  static void add_wait(Command& command, const Shared& former);
  static bool is_implied(const Command& command, const Command& former);
  void note(const Shared& command, cl_int code, bool has_event);
  void watch(const Command& command);

  void write();
  void read();
  void copy();
  void fill();
  void add();
  void add_to_part();
  void mix();
  void overwrite();
  void migrate();
  void mark();
  void open_map();
  void close_map();
  void close_map(std::size_t index);
  void map_image();
  void brighten();
  void write_image();
  void read_image();
  void copy_to_image();
  void copy_from_image();
  bool run_kernel(const Shared& command, const char* name, const std::function<void(cl_kernel)>& set_arguments,
                  std::size_t width, std::size_t height = 0);
  void read_range(const Range& range, bool blocks);
  void read_rows(const Range& rows, bool blocks);

  // ---- Waits, and what they have to say.
  Shared pending();  // with an event; null: there is none
  void wait_for_one();
  void wait_for_several();
  void poll();
  void finish_one() { finish(*queues_[below(queues_.size())]); }
  void finish(Queue& queue);
  void wait(Shared command);  // by value: the lists change
  // It has ended, and so has what comes before it.
  void end(Shared command);
  void end_before(const Command& command);
  void expect_end(const Command& command) const;

  std::size_t below(std::size_t bound) { return choice_.below(bound); }
  cl_uint word() { return static_cast<cl_uint>(below(std::size_t{1} << 32)); }
  Words words(std::size_t count);
  std::size_t image() const { return memories_.size() - 1; }
  Range all_of(std::size_t memory) { return {memory, 0, model_.words(memory).size()}; }
  Range part_of(std::size_t memory);
  Range rows_of_image();
  // A buffer that no open map keeps from being used so, of at least so many words.
  std::size_t readable(std::size_t size = 0, std::size_t other_than = ~std::size_t{0});
  std::size_t writable(std::size_t size = 0, std::size_t other_than = ~std::size_t{0});
  cl_mem handle(std::size_t memory) const { return memories_[memory].handle; }
  static std::string text_of(const Range& range);
  static Shared command(std::string what, std::vector<Range> reads, std::vector<Range> writes);

  const std::uint64_t seed_;
  std::uint64_t steps_ = 0;
  Choice choice_;  // made anew for each step: how many choices one takes depends on what has ended by then
  const std::vector<cl_device_id> devices_;
  const Owned<cl_context> context_;
  const Owned<cl_program> program_;
  SequentialModel model_;
  std::vector<std::shared_ptr<Queue>> queues_;
  std::vector<Memory> memories_;  // the image is the last one
  std::vector<Map> maps_;
  std::vector<Shared> under_way_;
  mutable Mutex mutex_;
  std::deque<std::string> history_ GUARDED_BY(mutex_);
  std::size_t commands_ = 0;
  // How many callbacks have not come yet. They may come after the program's end if something is wrong.
  const std::shared_ptr<std::atomic<int>> callbacks_ = std::make_shared<std::atomic<int>>(0);
  UserEvents user_events_;
};

}  // namespace remotecl::testing
