# For CocoaPods: `pod "EtconfigDevice", :path => "etconfig/device"`.
Pod::Spec.new do |spec|
  header = File.read(File.join(__dir__, "include/etconfig/version.h"))
  spec.name = "EtconfigDevice"
  spec.version = %w[MAJOR MINOR PATCH].map { |part| header[/ETCONFIG_VERSION_#{part} (\d+)/, 1] }.join(".")
  spec.summary = "Options of ExecuTorch's backends, decided on the device"
  spec.homepage = "https://docs.pytorch.org/executorch/"
  spec.license = { :type => "BSD-3-Clause" }
  spec.author = "etconfig"
  spec.source = { :path => "." }
  spec.ios.deployment_target = "13.0"
  spec.osx.deployment_target = "11.0"
  spec.swift_versions = ["5.7"]
  spec.source_files = "etconfig_device.cpp", "bindings/swift/Sources/*.swift", "include/etconfig/etconfig_device.h"
  spec.public_header_files = "include/etconfig/etconfig_device.h"
  spec.preserve_paths = "include/etconfig/**/*.h"
  spec.library = "c++"
  spec.pod_target_xcconfig = {
    "CLANG_CXX_LANGUAGE_STANDARD" => "c++17",
    "HEADER_SEARCH_PATHS" => '"$(PODS_TARGET_SRCROOT)/include"',
  }
end
