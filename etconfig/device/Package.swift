// swift-tools-version:5.7
// etconfig on Apple devices: `.package(path: "etconfig/device")`, product EtconfigDevice.
import PackageDescription

let package = Package(
    name: "EtconfigDevice",
    platforms: [.iOS(.v13), .macOS(.v11)],
    products: [.library(name: "EtconfigDevice", targets: ["EtconfigDevice"])],
    targets: [
        .target(
            name: "CEtconfigDevice",
            path: ".",
            exclude: ["CMakeLists.txt", "EtconfigDevice.podspec", "bindings", "cmake", "etdevice"],
            sources: ["etconfig_device.cpp"],
            publicHeadersPath: "include"
        ),
        .target(name: "EtconfigDevice", dependencies: ["CEtconfigDevice"], path: "bindings/swift/Sources"),
    ],
    cxxLanguageStandard: .cxx17
)
