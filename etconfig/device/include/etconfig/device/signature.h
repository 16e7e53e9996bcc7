// Signatures of bundles, and what an application demands of a bundle before it trusts it.
//
// A signed file is a bundle, the eight bytes ETCBSIG1, and the Ed25519 signature of everything before it.
// `etconfig pack --sign` writes it. The device brings the arithmetic: etconfig/verify_openssl.h and
// etconfig/verify_sodium.h call a library, and an application can call what its platform has.

#pragma once

#include "select.h"
#include "../version.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {

constexpr size_t kPublicKeyBytes = 32;
constexpr size_t kSignatureBytes = 64;

// Verifies Ed25519 signatures.
class SignatureVerifier {
 public:
  // True if the holder of the public key, of 32 bytes, made the signature, of 64 bytes, for this data.
  virtual bool verify(const uint8_t* data, size_t size, const uint8_t* signature,
                      const uint8_t* public_key) const = 0;

 protected:
  ~SignatureVerifier() = default;
};

// What an application demands of a bundle: nothing, unless it says so.
struct Demands {
  // With a verifier, a bundle needs a signature of one of the keys: two are for the time of a rotation.
  const SignatureVerifier* verifier = nullptr;
  const uint8_t (*public_keys)[kPublicKeyBytes] = nullptr;
  uint32_t key_count = 0;
  uint64_t least_revision = 0;
  // The seconds since 1970 in UTC, to refuse a bundle that has expired. 0 refuses none: a device may have no
  // clock, or one that nobody should trust.
  uint64_t now = 0;
};

namespace internal {

constexpr std::string_view kSignatureMark = "ETCBSIG1";
constexpr size_t kTrailerBytes = kSignatureMark.size() + kSignatureBytes;

inline bool is_signed(const uint8_t* data, size_t size) {
  return size >= kTrailerBytes &&
      std::memcmp(data + size - kTrailerBytes, kSignatureMark.data(), kSignatureMark.size()) == 0;
}

// Ok if nobody asked for a signature, or if it is of one of the keys.
inline Status check_signature(const uint8_t* data, size_t size, const Demands& demands) {
  if (demands.verifier == nullptr && demands.key_count == 0) return Status::Ok;
  if (!is_signed(data, size)) return Status::NotSigned;
  const size_t signed_bytes = size - kSignatureBytes;
  const bool can_verify = demands.verifier != nullptr && demands.public_keys != nullptr;
  for (uint32_t i = 0; can_verify && i < demands.key_count; ++i) {
    if (demands.verifier->verify(data, signed_bytes, data + signed_bytes, demands.public_keys[i])) {
      return Status::Ok;
    }
  }
  return Status::BadSignature;
}

}  // namespace internal
}  // inline namespace
}  // namespace etconfig::device
