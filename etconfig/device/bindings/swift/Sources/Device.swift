#if canImport(CEtconfigDevice)  // in a pod, its functions are a part of this module
import CEtconfigDevice
#endif
import Foundation

/// A refused call: what was asked for, and why it failed.
public struct DeviceError: Error, CustomStringConvertible {
    /// The status of `etconfig_device.h`, such as 7 if no profile matches.
    public let status: Int32
    public let description: String
}

/// The options that an update changed, as BACKEND.OPTION.
public struct Changes {
    /// Those that apply at the next execute of the loaded method.
    public let atExecute: [String]
    /// Those that need a new load.
    public let atLoad: [String]
}

/// Why these options and this variant were used.
public enum UsageReason: Int32 {
    /// The profile's condition selected it.
    case matched
    /// The load of an earlier variant failed.
    case fallback
    /// The profile was named.
    case named
    /// The configuration has no conditions left.
    case fixed
    /// Nothing was resolved or loaded.
    case error
}

/// What only the application knows about a use. Texts that are empty and numbers that are nil are not written.
public struct Usage {
    /// The application's own name for the device.
    public var device = ""
    /// Unix time in milliseconds.
    public var atMillis: Int64?
    /// Microseconds, as all durations.
    public var load: Double?
    public var firstRun: Double?
    /// The median and the 95th percentile of `runs` runs.
    public var p50: Double?
    public var p95: Double?
    public var runs: Int64?
    /// Why a load or run failed; 200 bytes of it are written.
    public var failure = ""

    public init() {}
}

/// The demands of an application on a bundle; `Demands()` has none.
public struct Demands {
    /// Verifies an Ed25519 signature: the data, the signature, the public key. With CryptoKit:
    ///
    ///     { data, signature, key in
    ///         let key = try? Curve25519.Signing.PublicKey(rawRepresentation: key)
    ///         return key?.isValidSignature(signature, for: data) ?? false
    ///     }
    public typealias Verify = (Data, Data, Data) -> Bool

    /// With it, a bundle needs a signature of one of the keys.
    public var verify: Verify?
    /// Keys of 32 bytes each.
    public var publicKeys: [Data]
    public var leastRevision: UInt64
    /// The seconds since 1970 in UTC, to refuse a bundle that has expired; 0 refuses none.
    public var now: UInt64

    public init(verify: Verify? = nil, publicKeys: [Data] = [], leastRevision: UInt64 = 0, now: UInt64 = 0) {
        precondition(publicKeys.allSatisfy { $0.count == 32 }, "a public key has 32 bytes")
        self.verify = verify
        self.publicKeys = publicKeys
        self.leastRevision = leastRevision
        self.now = now
    }

    private final class Box {
        let verify: Verify
        init(_ verify: @escaping Verify) { self.verify = verify }
    }

    fileprivate func with<Result>(_ call: (UnsafePointer<etconfig_device_demands>) -> Result) -> Result {
        let box = verify.map(Box.init)
        let keys = [UInt8](publicKeys.joined())
        return keys.withUnsafeBufferPointer { bytes in
            var demands = etconfig_device_demands()
            if let box = box {
                demands.verify = { context, data, size, signature, key in
                    guard let context = context, let data = data, let signature = signature, let key = key else { return 0 }
                    let box = Unmanaged<Box>.fromOpaque(context).takeUnretainedValue()
                    let content = Data(bytes: data, count: size)
                    return box.verify(content, Data(bytes: signature, count: 64), Data(bytes: key, count: 32)) ? 1 : 0
                }
                demands.context = Unmanaged.passUnretained(box).toOpaque()
            }
            demands.public_keys = bytes.baseAddress
            demands.key_count = UInt32(publicKeys.count)
            demands.least_revision = leastRevision
            demands.now = now
            return withExtendedLifetime(box) { withUnsafePointer(to: demands, call) }
        }
    }
}

/// Chooses a profile, the options of every backend and the variant of a model on this device, from a bundle that
/// `etconfig pack` wrote.
///
///     let device = try Device(bundle: Data(contentsOf: url))
///     try device.detect()
///     try device.set("power.source", "battery")
///     try device.select()
///     try device.resolve("forward")
///     let threads = try device.integer("XnnpackBackend", "num_threads")
///
/// An object may be used by one thread at a time.
public final class Device {
    private let bytes: UnsafeMutableRawPointer
    private let memory: UnsafeMutableRawPointer
    private let device: OpaquePointer

