// The names of processors and devices. Written by tools/write_device_tables.py.

#pragma once

#include "../version.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {
namespace detection {

// Keys and values in turn, each followed by a NUL.

inline constexpr char kX86Vendors[] =
    "GenuineIntel\0" "Intel\0"
    "AuthenticAMD\0" "AMD\0";

inline constexpr char kArmImplementers[] =
    "41\0" "Arm\0"
    "42\0" "Broadcom\0"
    "46\0" "Fujitsu\0"
    "48\0" "HiSilicon\0"
    "4e\0" "NVIDIA\0"
    "51\0" "Qualcomm\0"
    "53\0" "Samsung\0"
    "61\0" "Apple\0"
    "c0\0" "Ampere\0";

inline constexpr char kArmParts[] =
    "d03\0" "Cortex-A53\0"
    "d04\0" "Cortex-A35\0"
    "d05\0" "Cortex-A55\0"
    "d07\0" "Cortex-A57\0"
    "d08\0" "Cortex-A72\0"
    "d09\0" "Cortex-A73\0"
    "d0a\0" "Cortex-A75\0"
    "d0b\0" "Cortex-A76\0"
    "d0c\0" "Neoverse-N1\0"
    "d0d\0" "Cortex-A77\0"
    "d0e\0" "Cortex-A76AE\0"
    "d40\0" "Neoverse-V1\0"
    "d41\0" "Cortex-A78\0"
    "d42\0" "Cortex-A78AE\0"
    "d44\0" "Cortex-X1\0"
    "d46\0" "Cortex-A510\0"
    "d47\0" "Cortex-A710\0"
    "d48\0" "Cortex-X2\0"
    "d49\0" "Neoverse-N2\0"
    "d4b\0" "Cortex-A78C\0"
    "d4c\0" "Cortex-X1C\0"
    "d4d\0" "Cortex-A715\0"
    "d4e\0" "Cortex-X3\0"
    "d4f\0" "Neoverse-V2\0"
    "d80\0" "Cortex-A520\0"
    "d81\0" "Cortex-A720\0"
    "d82\0" "Cortex-X4\0"
    "d84\0" "Neoverse-V3\0"
    "d85\0" "Cortex-X925\0"
    "d87\0" "Cortex-A725\0"
    "d8e\0" "Neoverse-N3\0";

inline constexpr char kDeviceVendors[] =
    "8086\0" "Intel\0"
    "1002\0" "AMD\0"
    "1022\0" "AMD\0"
    "10de\0" "NVIDIA\0"
    "17cb\0" "Qualcomm\0"
    "1ac1\0" "Google\0"
    "1d0f\0" "Amazon\0"
    "1da3\0" "Habana\0"
    "1e60\0" "Hailo\0"
    "1af4\0" "Red Hat\0"
    "amlogic\0" "Amlogic\0"
    "apple\0" "Apple\0"
    "arm\0" "Arm\0"
    "brcm\0" "Broadcom\0"
    "img\0" "Imagination\0"
    "nvidia\0" "NVIDIA\0"
    "qcom\0" "Qualcomm\0"
    "rockchip\0" "Rockchip\0"
    "vivante\0" "Vivante\0";

inline constexpr char kGpus[] =
    "8086:3e92\0" "Intel UHD Graphics 630\0"
    "8086:4680\0" "Intel UHD Graphics 770\0"
    "8086:4692\0" "Intel UHD Graphics 730\0"
    "8086:46a6\0" "Intel Iris Xe Graphics\0"
    "8086:46a8\0" "Intel Iris Xe Graphics\0"
    "8086:46d1\0" "Intel UHD Graphics\0"
    "8086:56a0\0" "Intel Arc A770\0"
    "8086:56a1\0" "Intel Arc A750\0"
    "8086:56a5\0" "Intel Arc A380\0"
    "8086:56c0\0" "Intel Data Center GPU Flex 170\0"
    "8086:56c1\0" "Intel Data Center GPU Flex 140\0"
    "8086:0bd5\0" "Intel Data Center GPU Max 1550\0"
    "8086:0bda\0" "Intel Data Center GPU Max 1100\0"
    "8086:6420\0" "Intel Graphics (Lunar Lake)\0"
    "8086:64a0\0" "Intel Arc Graphics 130V/140V\0"
    "8086:7d45\0" "Intel Graphics (Meteor Lake)\0"
    "8086:7d51\0" "Intel Arc Pro 130T/140T\0"
    "8086:7d55\0" "Intel Arc Graphics (Meteor Lake)\0"
    "8086:7d67\0" "Intel Graphics (Arrow Lake)\0"
    "8086:9a49\0" "Intel Iris Xe Graphics\0"
    "8086:a780\0" "Intel UHD Graphics 770\0"
    "8086:a7a0\0" "Intel Iris Xe Graphics\0"
    "8086:b080\0" "Intel Arc B390\0"
    "8086:e20b\0" "Intel Arc B580\0"
    "8086:e20c\0" "Intel Arc B570\0"
    "1002:1114\0" "AMD Radeon 840M/860M\0"
    "1002:13c0\0" "AMD Radeon Graphics (Granite Ridge)\0"
    "1002:150e\0" "AMD Radeon 880M/890M\0"
    "1002:1586\0" "AMD Radeon 8050S/8060S\0"
    "1002:15bf\0" "AMD Radeon Graphics (Phoenix)\0"
    "1002:1638\0" "AMD Radeon Vega (Cezanne)\0"
    "1002:164e\0" "AMD Radeon Graphics (Raphael)\0"
    "1002:1681\0" "AMD Radeon 680M\0"
    "1002:1900\0" "AMD Radeon Graphics (Hawk Point)\0"
    "1002:73bf\0" "AMD Radeon RX 6800/6900\0"
    "1002:740f\0" "AMD Instinct MI210\0"
    "1002:744c\0" "AMD Radeon RX 7900\0"
    "1002:7480\0" "AMD Radeon RX 7600\0"
    "1002:74a0\0" "AMD Instinct MI300A\0"
    "1002:74a1\0" "AMD Instinct MI300X\0"
    "1002:7550\0" "AMD Radeon RX 9070\0"
    "10de:1eb8\0" "NVIDIA Tesla T4\0"
    "10de:20b0\0" "NVIDIA A100 SXM4 40GB\0"
    "10de:20b2\0" "NVIDIA A100 SXM4 80GB\0"
    "10de:2230\0" "NVIDIA RTX A6000\0"
    "10de:2236\0" "NVIDIA A10\0"
    "10de:2237\0" "NVIDIA A10G\0"
    "10de:2330\0" "NVIDIA H100 SXM5 80GB\0"
    "10de:2335\0" "NVIDIA H200 SXM 141GB\0"
    "10de:2684\0" "NVIDIA GeForce RTX 4090\0"
    "10de:26b9\0" "NVIDIA L40S\0"
    "10de:2704\0" "NVIDIA GeForce RTX 4080\0"
    "10de:27b8\0" "NVIDIA L4\0"
    "10de:2b85\0" "NVIDIA GeForce RTX 5090\0"
    "brcm,2711-v3d\0" "VideoCore VI\0"
    "brcm,2712-v3d\0" "VideoCore VII\0"
    "nvidia,ga10b\0" "Orin GPU (GA10B)\0"
    "nvidia,gv11b\0" "Xavier GPU (GV11B)\0";

inline constexpr char kNpus[] =
    "8086:643e\0" "Intel NPU (Lunar Lake)\0"
    "8086:7d1d\0" "Intel NPU (Meteor Lake)\0"
    "8086:ad1d\0" "Intel NPU (Arrow Lake)\0"
    "8086:b03e\0" "Intel NPU (Panther Lake)\0"
    "1022:1502\0" "AMD Ryzen AI (Phoenix)\0"
    "1022:17f0\0" "AMD Ryzen AI (Strix)\0"
    "1ac1:089a\0" "Coral Edge TPU\0"
    "1d0f:7064\0" "AWS Inferentia\0"
    "1d0f:7164\0" "AWS Trainium\0"
    "1d0f:7264\0" "AWS Inferentia2\0"
    "1d0f:7364\0" "AWS Trainium2\0"
    "1da3:0001\0" "Habana Goya\0"
    "1da3:1000\0" "Habana Gaudi\0"
    "1da3:1020\0" "Habana Gaudi2\0"
    "1da3:1060\0" "Habana Gaudi3\0"
    "1e60:2864\0" "Hailo-8\0"
    "1e60:45c4\0" "Hailo-10H\0"
    "rockchip,rk3588-rknn-core\0" "Rockchip NPU (RK3588)\0";

inline constexpr char kAppleFeatures[] =
    "AdvSIMD\0" "asimd\0"
    "arm.AdvSIMD\0" "asimd\0"
    "arm.FEAT_AES\0" "aes\0"
    "arm.FEAT_BF16\0" "bf16\0"
    "arm.FEAT_CRC32\0" "crc32\0"
    "arm.FEAT_DotProd\0" "asimddp\0"
    "arm.FEAT_FCMA\0" "fcma\0"
    "arm.FEAT_FHM\0" "asimdfhm\0"
    "arm.FEAT_FP16\0" "asimdhp\0"
    "arm.FEAT_I8MM\0" "i8mm\0"
    "arm.FEAT_JSCVT\0" "jscvt\0"
    "arm.FEAT_LRCPC\0" "lrcpc\0"
    "arm.FEAT_LSE\0" "atomics\0"
    "arm.FEAT_RDM\0" "asimdrdm\0"
    "arm.FEAT_SHA256\0" "sha2\0"
    "arm.FEAT_SHA3\0" "sha3\0"
    "arm.FEAT_SHA512\0" "sha512\0"
    "arm.FEAT_SME\0" "sme\0"
    "arm.FEAT_SME2\0" "sme2\0";

inline constexpr char kIntelFeatures[] =
    "avx1.0\0" "avx\0"
    "sse3\0" "pni\0"
    "sse4.1\0" "sse4_1\0"
    "sse4.2\0" "sse4_2\0";

inline constexpr char kArchitectures[] =
    "aarch64\0" "arm64\0"
    "amd64\0" "x86_64\0"
    "armv6l\0" "arm\0"
    "armv7l\0" "arm\0"
    "armv8l\0" "arm\0"
    "i386\0" "x86\0"
    "i686\0" "x86\0"
    "x64\0" "x86_64\0"
    "x86-64\0" "x86_64\0";

inline constexpr char kSystems[] =
    "darwin\0" "macos\0"
    "mac\0" "macos\0"
    "osx\0" "macos\0"
    "nt\0" "windows\0"
    "win32\0" "windows\0";

inline constexpr char kPlaceholders[] =
    "default string\0" "\0"
    "none\0" "\0"
    "not applicable\0" "\0"
    "not available\0" "\0"
    "not specified\0" "\0"
    "o.e.m.\0" "\0"
    "system manufacturer\0" "\0"
    "system product name\0" "\0"
    "to be filled by o.e.m.\0" "\0"
    "unknown\0" "\0";


}  // namespace detection
}  // inline namespace
}  // namespace etconfig::device
