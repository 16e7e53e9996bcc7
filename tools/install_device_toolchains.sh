#!/bin/sh
# Install clang, the cross compilers and the emulators that `make test-device` uses, where apt-get may; name them elsewhere.
missing=
need() {
  command -v "$1" >/dev/null || missing="$missing $2"
}
need clang++ clang
need aarch64-linux-gnu-g++ g++-aarch64-linux-gnu
need arm-linux-gnueabihf-g++ g++-arm-linux-gnueabihf
need qemu-aarch64 qemu-user
need qemu-arm qemu-user
[ -z "$missing" ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing && exit 0
fi
echo "left out, since these packages (Debian's names) are missing:$missing" >&2