    /// Opens a bundle, which is copied.
    public init(bundle: Data) throws {
        bytes = UnsafeMutableRawPointer.allocate(byteCount: max(bundle.count, 1), alignment: 16)
        bundle.copyBytes(to: bytes.assumingMemoryBound(to: UInt8.self), count: bundle.count)
        let size = etconfig_device_size()
        memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
        device = etconfig_device_create(memory, size)
        try check(etconfig_device_open(device, bytes, bundle.count), "the bundle")
    }

    /// Opens a bundle that the application does not trust yet.
    public init(bundle: Data, demands: Demands) throws {
        bytes = UnsafeMutableRawPointer.allocate(byteCount: max(bundle.count, 1), alignment: 16)
        bundle.copyBytes(to: bytes.assumingMemoryBound(to: UInt8.self), count: bundle.count)
        let size = etconfig_device_size()
        memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
        device = etconfig_device_create(memory, size)
        try check(demands.with { etconfig_device_open_checked(device, bytes, bundle.count, $0) }, "the bundle")
    }

    /// Opens the bundle on trial of a store, or the good one: once at each start. Status 27 if the store is empty.
    public init(store directory: String, demands: Demands) throws {
        let count = etconfig_device_store_size(directory)
        bytes = UnsafeMutableRawPointer.allocate(byteCount: max(count, 1), alignment: 16)
        let size = etconfig_device_size()
        memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
        device = etconfig_device_create(memory, size)
        try check(demands.with { etconfig_device_store_load(device, directory, bytes, count, $0) }, "the store")
    }

    deinit {
        memory.deallocate()
        bytes.deallocate()
    }

    /// The id of the bundle, for reports: equal for bundles that decide alike.
    public var id: String { text(etconfig_device_id(device)) ?? "" }

    /// The number of this release, which grows; 0 if it has none.
    public var revision: UInt64 { etconfig_device_revision(device) }

    /// The last second in which the bundle is valid, since 1970 in UTC; 0 if it does not expire.
    public var notAfter: UInt64 { etconfig_device_not_after(device) }

    // MARK: the store of bundles

    /// Puts a bundle on trial in a store, which is a directory.
    public static func install(_ bundle: Data, store directory: String, demands: Demands) throws {
        let status = bundle.withUnsafeBytes { bytes in
            demands.with { etconfig_device_store_install(directory, bytes.baseAddress, bundle.count, $0) }
        }
        guard status == 0 else {
            throw DeviceError(status: status, description: String(cString: etconfig_device_status_name(status)))
        }
    }

    /// Makes the bundle, which this object loaded from a store, the good one.
    public func confirm(store directory: String) throws {
        try check(etconfig_device_store_confirm(device, directory), "the bundle")
    }

    /// Gives it up for good, for the one before.
    public func reject(store directory: String) throws {
        try check(etconfig_device_store_reject(device, directory), "the bundle")
    }

    // MARK: facts

    /// The names of the facts that the bundle reads, sorted.
    public var facts: [String] { texts { etconfig_device_fact_name(device, $0) } }

    /// The facts that may change at any time: set or detect them again before `update`.
    public var liveFacts: [String] {
        facts.enumerated().filter { etconfig_device_fact_is_live(device, UInt32($0.offset)) == 1 }.map(\.element)
    }

    /// Detects the facts that the bundle reads; those that were set stay as they are.
    public func detect() throws { try check(etconfig_device_detect(device), "detection") }

    public func set(_ fact: String, _ value: Bool) throws {
        try check(etconfig_device_set_boolean(device, fact, value ? 1 : 0), fact)
    }

    public func set(_ fact: String, _ value: Int) throws {
        try check(etconfig_device_set_integer(device, fact, Int64(value)), fact)
    }

    public func set(_ fact: String, _ value: Double) throws {
        try check(etconfig_device_set_number(device, fact, value), fact)
    }

    public func set(_ fact: String, _ value: String) throws {
        try check(etconfig_device_set_text(device, fact, value), fact)
    }

    public func set(_ fact: String, _ values: [String]) throws {
        try check(withPointers(values) { etconfig_device_set_texts(device, fact, $0, UInt32(values.count)) }, fact)
    }

