// /proc/cpuinfo: the vendor, model and features of the cores.
//
// It has a block of lines `key : value` for each hardware thread. The features of a device are those that all
// of its threads have: the same code may run on each.

#pragma once

#include <cstdint>
#include <string_view>

#include "etconfig/facts/registry.h"
#include "etconfig/facts/system.h"
#include "../version.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {
namespace detection {

inline constexpr std::string_view kCpuinfo = "/proc/cpuinfo";

// The block of one hardware thread.
struct CpuinfoBlock {
  int64_t number = -1;
  int64_t implementer = -1;
  int64_t part = -1;
  bool has_vendor = false;
  bool has_physical_id = false;
  bool has_core_id = false;
  uint64_t core = 0;  // the same for threads of the same core
  uint64_t physical_hash = 0;
  FixedText<kMaxLineBytes> vendor;
  FixedText<kMaxLineBytes> model;
  FixedText<kMaxLineBytes> flags;     // of x86
  FixedText<kMaxLineBytes> features;  // of Arm

  std::string_view extensions() const { return flags.size() != 0 ? flags.view() : features.view(); }
  void clear() {
    number = implementer = part = -1;
    has_vendor = has_physical_id = has_core_id = false;
    vendor.clear();
    model.clear();
    flags.clear();
    features.clear();
  }
};

inline uint64_t hash_text(std::string_view text, uint64_t hash = 14695981039346656037u) {
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211u;
  return (hash ^ 0xff) * 1099511628211u;  // no text has this byte, so that it separates two texts
}

// Calls `visit(block)` for the first block of each hardware thread.
// Returns false if the file cannot be read whole.
inline bool visit_blocks(const System& system, CpuinfoBlock* block, Callback<const CpuinfoBlock&> visit) {
  LineReader lines(system, kCpuinfo);
  CpuSet seen;
  uint64_t core_hash = 0;
  const auto end_block = [&] {
    if (block->number >= 0 && block->number < kMaxCpus && !seen.contains(block->number)) {
      seen.add(block->number);
      block->core = block->physical_hash * 31 + core_hash;
      visit(*block);
    }
    block->clear();
  };
  const auto replace = [](Text* text, std::string_view value) {
    text->clear();
    *text << value;
  };
  block->clear();
  for (std::string_view line; lines.next(&line);) {
    if (line.empty()) {
      end_block();
      continue;
    }
    std::string_view value;
    const std::string_view key = strip(partition(line, ":", &value));
    value = strip(value);
    if (key == "processor") {
      if (!parse_count(value, &block->number)) block->number = -1;
    } else if (key == "vendor_id") {
      block->has_vendor = true;
      replace(&block->vendor, value);
    } else if (key == "model name") {
      replace(&block->model, value);
    } else if (key == "flags") {
      replace(&block->flags, value);
    } else if (key == "Features") {
      replace(&block->features, value);
    } else if (key == "physical id") {
      block->has_physical_id = true;
      block->physical_hash = hash_text(value);
    } else if (key == "core id") {
      block->has_core_id = true;
      core_hash = hash_text(value);
    } else if (key == "CPU implementer" || key == "CPU part") {
      int64_t* number = key == "CPU part" ? &block->part : &block->implementer;
      if (!starts_with(value, "0x") || !parse_hexadecimal(value.substr(2), 8, number)) *number = -1;
    }
  }
  end_block();
  return lines.is_complete();
}

// Looks a number up in a table, whose keys are hexadecimal, in lower case and without zeros in front.
inline bool look_up_number(int64_t number, bool is_part, std::string_view* name) {
  if (number < 0) return false;
  FixedText<16> key;
  constexpr char kDigits[] = "0123456789abcdef";
  bool is_begun = false;
  for (int shift = 28; shift >= 0; shift -= 4) {
    const auto digit = static_cast<size_t>(number >> shift & 15);
    is_begun = is_begun || digit != 0;
    if (is_begun) key << kDigits[digit];
  }
  return is_part ? look_up(kArmParts, key.view(), name) : look_up(kArmImplementers, key.view(), name);
}

// The vendor of a core; false if it is unknown.
inline bool cpu_vendor(const CpuinfoBlock& block, std::string_view* vendor) {
  if (block.implementer >= 0) return look_up_number(block.implementer, false, vendor);
  if (!block.has_vendor) return false;
  if (!look_up(kX86Vendors, block.vendor.view(), vendor)) *vendor = block.vendor.view();
  return true;
}

// The model of a core; false if it is unknown.
inline bool cpu_model(const CpuinfoBlock& block, std::string_view* model) {
  std::string_view vendor;
  if (cpu_vendor(block, &vendor) && vendor == "Arm") return look_up_number(block.part, true, model);
  *model = block.model.view();
  return !model->empty();
}

// The words of a text, sorted, each once.
class SortedWords {
 public:
  struct Word {
    uint16_t begin;
    uint16_t size;
  };
  static constexpr size_t kMost = kMaxLineBytes / 2 + 1;

