// Runs a target without libFuzzer: on every file of its corpus, and on so many mutations of these, always the same
// ones. An input that the target fails on is left beside the program, as TARGET.failed-input.
// Usage: TARGET CORPUS_FOLDER MUTATIONS
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" __attribute__((weak)) int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" __attribute__((weak)) std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                                                     std::size_t size_max, unsigned seed);

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t size_max);

namespace {

using Input = std::vector<std::uint8_t>;

constexpr unsigned kSecondsMax = 30;  // of one input; more is a hang
constexpr long kResidentKibMax = 1 << 20;
constexpr std::size_t kSizeMax = 8192;  // of a mutated input

std::minstd_rand random_numbers(1);

std::vector<Input> read_corpus(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Input> inputs;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return inputs;
}

// Made before a signal can come, because its handler may allocate nothing.
const std::string failed_input = std::filesystem::read_symlink("/proc/self/exe").string() + ".failed-input";
const std::string failure_notice = "the input that failed is in " + failed_input + "\n";

const Input* running = nullptr;

// Leaves the input that the target has failed on, to be looked at, and says where.
void keep_input(int signal) {
  const int file = ::open(failed_input.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file >= 0 && running != nullptr && ::write(file, running->data(), running->size()) >= 0) {
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, failure_notice.data(), failure_notice.size());
  }
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

void run(const Input& input) {
  running = &input;
  ::alarm(kSecondsMax);
  LLVMFuzzerTestOneInput(input.data(), input.size());
  ::alarm(0);
}

Input mutated(Input input) {
  std::size_t size = std::min(input.size(), kSizeMax);
  input.resize(kSizeMax);
  for (unsigned round = 0, rounds = 1 + random_numbers() % 3; round < rounds; ++round) {
    const auto seed = static_cast<unsigned>(random_numbers());
    size = LLVMFuzzerCustomMutator != nullptr ? LLVMFuzzerCustomMutator(input.data(), size, kSizeMax, seed)
                                              : LLVMFuzzerMutate(input.data(), size, kSizeMax);
  }
  input.resize(size);
  return input;
}

}  // namespace

// A few of libFuzzer's mutations of bytes.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t size_max) {
  const auto below = [](std::size_t bound) { return random_numbers() % bound; };
  switch (size == 0 ? 2 : below(4)) {
    case 0:
      data[below(size)] = static_cast<std::uint8_t>(random_numbers());
      return size;
    case 1:
      data[below(size)] ^= static_cast<std::uint8_t>(1u << below(8));
      return size;
    case 2: {
      if (size >= size_max) return size;
      const std::size_t at = below(size + 1);
      std::copy_backward(data + at, data + size, data + size + 1);
      data[at] = static_cast<std::uint8_t>(random_numbers());
      return size + 1;
    }
    default: {
      const std::size_t at = below(size);
      std::copy(data + at + 1, data + size, data + at);
      return size - 1;
    }
  }
}

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s CORPUS_FOLDER MUTATIONS\n", argv[0]);
    return 2;
  }
  if (LLVMFuzzerInitialize != nullptr) LLVMFuzzerInitialize(&argc, &argv);
  for (const int signal : {SIGABRT, SIGALRM, SIGBUS, SIGFPE, SIGILL, SIGSEGV}) ::signal(signal, keep_input);
  const auto corpus = read_corpus(argv[1]);
  if (corpus.empty()) {
    std::fprintf(stderr, "%s has no inputs\n", argv[1]);
    return 1;
  }
  for (const Input& input : corpus) run(input);
  const int mutations = std::atoi(argv[2]);
  for (int i = 0; i < mutations; ++i) run(mutated(corpus[random_numbers() % corpus.size()]));
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  std::printf("%zu inputs and %d mutations; at most %ld KiB\n", corpus.size(), mutations, usage.ru_maxrss);
  if (usage.ru_maxrss > kResidentKibMax) {
    std::fprintf(stderr, "an input has cost more memory than %ld KiB\n", kResidentKibMax);
    return 1;
  }
  return 0;
}
