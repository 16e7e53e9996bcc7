package org.etconfig.device;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * Chooses a profile, the options of every backend and the variant of a model on this device, from a bundle that
 * {@code etconfig pack} wrote.
 *
 * <pre>{@code
 * try (Device device = Device.open(bytes)) {
 *   device.detect();
 *   device.set("power.source", "battery");
 *   device.select();
 *   device.resolve("forward");
 *   long threads = device.getLong("XnnpackBackend", "num_threads");
 * }
 * }</pre>
 *
 * <p>Any thread may call any method; calls wait for each other. {@link #close} releases the memory; every later call is an
 * {@link IllegalStateException}. What the bundle or the device refuses is a {@link DeviceException}.
 */
public final class Device implements AutoCloseable {
  private static final int NO_VARIANT = 20;

  static {
    System.loadLibrary("etconfig_device_jni");
  }

  private long handle;

  private Device(long handle) {
    this.handle = handle;
  }

  /** Opens a bundle. It is copied, so the array may change afterwards. */
  public static Device open(byte[] bundle) {
    return open(bundle, Demands.none());
  }

  /** The same for a bundle that the application does not trust yet. */
  public static Device open(byte[] bundle, Demands demands) {
    long[] handle = new long[1];
    int status = nativeOpen(Objects.requireNonNull(bundle), demands.verifier, demands.publicKeys, demands.leastRevision,
        demands.now, handle);
    return opened(status, handle, "the bundle");
  }

  static Device opened(int status, long[] handle, String subject) {
    check(status, subject);
    return new Device(handle[0]);
  }

  /** Opens a bundle between position and limit of a buffer, such as a mapped file. It is copied; the buffer stays as it is. */
  public static Device open(ByteBuffer bundle) {
    byte[] bytes = new byte[bundle.remaining()];
    bundle.duplicate().get(bytes);
    return open(bytes);
  }

  /** Releases the memory. A second call does nothing. */
  @Override
  public synchronized void close() {
    long closing = handle;
    handle = 0;
    if (closing != 0) nativeClose(closing);
  }

  /** The program that wrote the bundle. */
  public synchronized String producer() {
    return text(nativeProducer(handle()));
  }

  /** The id of the bundle, for reports: equal for bundles that decide alike. */
  public synchronized String id() {
    return text(nativeId(handle()));
  }

  /** The number of this release, which grows; 0 if it has none. */
  public synchronized long revision() {
    return nativeRevision(handle());
  }

  /** The last second in which the bundle is valid, since 1970 in UTC; 0 if it does not expire. */
  public synchronized long notAfter() {
    return nativeNotAfter(handle());
  }

  // --- facts ---

  /** The names of the facts that the bundle reads, sorted. */
  public synchronized List<String> facts() {
    List<String> names = new ArrayList<>();
    for (byte[] name; (name = nativeFactName(handle(), names.size())) != null; ) names.add(text(name));
    return names;
  }

  /** The facts that may change at any time: set or detect them again before {@link #update}. */
  public synchronized List<String> liveFacts() {
    List<String> live = new ArrayList<>();
    int index = 0;
    for (String name : facts()) {
      if (nativeFactIsLive(handle(), index++)) live.add(name);
    }
    return live;
  }

  /** Detects the facts that the bundle reads; those that were set stay as they are. */
  public synchronized void detect() {
    check(nativeDetect(handle()), "detection");
  }

  /** Sets a fact that is true or false. */
  public synchronized void set(String fact, boolean value) {
    check(nativeSetBoolean(handle(), bytes(fact), value), fact);
  }

  /** Sets a fact that is an integer. */
  public synchronized void set(String fact, long value) {
    check(nativeSetLong(handle(), bytes(fact), value), fact);
  }

  /** Sets a fact that is a number. */
  public synchronized void set(String fact, double value) {
    check(nativeSetDouble(handle(), bytes(fact), value), fact);
  }

  /** Sets a fact that is a text. */
  public synchronized void set(String fact, String value) {
    check(nativeSetText(handle(), bytes(fact), bytes(value)), fact);
  }

  /** Sets a fact that is a list of texts. */
  public synchronized void set(String fact, List<String> values) {
    check(nativeSetTexts(handle(), bytes(fact), bytes(values)), fact);
  }

  /** Makes a fact unknown, with a reason; detection leaves it alone. */
  public synchronized void setUnknown(String fact, String reason) {
    check(nativeSetUnknown(handle(), bytes(fact), bytes(reason)), fact);
  }

  /** Sets {@code runtime.backends}, the ids of the backends of the runtime, if the bundle reads it. */
  public synchronized void setBackends(List<String> ids) {
    check(nativeSetBackends(handle(), bytes(ids)), "runtime.backends");
  }

  /** Forgets a fact; detection may find it again. */
  public synchronized void forget(String fact) {
    check(nativeForget(handle(), bytes(fact)), fact);
  }

  /** The facts as a fact sheet, which the commands of etconfig read. */
  public synchronized String factsJson() {
    return text(nativeFactsJson(handle()));
  }

  // --- profiles ---

  /** Selects the profile that fits the facts, and returns its name. */
  public synchronized String select() {
    int status = nativeSelect(handle());
    byte[] fact = nativeWrongFact(handle());
    check(status, fact == null ? "no profile selected" : text(fact));
    return profile();
  }

  /** Names the profile instead. */
  public synchronized void useProfile(String name) {
    check(nativeUseProfile(handle(), bytes(name)), name);
  }

  /** The name of the selected profile; null if there is none. */
  public synchronized String profile() {
    return text(nativeProfile(handle()));
  }

  /** True if no profile is about this device, so that the one that matches every device is left. */
  public synchronized boolean isFallback() {
    return nativeIsFallback(handle());
  }

  /** The names of all profiles, sorted. */
  public synchronized List<String> profiles() {
    List<String> names = new ArrayList<>();
    for (byte[] name; (name = nativeProfileName(handle(), names.size())) != null; ) names.add(text(name));
    return names;
  }

  /** Why a profile matches this device or not: a line for each clause of its condition that decides. */
  public synchronized String explainMatch(String profile) {
    int index = profiles().indexOf(profile);
    if (index < 0) throw new IllegalArgumentException("the bundle has no profile " + profile);
    return text(nativeExplainMatch(handle(), index));
  }

  // --- arguments ---

  /** Resolves the default instance of a method. */
  public void resolve(String method) {
    resolve(method, null);
  }

  /** Resolves a method instance, with the selected profile; the instance null is the default one. */
  public synchronized void resolve(String method, String instance) {
    int status = nativeResolve(handle(), bytes(method), instance == null ? null : bytes(instance));
    check(status, instance == null ? method : method + "@" + instance, problems());
  }

  /** Resolves again after facts have changed. If it fails, the arguments stay as they were. */
  public synchronized Changes update() {
    check(nativeUpdate(handle()), "update", problems());
    List<String> atExecute = new ArrayList<>();
    List<String> atLoad = new ArrayList<>();
    byte[] backend;
    for (int i = 0; (backend = nativeChanged(handle(), i, false)) != null; ++i) {
      byte[] option = nativeChanged(handle(), i, true);
      boolean isLive = nativeAppliesAtExecute(handle(), backend, option);
      (isLive ? atExecute : atLoad).add(text(backend) + "." + text(option));
    }
    return new Changes(atExecute, atLoad);
  }

  /** The options that have a value, as BACKEND.OPTION. */
  public synchronized List<String> options() {
    List<String> paths = new ArrayList<>();
    byte[] backend;
    while ((backend = nativeOption(handle(), paths.size(), false)) != null) {
      paths.add(text(backend) + "." + text(nativeOption(handle(), paths.size(), true)));
    }
    return paths;
  }

  /** The value of an option that is true or false. */
  public synchronized boolean getBoolean(String backend, String option) {
    boolean[] value = new boolean[1];
    check(nativeBoolean(handle(), bytes(backend), bytes(option), value), backend + "." + option);
    return value[0];
  }

  /** The value of an option that is an integer. */
  public synchronized long getLong(String backend, String option) {
    long[] value = new long[1];
    check(nativeLong(handle(), bytes(backend), bytes(option), value), backend + "." + option);
    return value[0];
  }

  /** The value of an option that is a number. */
  public synchronized double getDouble(String backend, String option) {
    double[] value = new double[1];
    check(nativeDouble(handle(), bytes(backend), bytes(option), value), backend + "." + option);
    return value[0];
  }

  /** The value of an option: a text as it is, any other value as in a condition; null if there is no such option. */
  public synchronized String getText(String backend, String option) {
    return text(nativeText(handle(), bytes(backend), bytes(option), false));
  }

  /** The value of an option as JSON, lists and tables with all items; null if there is no such option. */
  public synchronized String getJson(String backend, String option) {
    return text(nativeText(handle(), bytes(backend), bytes(option), true));
  }

  /** One line with the value of an option and its origin, or why it has none. Path: [METHOD[@INSTANCE]:]BACKEND.OPTION. */
  public synchronized String explain(String path) {
    String line = text(nativeExplain(handle(), bytes(path)));
    if (line.isEmpty()) throw new IllegalArgumentException("no option " + path + " was resolved");
    return line;
  }

  // --- models ---

  /** Selects the variant of a model, and returns its file. */
  public synchronized String selectModel(String model) {
    byte[][] file = new byte[1][];
    check(nativeSelectModel(handle(), bytes(model), file), model);
    return text(file[0]);
  }

  /**
   * Goes on to the next variant after a load has failed, and returns its file. Null if there is none or the model has no
   * fallback; then the choice stays as it is.
   */
  public synchronized String nextVariant(String reason) {
    byte[][] file = new byte[1][];
    int status = nativeNextVariant(handle(), bytes(reason), file);
    if (status == NO_VARIANT) return null;
    check(status, "the next variant");
    return text(file[0]);
  }

  /** The files of the variants of the model that was asked for. */
  public synchronized List<String> variants() {
    List<String> files = new ArrayList<>();
    for (byte[] file; (file = nativeVariantFile(handle(), files.size())) != null; ) files.add(text(file));
    return files;
  }

  /** The backend whose engine runs a variant, counted from 0; null for a program, which ExecuTorch runs. */
  public synchronized String variantBackend(int index) {
    if (index < 0 || index >= variants().size()) throw new IllegalArgumentException("no variant " + index);
    byte[] backend = nativeVariantBackend(handle(), index);
    return backend == null ? null : text(backend);
  }

  /** The index of the variant that was chosen, from 0; -1 if there is none. */
  public synchronized int variant() {
    return nativeVariant(handle());
  }

  /** Why a variant was chosen or not, counted from 0: a line for each reason. */
  public synchronized String explainVariant(int index) {
    if (index < 0 || index >= variants().size()) throw new IllegalArgumentException("no variant " + index);
    return text(nativeExplainVariant(handle(), index));
  }

  // --- usage ---

  /**
   * The record of what is used now: one line of JSON with its newline, at most 2,048 bytes. It has the arguments of the last
   * {@link #resolve} and the variant, if there are any, and no fact that identifies the device.
   */
  public synchronized String usage(Usage usage) {
    byte[][] line = new byte[1][];
    check(nativeUsage(handle(), usage.texts, usage.integers, usage.durations, line), "usage");
    return text(line[0]);
  }

  /** The reason that the record has. */
  public synchronized UsageReason usageReason(Usage usage) {
    return UsageReason.values()[nativeUsage(handle(), usage.texts, usage.integers, usage.durations, null)];
  }

  // --- helpers ---

  private long handle() {
    if (handle == 0) throw new IllegalStateException("the device is closed");
    return handle;
  }

  private String problems() {
    StringBuilder lines = new StringBuilder();
    byte[] line;
    for (int i = 0; (line = nativeProblem(handle(), i)) != null; ++i) lines.append('\n').append(text(line));
    return lines.toString();
  }

  synchronized int settle(byte[] directory, boolean isGood) {
    return nativeSettle(handle(), directory, isGood);
  }

  static void check(int status, String subject) {
    check(status, subject, "");
  }

  private static void check(int status, String subject, String problems) {
    if (status != 0) throw new DeviceException(status, subject + ": " + text(nativeStatusName(status)) + problems);
  }

  private static byte[] bytes(String text) {
    if (text.indexOf('\0') >= 0) throw new IllegalArgumentException("a text has a null character");
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static byte[][] bytes(List<String> texts) {
    byte[][] all = new byte[texts.size()][];
    for (int i = 0; i < all.length; ++i) all[i] = bytes(texts.get(i));
    return all;
  }

  private static String text(byte[] utf8) {
    return utf8 == null ? null : new String(utf8, StandardCharsets.UTF_8);
  }

  // Texts are UTF-8 as in C: the strings of JNI are encoded in another way.
  private static native int nativeOpen(
      byte[] bundle, SignatureVerifier verifier, byte[] publicKeys, long leastRevision, long now, long[] handle);

  static native int nativeInstall(
      byte[] directory, byte[] bundle, SignatureVerifier verifier, byte[] publicKeys, long leastRevision, long now);

  static native int nativeLoad(
      byte[] directory, SignatureVerifier verifier, byte[] publicKeys, long leastRevision, long now, long[] handle);

  private static native int nativeSettle(long handle, byte[] directory, boolean isGood);

  private static native void nativeClose(long handle);

  private static native byte[] nativeStatusName(int status);

  private static native byte[] nativeProducer(long handle);

  private static native byte[] nativeId(long handle);

  private static native long nativeRevision(long handle);

  private static native long nativeNotAfter(long handle);

  private static native byte[] nativeFactName(long handle, int index);

  private static native boolean nativeFactIsLive(long handle, int index);

  private static native int nativeDetect(long handle);

  private static native int nativeSetBoolean(long handle, byte[] fact, boolean value);

  private static native int nativeSetLong(long handle, byte[] fact, long value);

  private static native int nativeSetDouble(long handle, byte[] fact, double value);

  private static native int nativeSetText(long handle, byte[] fact, byte[] value);

  private static native int nativeSetTexts(long handle, byte[] fact, byte[][] values);

  private static native int nativeSetUnknown(long handle, byte[] fact, byte[] reason);

  private static native int nativeSetBackends(long handle, byte[][] ids);

  private static native int nativeForget(long handle, byte[] fact);

  private static native byte[] nativeFactsJson(long handle);

  private static native int nativeSelect(long handle);

  private static native byte[] nativeWrongFact(long handle);

  private static native int nativeUseProfile(long handle, byte[] name);

  private static native byte[] nativeProfile(long handle);

  private static native boolean nativeIsFallback(long handle);

  private static native byte[] nativeProfileName(long handle, int index);

  private static native byte[] nativeExplainMatch(long handle, int index);

  private static native int nativeResolve(long handle, byte[] method, byte[] instance);

  private static native int nativeUpdate(long handle);

  private static native byte[] nativeOption(long handle, int index, boolean isName);

  private static native byte[] nativeChanged(long handle, int index, boolean isName);

  private static native byte[] nativeProblem(long handle, int index);

  private static native boolean nativeAppliesAtExecute(long handle, byte[] backend, byte[] option);

  private static native int nativeBoolean(long handle, byte[] backend, byte[] option, boolean[] value);

  private static native int nativeLong(long handle, byte[] backend, byte[] option, long[] value);

  private static native int nativeDouble(long handle, byte[] backend, byte[] option, double[] value);

  private static native byte[] nativeText(long handle, byte[] backend, byte[] option, boolean isJson);

  private static native byte[] nativeExplain(long handle, byte[] path);

  private static native int nativeSelectModel(long handle, byte[] model, byte[][] file);

  private static native int nativeNextVariant(long handle, byte[] reason, byte[][] file);

  private static native byte[] nativeVariantFile(long handle, int index);

  private static native byte[] nativeVariantBackend(long handle, int index);

  private static native int nativeVariant(long handle);

  private static native byte[] nativeExplainVariant(long handle, int index);

  // Returns the status, or without `line` the reason.
  private static native int nativeUsage(
      long handle, byte[][] texts, long[] integers, double[] durations, byte[][] line);
}
