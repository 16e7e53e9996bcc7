package org.etconfig.device;

/** A refused call: the message says what was asked for and why it failed. */
public final class DeviceException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final int status;

  DeviceException(int status, String message) {
    super(message);
    this.status = status;
  }

  /** The status of etconfig_device.h, such as 7 if no profile matches. */
  public int status() {
    return status;
  }
}
