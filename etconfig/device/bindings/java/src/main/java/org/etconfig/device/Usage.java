package org.etconfig.device;

import java.nio.charset.StandardCharsets;

/** What only the application knows about a use, for {@link Device#usage}. What is not set is not written. */
public final class Usage {
  private static final int DEVICE = 0;
  private static final int FAILURE = 1;

  final byte[][] texts = new byte[2][];
  final long[] integers = {-1, -1};
  final double[] durations = {-1, -1, -1, -1};

  /** The application's own name for the device. */
  public Usage device(String name) {
    return text(DEVICE, name);
  }

  /** Unix time in milliseconds. */
  public Usage atMillis(long time) {
    return integer(0, time);
  }

  /** The microseconds that loading took. */
  public Usage loadMicros(double duration) {
    return duration(0, duration);
  }

  /** The microseconds that the first run took. */
  public Usage firstRunMicros(double duration) {
    return duration(1, duration);
  }

  /** The median and the 95th percentile of a number of runs, in microseconds. */
  public Usage runMicros(double p50, double p95, long runs) {
    return duration(2, p50).duration(3, p95).integer(1, runs);
  }

  /** Why a load or run failed; 200 bytes of it are written. */
  public Usage failure(String reason) {
    return text(FAILURE, reason);
  }

  private Usage text(int index, String text) {
    if (text.indexOf('\0') >= 0) throw new IllegalArgumentException("a text has a null character");
    texts[index] = text.getBytes(StandardCharsets.UTF_8);
    return this;
  }

  private Usage integer(int index, long number) {
    if (number < 0) throw new IllegalArgumentException(number + " is negative");
    integers[index] = number;
    return this;
  }

  private Usage duration(int index, double duration) {
    if (!(duration >= 0) || Double.isInfinite(duration)) throw new IllegalArgumentException(duration + " is not a duration");
    durations[index] = duration;
    return this;
  }
}
