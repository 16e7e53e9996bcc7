// Verifies the signatures of bundles with libsodium. Link with -lsodium, and call `sodium_init` first.

#pragma once

#include <sodium.h>

#include "device.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {

class SodiumVerifier final : public SignatureVerifier {
 public:
  bool verify(const uint8_t* data, size_t size, const uint8_t* signature,
              const uint8_t* public_key) const override {
    return crypto_sign_ed25519_verify_detached(signature, data, size, public_key) == 0;
  }
};

}  // inline namespace
}  // namespace etconfig::device
