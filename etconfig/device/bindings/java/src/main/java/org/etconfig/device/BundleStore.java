package org.etconfig.device;

import java.nio.charset.StandardCharsets;
import java.util.Objects;

/**
 * A directory that keeps the last good bundle, and one on trial.
 *
 * <pre>{@code
 * BundleStore store = new BundleStore(context.getFilesDir() + "/etconfig");
 * store.install(downloaded, demands);
 *
 * Device device = store.load(demands); // at each start, once
 * if (device == null) device = Device.open(builtIn);
 * ... // load the model, run it once
 * store.confirm(device);
 * }</pre>
 *
 * <p>After three loads without {@link #confirm}, the last good bundle is loaded again. A cut of power leaves the old bundle or
 * the new one. What is refused is a {@link DeviceException}.
 */
public final class BundleStore {
  private static final int NO_BUNDLE = 27;

  private final byte[] directory;

  /** The directory is made if only its last part is missing. */
  public BundleStore(String directory) {
    if (directory.indexOf('\0') >= 0) throw new IllegalArgumentException("a text has a null character");
    this.directory = directory.getBytes(StandardCharsets.UTF_8);
  }

  /** Puts a bundle on trial. */
  public void install(byte[] bundle, Demands demands) {
    Objects.requireNonNull(bundle);
    Device.check(Device.nativeInstall(directory, bundle, demands.verifier, demands.publicKeys, demands.leastRevision,
        demands.now), "the bundle");
  }

  /** Opens the bundle on trial, or the good one; null if the store is empty. */
  public Device load(Demands demands) {
    long[] handle = new long[1];
    int status = Device.nativeLoad(directory, demands.verifier, demands.publicKeys, demands.leastRevision, demands.now, handle);
    return status == NO_BUNDLE ? null : Device.opened(status, handle, "the store");
  }

  /** Makes the bundle of a device, which this store loaded, the good one. */
  public void confirm(Device device) {
    Device.check(device.settle(directory, true), "the bundle");
  }

  /** Gives the bundle of a device up for good, for the one before. */
  public void reject(Device device) {
    Device.check(device.settle(directory, false), "the bundle");
  }
}
