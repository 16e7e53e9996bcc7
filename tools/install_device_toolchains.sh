#!/bin/sh
# Install what `make test-device` uses, where apt-get and npm may, and name it elsewhere: clang, the cross compilers, the
# emulators, Java, OpenSSL and libsodium; and Kotlin in build/kotlin. There is no Debian package of Swift: its tests are skipped without it.
missing=
need() {
  command -v "$1" >/dev/null || missing="$missing $2"
}
need clang++ clang
need aarch64-linux-gnu-g++ g++-aarch64-linux-gnu
need arm-linux-gnueabihf-g++ g++-arm-linux-gnueabihf
need qemu-aarch64 qemu-user
need qemu-arm qemu-user
need javac default-jdk-headless
[ -e /usr/include/openssl/evp.h ] || missing="$missing libssl-dev"
[ -e /usr/include/sodium.h ] || missing="$missing libsodium-dev"
if ! command -v kotlinc >/dev/null && [ ! -x build/kotlin/node_modules/kotlin-compiler/bin/kotlinc ]; then
  npm install --silent --no-audit --no-fund --ignore-scripts --prefix build/kotlin kotlin-compiler@2.4.20 ||
    echo "left out: kotlinc, which npm has as kotlin-compiler" >&2
fi
[ -z "$missing" ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing && exit 0
fi
echo "left out, since these packages (Debian's names) are missing:$missing" >&2
