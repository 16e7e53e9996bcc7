/* The one function of libsodium that etconfig/verify_sodium.h calls, as its crypto_sign_ed25519.h declares it:
   for machines without libsodium. */
#ifndef sodium_H
#define sodium_H

#ifdef __cplusplus
extern "C" {
#endif

int crypto_sign_ed25519_verify_detached(const unsigned char* sig, const unsigned char* m, unsigned long long mlen,
                                        const unsigned char* pk);

#ifdef __cplusplus
}
#endif

#endif
