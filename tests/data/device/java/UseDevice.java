import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.etconfig.device.Changes;
import org.etconfig.device.Device;
import org.etconfig.device.DeviceException;
import org.etconfig.device.Usage;

/** Calls everything that org.etconfig.device.Device has, and prints the answers for Python to compare. */
public final class UseDevice {
  private interface Call {
    void run() throws Exception;
  }

  private static void show(String what, Object value) {
    System.out.println(what + "\t" + String.valueOf(value).replace("\n", "|"));
  }

  private static void showError(String what, Call call) {
    try {
      call.run();
      show(what, "no error");
    } catch (DeviceException error) {
      show(what, error.status() + " " + error.getMessage());
    } catch (Exception error) {
      show(what, error.getClass().getSimpleName() + " " + error.getMessage());
    }
  }

  private static void facts(Device device) {
    device.set("cpu.available_cores", 4);
    device.set("power.battery_level", 0.5);
    device.set("os.name", "linux");
    device.set("cpu.features", Arrays.asList("fp16", "dotprod"));
    device.setBackends(Collections.singletonList("XnnpackBackend"));
    device.setUnknown("thermal.state", "the service did not answer \u00e9 \ud83d\ude00");
  }

  private static void decide(Device device) {
    device.useProfile("acme/board");
    show("match", device.explainMatch("acme/board"));
    device.resolve("forward");
    for (String path : device.options()) {
      int dot = path.indexOf('.');
      String backend = path.substring(0, dot);
      String option = path.substring(dot + 1);
      show("option " + path, device.getJson(backend, option));
      show("explain " + path, device.explain(path));
    }
    show("long", device.getLong("ReferenceCpuBackend", "num_threads"));
    show("text", device.getText("ReferenceCpuBackend", "num_threads"));
    show("none", device.getText("ReferenceCpuBackend", "nothing"));
    showError("kind", () -> device.getDouble("ReferenceCpuBackend", "num_threads"));
    showError("missing", () -> device.getLong("ReferenceCpuBackend", "nothing"));
    show("empty", device.update().isEmpty());
    device.set("cpu.available_cores", 8);
    Changes changes = device.update();
    show("at execute", changes.atExecute());
    show("at load", changes.atLoad());
    device.forget("cpu.available_cores");
    showError("update", device::update);
    show("kept", device.getLong("ReferenceCpuBackend", "num_threads"));
    showError("resolve", () -> device.resolve("forward"));
    showError("method", () -> device.resolve("decode", "left"));
  }

  private static void models(Device device) {
    device.set("cpu.available_cores", 4);
    show("model", device.selectModel("digits"));
    show("variants", device.variants());
    show("next", device.nextVariant("code \u00e9 0x12"));
    show("index", device.variant());
    show("backends", device.variantBackend(0) + " " + device.variantBackend(1));
    showError("backend", () -> device.variantBackend(2));
    show("failed", device.explainVariant(0));
    show("chosen", device.explainVariant(1));
    show("last", device.nextVariant("again"));
    showError("variant", () -> device.explainVariant(2));
    showError("no model", () -> device.selectModel("nothing"));
  }

  private static void usage(Device device) {
    show("usage", device.usage(new Usage()));
    Usage usage = new Usage().device("phone \u00e9 \ud83d\ude00").atMillis(1700000000000L);
    usage.loadMicros(8200).firstRunMicros(900.5).runMicros(310, 402.25, 100);
    show("usage all", device.usage(usage));
    show("usage reason", device.usageReason(usage));
    show("usage failed", device.usage(usage.failure("it \"crashed\"")));
    show("usage failed reason", device.usageReason(usage));
    showError("usage negative", () -> usage.atMillis(-1));
    showError("usage duration", () -> usage.loadMicros(Double.NaN));
    showError("usage text", () -> usage.device("a\0b"));
  }

