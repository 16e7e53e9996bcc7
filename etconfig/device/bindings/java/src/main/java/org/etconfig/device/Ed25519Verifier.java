package org.etconfig.device;

import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.NoSuchAlgorithmException;
import java.security.Signature;
import java.security.spec.X509EncodedKeySpec;

/**
 * Verifies with {@code java.security}: from JDK 15 and Android 13 (API 33) on. An application for earlier ones brings a library,
 * such as Tink or Bouncy Castle, as its {@link SignatureVerifier}.
 */
public final class Ed25519Verifier implements SignatureVerifier {
  // What X.509 writes before the 32 bytes of a key.
  private static final byte[] HEADER = {0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00};

  @Override
  public boolean verify(byte[] data, byte[] signature, byte[] publicKey) {
    byte[] encoded = new byte[HEADER.length + publicKey.length];
    System.arraycopy(HEADER, 0, encoded, 0, HEADER.length);
    System.arraycopy(publicKey, 0, encoded, HEADER.length, publicKey.length);
    try {
      Signature verifier = Signature.getInstance("Ed25519");
      verifier.initVerify(KeyFactory.getInstance("Ed25519").generatePublic(new X509EncodedKeySpec(encoded)));
      verifier.update(data);
      return verifier.verify(signature);
    } catch (NoSuchAlgorithmException error) {
      throw new IllegalStateException("Ed25519 needs JDK 15 or Android 13: pass a SignatureVerifier of a library", error);
    } catch (GeneralSecurityException error) {
      return false; // no key, or no signature
    }
  }
}
