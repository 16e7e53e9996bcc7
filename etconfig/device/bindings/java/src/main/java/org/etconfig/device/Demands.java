package org.etconfig.device;

import java.util.Objects;

/**
 * The demands of an application on a bundle.
 *
 * <pre>{@code
 * Demands demands = Demands.none().signedBy(new Ed25519Verifier(), key).revisionFrom(7).validAt(seconds);
 * }</pre>
 */
public final class Demands {
  private static final int KEY_BYTES = 32;

  final SignatureVerifier verifier;
  final byte[] publicKeys;
  final long leastRevision;
  final long now;

  private Demands(SignatureVerifier verifier, byte[] publicKeys, long leastRevision, long now) {
    this.verifier = verifier;
    this.publicKeys = publicKeys;
    this.leastRevision = leastRevision;
    this.now = now;
  }

  /** Demands nothing: an unsigned bundle of any revision is accepted. */
  public static Demands none() {
    return new Demands(null, new byte[0], 0, 0);
  }

  /** Also demands a signature of one of the keys, of 32 bytes each; two are for the time of a rotation. */
  public Demands signedBy(SignatureVerifier verifier, byte[]... publicKeys) {
    byte[] keys = new byte[KEY_BYTES * publicKeys.length];
    for (int i = 0; i < publicKeys.length; ++i) {
      if (publicKeys[i].length != KEY_BYTES) throw new IllegalArgumentException("a public key has 32 bytes");
      System.arraycopy(publicKeys[i], 0, keys, KEY_BYTES * i, KEY_BYTES);
    }
    return new Demands(Objects.requireNonNull(verifier), keys, leastRevision, now);
  }

  /** Also demands this revision or a higher one. */
  public Demands revisionFrom(long least) {
    if (least < 0) throw new IllegalArgumentException("a revision is not negative");
    return new Demands(verifier, publicKeys, least, now);
  }

  /** Also demands that the bundle has not expired at this time, in seconds since 1970 in UTC. */
  public Demands validAt(long seconds) {
    if (seconds <= 0) throw new IllegalArgumentException("the time is in seconds since 1970");
    return new Demands(verifier, publicKeys, leastRevision, seconds);
  }
}