  private static void kinds(byte[] bytes) {
    try (Device device = Device.open(bytes)) {
      device.useProfile(device.profiles().get(0));
      device.resolve("forward");
      show("is_on", device.getBoolean("WideBackend", "is_on"));
      show("scale", device.getDouble("WideBackend", "scale"));
      for (String path : device.options()) {
        int dot = path.indexOf('.');
        show("value " + path, device.getJson(path.substring(0, dot), path.substring(dot + 1)));
      }
    }
  }

  private static void misuse(byte[] bytes) throws Exception {
    showError("not a bundle", () -> Device.open("text".getBytes(StandardCharsets.UTF_8)));
    showError("damaged", () -> Device.open(Arrays.copyOf(bytes, bytes.length - 4)));
    showError("no bytes", () -> Device.open(new byte[0]));
    showError("null", () -> Device.open((byte[]) null));
    Device device = Device.open(bytes);
    showError("order", () -> device.resolve("forward"));
    showError("usage order", () -> device.usage(new Usage()));
    showError("no fact", () -> device.set("cpu.nothing", 1));
    showError("wrong fact", () -> device.set("cpu.available_cores", 0));
    showError("wrong type", () -> device.set("cpu.available_cores", "four"));
    showError("null text", () -> device.set("power.source", (String) null));
    showError("null character", () -> device.set("power.source", "a\0b"));
    showError("no profile", () -> device.useProfile("tablet"));
    showError("no match", () -> device.explainMatch("tablet"));
    device.close();
    device.close();
    showError("closed", device::select);
    showError("closed list", device::facts);
  }

  /** Threads share an object and have one each; all see whole answers, or that the object is closed. */
  private static void threads(byte[] bytes) throws Exception {
    Device shared = Device.open(bytes);
    List<Thread> threads = new ArrayList<>();
    List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());
    for (int number = 0; number < 8; ++number) {
      int cores = number + 1;
      Thread thread = new Thread(() -> {
        for (int i = 0; i < 200; ++i) {
          try (Device own = Device.open(bytes)) {
            own.set("cpu.available_cores", cores);
            own.useProfile("acme/board");
            own.resolve("forward");
            if (own.getLong("ReferenceCpuBackend", "num_threads") != cores) throw new AssertionError(cores);
          }
          shared.set("cpu.available_cores", cores);
          shared.useProfile("acme/board");
          shared.resolve("forward");
          long found = shared.getLong("ReferenceCpuBackend", "num_threads");
          if (found < 1 || found > 8) throw new AssertionError(found);
        }
      });
      thread.setUncaughtExceptionHandler((each, failure) -> failures.add(failure));
      threads.add(thread);
      thread.start();
    }
    for (Thread thread : threads) thread.join();
    Thread user = new Thread(() -> {
      while (true) shared.factsJson();
    });
    user.setUncaughtExceptionHandler((each, failure) -> show("stopped", failure.getMessage()));
    user.start();
    Thread.sleep(20);
    shared.close();
    user.join();
    show("failures", failures);
  }

  public static void main(String[] arguments) throws Exception {
    byte[] bytes = Files.readAllBytes(Paths.get(arguments[0]));
    ByteBuffer direct = ByteBuffer.allocateDirect(bytes.length + 8);
    direct.position(4);
    direct.put(bytes);
    direct.limit(direct.position());
    direct.position(4);
    try (Device device = Device.open(direct)) {
      show("position", direct.position());
      show("producer", device.producer());
      show("facts", device.facts());
      show("live", device.liveFacts());
      show("profiles", device.profiles());
      device.detect();
      show("sheet", device.factsJson());
      show("selected", device.select());
      show("fallback", device.isFallback());
      for (String fact : device.facts()) device.forget(fact);
      facts(device);
      show("sheet set", device.factsJson());
      decide(device);
      models(device);
      show("usage without arguments", device.usage(new Usage()));
      device.resolve("forward");
      device.selectModel("digits");
      device.nextVariant("code \u00e9 0x12");
      usage(device);
    }
    kinds(Files.readAllBytes(Paths.get(arguments[1])));
    misuse(bytes);
    threads(bytes);
  }
}
