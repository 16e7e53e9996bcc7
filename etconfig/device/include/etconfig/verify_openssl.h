// Verifies the signatures of bundles with OpenSSL from 1.1.1 on, or BoringSSL. Link with -lcrypto.
//
// The library allocates while it verifies.

#pragma once

#include <openssl/evp.h>

#include "device.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {

class OpenSslVerifier final : public SignatureVerifier {
 public:
  bool verify(const uint8_t* data, size_t size, const uint8_t* signature,
              const uint8_t* public_key) const override {
    EVP_PKEY* const key =
        EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, public_key, kPublicKeyBytes);
    EVP_MD_CTX* const context = EVP_MD_CTX_new();
    const bool is_right = key != nullptr && context != nullptr &&
        EVP_DigestVerifyInit(context, nullptr, nullptr, nullptr, key) == 1 &&
        EVP_DigestVerify(context, signature, kSignatureBytes, data, size) == 1;
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(key);
    return is_right;
  }
};

}  // inline namespace
}  // namespace etconfig::device