  // `words` has room for `kMost`.
  explicit SortedWords(Word* words) : words_(words) {}

  // Takes the words of a text, which must stay as it is. It has at most `kMaxLineBytes`.
  void take(std::string_view text) {
    text_ = text.data();
    count_ = 0;
    for (std::string_view word = take_word(&text); !word.empty(); word = take_word(&text)) {
      words_[count_++] = {static_cast<uint16_t>(word.data() - text_), static_cast<uint16_t>(word.size())};
    }
    // a heap: neither the order of the words nor equal ones make it slow
    for (uint32_t i = count_ / 2; i-- != 0;) sift(i, count_);
    for (uint32_t end = count_; end > 1;) {
      --end;
      swap(0, end);
      sift(0, end);
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count_; ++i) {
      if (i == 0 || (*this)[i] != (*this)[i - 1]) words_[kept++] = words_[i];
    }
    count_ = kept;
  }

  uint32_t size() const { return count_; }
  std::string_view operator[](uint32_t index) const {
    return {text_ + words_[index].begin, words_[index].size};
  }

 private:
  void swap(uint32_t one, uint32_t other) {
    const Word word = words_[one];
    words_[one] = words_[other];
    words_[other] = word;
  }
  void sift(uint32_t at, uint32_t end) {
    while (2 * at + 1 < end) {
      uint32_t largest = 2 * at + 1;
      if (largest + 1 < end && (*this)[largest] < (*this)[largest + 1]) ++largest;
      if (!((*this)[at] < (*this)[largest])) return;
      swap(at, largest);
      at = largest;
    }
  }

  const char* text_ = nullptr;
  uint32_t count_ = 0;
  Word* words_;
};

// The extensions that all threads have: the words of one text that all other texts have too.
class CommonFeatures {
 public:
  static constexpr uint32_t kMost = 1024;  // MAX_FEATURES

  bool is_known() const { return is_known_; }

  void add(std::string_view features) {
    if (features.empty()) return;
    const uint64_t hash = hash_text(features);
    if (is_known_ && hash == hash_) return;  // most threads have the same text
    hash_ = hash;
    new_.take(features);
    if (!is_known_) {
      for (uint32_t i = 0; i < new_.size(); ++i) words_ << new_[i] << ' ';
    } else {
      keep_common();
    }
    is_known_ = true;
  }

  // Returns the number of words, which are in order at `*words`; `kMost + 1` if
  // there are more. Nothing is to be added afterwards.
  uint32_t sorted(const std::string_view** words) {
    auto* const all = reinterpret_cast<std::string_view*>(memory_);
    *words = all;
    uint32_t count = 0;
    std::string_view rest = words_.view();
    for (std::string_view word = take_word(&rest); !word.empty(); word = take_word(&rest)) {
      if (count == kMost) return kMost + 1;
      all[count++] = word;
    }
    return count;
  }

 private:
  // Both lists of words are sorted: one walk along them is enough.
  void keep_common() {
    std::string_view rest = words_.view();
    size_t kept = 0;
    uint32_t at = 0;
    for (std::string_view word = take_word(&rest); !word.empty(); word = take_word(&rest)) {
      while (at < new_.size() && new_[at] < word) ++at;
      if (at == new_.size()) break;
      if (new_[at] != word) continue;
      std::memmove(data_ + kept, word.data(), word.size());
      kept += word.size();
      data_[kept++] = ' ';
    }
    words_.resize(kept);
  }

  bool is_known_ = false;
  uint64_t hash_ = 0;
  // first for the words that are added, then for the result
  alignas(std::string_view) char memory_[SortedWords::kMost * sizeof(SortedWords::Word)];
  static_assert(sizeof memory_ >= kMost * sizeof(std::string_view), "the result has no room");
  SortedWords new_{reinterpret_cast<SortedWords::Word*>(memory_)};
  char data_[kMaxLineBytes + 1];
  Text words_{data_, sizeof data_};
};

}  // namespace detection
}  // inline namespace
}  // namespace etconfig::device
