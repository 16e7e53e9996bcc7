package org.etconfig.device;

/** Verifies Ed25519 signatures: {@link Ed25519Verifier}, or a library that the application has. */
public interface SignatureVerifier {
  /** True if the holder of the public key, of 32 bytes, made the signature, of 64 bytes, for this data. */
  boolean verify(byte[] data, byte[] signature, byte[] publicKey);
}
