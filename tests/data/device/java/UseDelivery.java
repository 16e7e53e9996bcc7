import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.Signature;
import java.util.ArrayList;
import java.util.List;
import org.etconfig.device.BundleStore;
import org.etconfig.device.Demands;
import org.etconfig.device.Device;
import org.etconfig.device.DeviceException;
import org.etconfig.device.Ed25519Verifier;

/** Verifies bundles and keeps them in a store, and prints the answers for Python to compare. */
public final class UseDelivery {
  private interface Call {
    Object run() throws Exception;
  }

  private static void show(String what, Call call) {
    try {
      System.out.println(what + "\t" + call.run());
    } catch (DeviceException error) {
      System.out.println(what + "\t" + error.status() + " " + error.getMessage());
    } catch (Exception error) {
      System.out.println(what + "\t" + error.getClass().getSimpleName() + " " + error.getMessage());
    }
  }

  private static long revision(byte[] bundle, Demands demands) {
    try (Device device = Device.open(bundle, demands)) {
      return device.revision();
    }
  }

  private static String loaded(BundleStore store, Demands demands, boolean isGood) {
    try (Device device = store.load(demands)) {
      if (device == null) return "null";
      if (isGood) store.confirm(device);
      return String.valueOf(device.revision());
    }
  }

  public static void main(String[] words) throws Exception {
    Path place = Paths.get(words[0]);
    byte[] plain = Files.readAllBytes(place.resolve("plain"));
    byte[] first = Files.readAllBytes(place.resolve("first"));
    byte[] second = Files.readAllBytes(place.resolve("second"));
    byte[] key = Files.readAllBytes(place.resolve("key-0"));
    byte[] next = Files.readAllBytes(place.resolve("key-1"));
    Ed25519Verifier verifier = new Ed25519Verifier();
    Demands signed = Demands.none().signedBy(verifier, key);
    Demands either = Demands.none().signedBy(verifier, key, next);

    try (Device device = Device.open(plain)) {
      show("id", device::id);
    }
    show("signed", () -> revision(first, signed));
    show("either key", () -> revision(second, either));
    show("other key", () -> revision(second, signed));
    show("no key", () -> revision(second, Demands.none().signedBy(verifier)));
    byte[] changed = first.clone();
    changed[40] ^= 1;
    show("changed", () -> revision(changed, signed));
    show("unsigned", () -> revision(plain, signed));
    show("unsigned is normal", () -> revision(plain, Demands.none()));
    show("short key", () -> Demands.none().signedBy(verifier, new byte[31]));
    Demands failing = Demands.none().signedBy((data, signature, publicKey) -> {
      throw new IllegalStateException("no provider");
    }, key, next);
    show("no algorithm", () -> revision(first, failing));

    show("old", () -> revision(first, signed.revisionFrom(2)));
    show("valid", () -> revision(second, either.revisionFrom(2).validAt(86400)));
    show("expired", () -> revision(second, either.validAt(86401)));
    try (Device device = Device.open(second)) {
      show("until", device::notAfter);
    }

    BundleStore store = new BundleStore(place.resolve("store").toString());
    show("empty", () -> loaded(store, either, true));
    store.install(first, either);
    show("confirmed", () -> loaded(store, either, true));
    show("confirmed again", () -> loaded(store, either, true));
    store.install(second, either);
    List<String> trials = new ArrayList<>();
    for (int i = 0; i < 5; ++i) trials.add(loaded(store, either, false));
    show("trials", () -> trials);
    show("again", () -> {
      store.install(second, either);
      return "installed";
    });
    show("lower", () -> {
      store.install(plain, Demands.none());
      return "installed";
    });
    try (Device device = Device.open(first)) {
      show("not loaded", () -> {
        store.confirm(device);
        return "confirmed";
      });
    }
    show("nowhere", () -> new BundleStore("/nowhere/at/all").load(either));

    KeyPair pair = KeyPairGenerator.getInstance("Ed25519").generateKeyPair();
    ByteArrayOutputStream bundle = new ByteArrayOutputStream();
    bundle.write(plain);
    bundle.write("ETCBSIG1".getBytes(StandardCharsets.UTF_8));
    Signature signature = Signature.getInstance("Ed25519");
    signature.initSign(pair.getPrivate());
    signature.update(bundle.toByteArray());
    bundle.write(signature.sign());
    Files.write(place.resolve("java.etbundle"), bundle.toByteArray());
    Files.write(place.resolve("java.der"), pair.getPublic().getEncoded());
  }
}
