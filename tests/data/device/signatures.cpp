// The signatures of bundles, verified by OpenSSL.
//
//   signatures open FILE PUBLIC_KEYS LEAST_REVISION NOW   prints the status; the keys are 32 bytes each
//   signatures fuzz PUBLIC_KEY A B                        50,000 damaged files; A and B are signed with the key

// With -DETCONFIG_TEST_SODIUM, the adapter for libsodium verifies; with 0, over a stand-in for its one function.

#include <etconfig/verify_openssl.h>
#ifdef ETCONFIG_TEST_SODIUM
#include <etconfig/verify_sodium.h>
#endif

#include "damage.h"

using namespace etconfig::device;

#ifdef ETCONFIG_TEST_SODIUM
using Verifier = SodiumVerifier;
#if !ETCONFIG_TEST_SODIUM
int crypto_sign_ed25519_verify_detached(const unsigned char* sig, const unsigned char* m, unsigned long long mlen,
                                        const unsigned char* pk) {
  return OpenSslVerifier().verify(m, static_cast<size_t>(mlen), sig, pk) ? 0 : -1;
}
#endif
#else
using Verifier = OpenSslVerifier;
#endif

namespace {

struct Keys {
  explicit Keys(const std::string& bytes) {
    count = static_cast<uint32_t>(bytes.size() / kPublicKeyBytes);
    std::memcpy(keys, bytes.data(), count * kPublicKeyBytes);
  }
  Demands demands() const {
    Demands found;
    found.verifier = &verifier;
    found.public_keys = keys;
    found.key_count = count;
    return found;
  }
  Verifier verifier;
  uint8_t keys[8][kPublicKeyBytes];
  uint32_t count = 0;
};

int fuzz(const Keys& keys, const std::string& a, const std::string& b) {
  std::mt19937 random(2);
  int refused[256] = {};
  int count = 0;
  for (int i = 0; i < 50000; ++i) {
    std::string bytes = damaged(i % 2 == 0 ? a : b, i % 2 == 0 ? b : a, &random);
    // the signature of one behind the content of the other
    if (i % 100 == 0) bytes = a.substr(0, a.size() - kSignatureBytes) + b.substr(b.size() - kSignatureBytes);
    // damage to the signature alone
    if (i % 10 == 1) {
      bytes = a;
      char& byte = bytes[bytes.size() - 1 - random() % kSignatureBytes];
      byte = static_cast<char>(byte ^ (1 << random() % 8));
    }
    if (bytes == a || bytes == b) continue;
    ++count;
    Bundle bundle;
    const Status status = bundle.open(bytes.data(), bytes.size(), keys.demands());
    if (status == Status::Ok || bundle.profile_count() != 0) {
      std::printf("mutant %d was accepted\n", i);
      return 1;
    }
    ++refused[static_cast<int>(status)];
  }
  std::printf("%d damaged files, none accepted:", count);
  for (int i = 0; i < 256; ++i) {
    if (refused[i] != 0) std::printf(" %d %s;", refused[i], name_of(static_cast<Status>(i)));
  }
  std::printf("\n");
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::string command = count > 1 ? words[1] : "";
  if (command == "fuzz" && count == 5) {
    return fuzz(Keys(read_file(words[2])), read_file(words[3]), read_file(words[4]));
  }
  if (command != "open" || count != 6) return 2;
  const std::string bytes = read_file(words[2]);
  const Keys keys(read_file(words[3]));
  Demands demands = keys.demands();
  if (keys.count == 0) demands = Demands();  // an empty file of keys demands no signature
  demands.least_revision = std::strtoull(words[4], nullptr, 10);
  demands.now = std::strtoull(words[5], nullptr, 10);
  Bundle bundle;
  std::puts(name_of(bundle.open(bytes.data(), bytes.size(), demands)));
  std::printf("%.*s %llu\n", static_cast<int>(bundle.id().size()), bundle.id().data(),
              static_cast<unsigned long long>(bundle.revision()));
  return 0;
}
