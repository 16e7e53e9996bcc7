// Files that are read whole, and damaged in many ways.

#pragma once

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

inline std::string read_file(const char* path) {
  std::FILE* const file = std::fopen(path, "rb");
  if (file == nullptr) {
    std::fprintf(stderr, "cannot read %s\n", path);
    std::exit(1);
  }
  std::string bytes(1 << 20, '\0');
  bytes.resize(std::fread(&bytes[0], 1, bytes.size(), file));
  std::fclose(file);
  return bytes;
}

// One to three changes of bytes, of the end, or a part of another file.
inline std::string damaged(std::string bytes, const std::string& other, std::mt19937* random) {
  const auto below = [&](size_t end) { return static_cast<size_t>((*random)() % (end == 0 ? 1 : end)); };
  const size_t changes = 1 + below(3);
  for (size_t i = 0; i < changes; ++i) {
    const size_t at = below(bytes.size());
    switch (below(7)) {
      case 0:
        if (!bytes.empty()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 1:
        if (!bytes.empty()) bytes[at] = static_cast<char>((*random)());
        break;
      case 2: bytes.resize(at); break;
      case 3: bytes.insert(at, 1 + below(9), static_cast<char>((*random)())); break;
      case 4: bytes.erase(at, 1 + below(9)); break;
      case 5: bytes.replace(at, 1 + below(64), other.substr(below(other.size()), 1 + below(64))); break;
      default: bytes += other.substr(below(other.size()));
    }
  }
  return bytes;
}
