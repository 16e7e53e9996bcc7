package org.etconfig.device;

/** Why these options and this variant were used; in a record, the word in small letters. */
public enum UsageReason {
  /** The profile's condition selected it. */
  MATCHED,
  /** The load of an earlier variant failed. */
  FALLBACK,
  /** The profile was named. */
  NAMED,
  /** The configuration has no conditions left. */
  FIXED,
  /** Nothing was resolved or loaded. */
  ERROR
}