    /// Makes a fact unknown, with a reason; detection leaves it alone.
    public func setUnknown(_ fact: String, _ reason: String) throws {
        try check(etconfig_device_set_unknown(device, fact, reason), fact)
    }

    /// Sets `runtime.backends`, the ids of the backends of the runtime, if the bundle reads it.
    public func setBackends(_ ids: [String]) throws {
        try check(withPointers(ids) { etconfig_device_set_backends(device, $0, UInt32(ids.count)) }, "runtime.backends")
    }

    /// Forgets a fact; detection may find it again.
    public func forget(_ fact: String) throws { try check(etconfig_device_forget(device, fact), fact) }

    /// The facts as a fact sheet, which the commands of etconfig read.
    public var factsJSON: String { written { etconfig_device_facts_json(device, $0, $1) } }

    // MARK: profiles

    /// Selects the profile that fits the facts, and returns its name.
    @discardableResult
    public func select() throws -> String {
        let status = etconfig_device_select(device)
        try check(status, text(etconfig_device_wrong_fact(device)) ?? "no profile selected")
        return profile ?? ""
    }

    /// Names the profile instead.
    public func useProfile(_ name: String) throws { try check(etconfig_device_use_profile(device, name), name) }

    /// The name of the selected profile.
    public var profile: String? { text(etconfig_device_profile(device)) }

    /// True if no profile is about this device, so that the one that matches every device is left.
    public var isFallback: Bool { etconfig_device_is_fallback(device) == 1 }

    /// The names of all profiles, sorted.
    public var profiles: [String] { texts { etconfig_device_profile_name(device, $0) } }

    /// Why a profile matches this device or not; nil if the bundle does not have it.
    public func explainMatch(_ profile: String) -> String? {
        guard let index = profiles.firstIndex(of: profile) else { return nil }
        return written { etconfig_device_explain_match(device, UInt32(index), $0, $1) }
    }

    // MARK: arguments

    /// Resolves a method instance, with the selected profile.
    public func resolve(_ method: String, instance: String? = nil) throws {
        try check(etconfig_device_resolve(device, method, instance), method, problems: true)
    }

    /// Resolves again after facts have changed. If it fails, the arguments stay as they were.
    @discardableResult
    public func update() throws -> Changes {
        try check(etconfig_device_update(device, nil, nil), "update", problems: true)
        let backends = texts { etconfig_device_changed_backend(device, $0) }
        let names = texts { etconfig_device_changed_name(device, $0) }
        let all = Array(zip(backends, names))
        let atExecute = all.filter { etconfig_device_applies_at_execute(device, $0.0, $0.1) == 1 }
        let atLoad = all.filter { etconfig_device_applies_at_execute(device, $0.0, $0.1) == 0 }
        return Changes(atExecute: atExecute.map { "\($0.0).\($0.1)" }, atLoad: atLoad.map { "\($0.0).\($0.1)" })
    }

    /// The options that have a value, as BACKEND.OPTION.
    public var options: [String] {
        let backends = texts { etconfig_device_option_backend(device, $0) }
        return zip(backends, texts { etconfig_device_option_name(device, $0) }).map { "\($0.0).\($0.1)" }
    }

    public func boolean(_ backend: String, _ option: String) throws -> Bool {
        var value: Int32 = 0
        try check(etconfig_device_boolean(device, backend, option, &value), "\(backend).\(option)")
        return value != 0
    }

    public func integer(_ backend: String, _ option: String) throws -> Int {
        var value: Int64 = 0
        try check(etconfig_device_integer(device, backend, option, &value), "\(backend).\(option)")
        return Int(value)
    }

    public func number(_ backend: String, _ option: String) throws -> Double {
        var value: Double = 0
        try check(etconfig_device_number(device, backend, option, &value), "\(backend).\(option)")
        return value
    }

    /// The value of an option: a text as it is, any other value as in a condition; nil if there is no such option.
    public func text(_ backend: String, _ option: String) -> String? {
        guard etconfig_device_value_kind(device, backend, option) >= 0 else { return nil }
        return written { etconfig_device_text(device, backend, option, $0, $1) }
    }

    /// The value of an option as JSON; nil if there is no such option.
    public func json(_ backend: String, _ option: String) -> String? {
        guard etconfig_device_value_kind(device, backend, option) >= 0 else { return nil }
        return written { etconfig_device_json(device, backend, option, $0, $1) }
    }

