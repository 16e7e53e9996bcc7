package org.etconfig.device

import java.nio.ByteBuffer

/**
 * Chooses a profile, the options of every backend and the variant of a model on this device, in Kotlin's words.
 *
 * ```kotlin
 * DeviceConfig.open(bytes).use { config ->
 *     config.detect()
 *     config["power.source"] = "battery"
 *     config.select()
 *     config.resolve("forward")
 *     val threads = config.long("XnnpackBackend", "num_threads")
 * }
 * ```
 *
 * Any thread may call any function; calls wait for each other. After [close], every call is an [IllegalStateException].
 * What the bundle or the device refuses is a [DeviceException].
 */
class DeviceConfig private constructor(private val device: Device) : AutoCloseable by device {
    val producer: String get() = device.producer()

    /** The id of the bundle, for reports: equal for bundles that decide alike. */
    val id: String get() = device.id()

    /** The number of this release, which grows; 0 if it has none. */
    val revision: Long get() = device.revision()

    /** The last second in which the bundle is valid, since 1970 in UTC; 0 if it does not expire. */
    val notAfter: Long get() = device.notAfter()

    /** The names of the facts that the bundle reads, sorted. */
    val facts: List<String> get() = device.facts()

    /** The facts that may change at any time: set or detect them again before [update]. */
    val liveFacts: List<String> get() = device.liveFacts()

    /** The name of the selected profile. */
    val profile: String? get() = device.profile()

    /** True if no profile is about this device, so that the one that matches every device is left. */
    val isFallback: Boolean get() = device.isFallback

    /** The names of all profiles, sorted. */
    val profiles: List<String> get() = device.profiles()

    /** The options that have a value, as BACKEND.OPTION. */
    val options: List<String> get() = device.options()

    /** The files of the variants of the model that was asked for. */
    val variants: List<String> get() = device.variants()

    /** The index of the variant that was chosen, from 0; -1 if there is none. */
    val variant: Int get() = device.variant()

    /** Detects the facts that the bundle reads; those that were set stay as they are. */
    fun detect() = device.detect()

    operator fun set(fact: String, value: Boolean) = device.set(fact, value)

    operator fun set(fact: String, value: Int) = device.set(fact, value.toLong())

    operator fun set(fact: String, value: Long) = device.set(fact, value)

    operator fun set(fact: String, value: Double) = device.set(fact, value)

    operator fun set(fact: String, value: String) = device.set(fact, value)

    operator fun set(fact: String, values: List<String>) = device.set(fact, values)

    /** Makes a fact unknown, with a reason; detection leaves it alone. */
    fun setUnknown(fact: String, reason: String) = device.setUnknown(fact, reason)

    /** Sets `runtime.backends`, the ids of the backends of the runtime, if the bundle reads it. */
    fun setBackends(ids: List<String>) = device.setBackends(ids)

    /** Forgets a fact; detection may find it again. */
    fun forget(fact: String) = device.forget(fact)

    /** The facts as a fact sheet, which the commands of etconfig read. */
    fun factsJson(): String = device.factsJson()

    /** Selects the profile that fits the facts, and returns its name. */
    fun select(): String = device.select()

    /** Names the profile instead. */
    fun useProfile(name: String) = device.useProfile(name)

    /** Why a profile matches this device or not. */
    fun explainMatch(profile: String): String = device.explainMatch(profile)

    /** Resolves a method instance, with the selected profile. */
    fun resolve(method: String, instance: String? = null) = device.resolve(method, instance)

    /** Resolves again after facts have changed. If it fails, the arguments stay as they were. */
    fun update(): Changes = device.update()

    fun boolean(backend: String, option: String): Boolean = device.getBoolean(backend, option)

    fun long(backend: String, option: String): Long = device.getLong(backend, option)

    fun double(backend: String, option: String): Double = device.getDouble(backend, option)

    /** The value of an option: a text as it is, any other value as in a condition; null if there is no such option. */
    fun text(backend: String, option: String): String? = device.getText(backend, option)

    /** The value of an option as JSON; null if there is no such option. */
    fun json(backend: String, option: String): String? = device.getJson(backend, option)

    /** One line with the value of an option and its origin. */
    fun explain(path: String): String = device.explain(path)

    /** Selects the variant of a model, and returns its file. */
    fun selectModel(model: String): String = device.selectModel(model)

    /** The file of the next variant after a load has failed; null if there is none or the model has no fallback. */
    fun nextVariant(reason: String): String? = device.nextVariant(reason)

    /** The backend whose engine runs a variant, counted from 0; null for a program, which ExecuTorch runs. */
    fun variantBackend(index: Int): String? = device.variantBackend(index)

    /** Why a variant was chosen or not, counted from 0. */
    fun explainVariant(index: Int): String = device.explainVariant(index)

    /** The record of what is used now: one line of JSON with its newline, without facts that identify the device. */
    fun usage(usage: Usage = Usage()): String = device.usage(usage)

    /** The reason that the record has. */
    fun usageReason(usage: Usage = Usage()): UsageReason = device.usageReason(usage)

    /** Makes the bundle, which a store loaded, the good one of the store. */
    fun confirm(store: BundleStore) = store.confirm(device)

    /** Gives the bundle, which a store loaded, up for good. */
    fun reject(store: BundleStore) = store.reject(device)

    companion object {
        /** Opens a bundle, which is copied. */
        fun open(bundle: ByteArray): DeviceConfig = DeviceConfig(Device.open(bundle))

        /** Opens a bundle that the application does not trust yet. */
        fun open(bundle: ByteArray, demands: Demands): DeviceConfig = DeviceConfig(Device.open(bundle, demands))

        /** Opens the bundle on trial of a store, or the good one; null if the store is empty. */
        fun load(store: BundleStore, demands: Demands): DeviceConfig? = store.load(demands)?.let(::DeviceConfig)

        /** Opens a bundle between position and limit of a buffer. */
        fun open(bundle: ByteBuffer): DeviceConfig = DeviceConfig(Device.open(bundle))
    }
}
