// /proc/cpuinfo: the vendor, model and features of the cores. As etconfig/facts/detectors/cpuinfo.py.

#pragma once

#include <cstdint>
#include <string_view>

#include "etconfig/facts/registry.h"
#include "etconfig/facts/system.h"

namespace etconfig::device::detection {

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
  FixedText<kMaxLineBytes> features;

  void clear() {
    number = implementer = part = -1;
    has_vendor = has_physical_id = has_core_id = false;
    vendor.clear();
    model.clear();
    features.clear();
  }
};

inline uint64_t hash_text(std::string_view text, uint64_t hash = 14695981039346656037u) {
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211u;
  return (hash ^ 0xff) * 1099511628211u;  // no text has this byte, so that it separates two texts
}

// Calls `visit(block)` for the first block of each hardware thread. Returns false if the file cannot be read whole.
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
    } else if (key == "flags" || key == "Features") {
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

// `hexadecimal` of the tables: lower case, without zeros in front.
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

// `cpu_vendor`; false if it is unknown.
inline bool cpu_vendor(const CpuinfoBlock& block, std::string_view* vendor) {
  if (block.implementer >= 0) return look_up_number(block.implementer, false, vendor);
  if (!block.has_vendor) return false;
  if (!look_up(kX86Vendors, block.vendor.view(), vendor)) *vendor = block.vendor.view();
  return true;
}

// `cpu_model`; false if it is unknown.
inline bool cpu_model(const CpuinfoBlock& block, std::string_view* model) {
  std::string_view vendor;
  if (cpu_vendor(block, &vendor) && vendor == "Arm") return look_up_number(block.part, true, model);
  *model = block.model.view();
  return !model->empty();
}

// The extensions that all threads have: the words of one text that all other texts have too.
class CommonFeatures {
 public:
  bool is_known() const { return is_known_; }

  void add(std::string_view features) {
    if (features.empty()) return;
    const uint64_t hash = hash_text(features);
    if (!is_known_) words_ << features;
    if (!is_known_ || hash == hash_) {  // most threads have the same text
      is_known_ = true;
      hash_ = hash;
      return;
    }
    hash_ = hash;
    std::string_view rest = words_.view();
    size_t kept = 0;
    char* to = data_;
    for (std::string_view word = take_word(&rest); !word.empty(); word = take_word(&rest)) {
      if (!has_word(features, word)) continue;
      std::memmove(to + kept, word.data(), word.size());
      kept += word.size();
      to[kept++] = ' ';
    }
    words_.resize(kept);
  }

  // Writes the words in order, each once; returns their number, or `max_words + 1` if there are more.
  uint32_t sorted(std::string_view* words, uint32_t max_words) const {
    uint32_t count = 0;
    std::string_view rest = words_.view();
    for (std::string_view word = take_word(&rest); !word.empty(); word = take_word(&rest)) {
      uint32_t place = count;
      while (place > 0 && word < words[place - 1]) --place;
      if (place > 0 && words[place - 1] == word) continue;
      if (count == max_words) return max_words + 1;
      for (uint32_t i = count; i > place; --i) words[i] = words[i - 1];
      words[place] = word;
      ++count;
    }
    return count;
  }

 private:
  static bool has_word(std::string_view text, std::string_view word) {
    for (std::string_view found = take_word(&text); !found.empty(); found = take_word(&text)) {
      if (found == word) return true;
    }
    return false;
  }

  bool is_known_ = false;
  char data_[kMaxLineBytes + 1];
  Text words_{data_, sizeof data_};
  uint64_t hash_ = 0;
};

}  // namespace etconfig::device::detection