    /// One line with the value of an option and its origin; empty if there is no such option.
    public func explain(_ path: String) -> String { written { etconfig_device_explain(device, path, $0, $1) } }

    // MARK: models

    /// Selects the variant of a model, and returns its file.
    @discardableResult
    public func selectModel(_ model: String) throws -> String {
        var file: UnsafePointer<CChar>?
        try check(etconfig_device_select_model(device, model, &file), model)
        return text(file) ?? ""
    }

    /// The file of the next variant after a load has failed; nil if there is none or the model has no fallback.
    public func nextVariant(_ reason: String) -> String? {
        var file: UnsafePointer<CChar>?
        _ = etconfig_device_next_variant(device, reason, &file)
        return text(file)
    }

    /// The files of the variants of the model that was asked for.
    public var variants: [String] { texts { etconfig_device_variant_file(device, $0) } }

    /// The index of the variant that was chosen, from 0; nil if there is none.
    public var variant: Int? {
        let index = etconfig_device_variant(device)
        return index < 0 ? nil : Int(index)
    }

    /// The backend whose engine runs a variant, counted from 0; nil for a program, which ExecuTorch runs.
    public func variantBackend(_ index: Int) -> String? {
        text(etconfig_device_variant_backend(device, UInt32(index)))
    }

    /// Why a variant was chosen or not, counted from 0.
    public func explainVariant(_ index: Int) -> String {
        written { etconfig_device_explain_variant(device, UInt32(index), $0, $1) }
    }

    // MARK: usage

    /// The record of what is used now: one line of JSON with its newline, without facts that identify the device.
    public func usage(_ usage: Usage = Usage()) throws -> String {
        var line = [CChar](repeating: 0, count: Int(ETCONFIG_USAGE_BYTES))
        let size = line.count
        try check(with(usage) { etconfig_device_usage(device, $0, &line, size) }, "usage")
        return String(cString: line)
    }

    /// The reason that the record has.
    public func usageReason(_ usage: Usage = Usage()) -> UsageReason {
        UsageReason(rawValue: with(usage) { etconfig_device_usage_reason(device, $0) }) ?? .error
    }

    private func with(_ usage: Usage, _ call: (UnsafePointer<etconfig_usage>) -> Int32) -> Int32 {
        withPointers([usage.device, usage.failure]) { texts in
            var given = etconfig_usage()
            given.size = MemoryLayout<etconfig_usage>.stride
            given.device = texts?[0]
            given.at_ms = usage.atMillis ?? -1
            given.load_us = usage.load ?? -1
            given.first_run_us = usage.firstRun ?? -1
            given.p50_us = usage.p50 ?? -1
            given.p95_us = usage.p95 ?? -1
            given.runs = usage.runs ?? -1
            given.failure = texts?[1]
            return call(&given)
        }
    }

    // MARK: helpers

    private func check(_ status: Int32, _ subject: String, problems: Bool = false) throws {
        guard status != 0 else { return }
        var lines = ["\(subject): \(text(etconfig_device_status_name(status)) ?? "")"]
        var index: UInt32 = 0
        while problems && etconfig_device_problem_status(device, index) >= 0 {
            lines.append(written { etconfig_device_problem(device, index, $0, $1) })
            index += 1
        }
        throw DeviceError(status: status, description: lines.joined(separator: "\n"))
    }

    private func text(_ pointer: UnsafePointer<CChar>?) -> String? { pointer.map { String(cString: $0) } }

    private func texts(_ get: (UInt32) -> UnsafePointer<CChar>?) -> [String] {
        var found: [String] = []
        while let next = text(get(UInt32(found.count))) { found.append(next) }
        return found
    }

    private func written(_ write: (UnsafeMutablePointer<CChar>?, Int) -> Int) -> String {
        var buffer = [CChar](repeating: 0, count: write(nil, 0) + 1)
        let size = buffer.count
        _ = buffer.withUnsafeMutableBufferPointer { write($0.baseAddress, size) }
        return String(cString: buffer)
    }

    private func withPointers<Result>(
        _ texts: [String], _ call: (UnsafePointer<UnsafePointer<CChar>?>?) -> Result
    ) -> Result {
        let copies = texts.map { strdup($0) }
        defer { copies.forEach { free($0) } }
        return copies.map { UnsafePointer($0) }.withUnsafeBufferPointer { call($0.baseAddress) }
    }
}
