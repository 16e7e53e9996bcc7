package org.etconfig.device;

import java.util.Collections;
import java.util.List;

/** The options that an update changed, as BACKEND.OPTION. */
public final class Changes {
  private final List<String> atExecute;
  private final List<String> atLoad;

  Changes(List<String> atExecute, List<String> atLoad) {
    this.atExecute = Collections.unmodifiableList(atExecute);
    this.atLoad = Collections.unmodifiableList(atLoad);
  }

  /** Those that apply at the next execute of the loaded method. */
  public List<String> atExecute() {
    return atExecute;
  }

  /** Those that need a new load. */
  public List<String> atLoad() {
    return atLoad;
  }

  /** True if no option changed. */
  public boolean isEmpty() {
    return atExecute.isEmpty() && atLoad.isEmpty();
  }
}
