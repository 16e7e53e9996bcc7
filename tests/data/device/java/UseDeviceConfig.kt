import java.io.File
import java.nio.ByteBuffer
import org.etconfig.device.DeviceConfig
import org.etconfig.device.DeviceException
import org.etconfig.device.Usage

fun main(arguments: Array<String>) {
    val bytes = File(arguments[0]).readBytes()
    val config = DeviceConfig.open(ByteBuffer.wrap(bytes))
    config.use {
        it.detect()
        println(it.select())
        for (fact in it.facts) it.forget(fact)
        it["cpu.available_cores"] = 4
        it["power.battery_level"] = 0.5
        it["cpu.features"] = listOf("fp16")
        it.setUnknown("thermal.state", "no service")
        it.setBackends(listOf("XnnpackBackend"))
        it.useProfile("acme/board")
        it.resolve("forward")
        println(it.long("ReferenceCpuBackend", "num_threads"))
        println(it.options.size)
        println(it.text("ReferenceCpuBackend", "nothing"))
        println(it.explain("ReferenceCpuBackend.num_threads"))
        it["cpu.available_cores"] = 8
        println(it.update().atExecute())
        println(it.selectModel("digits"))
        println(it.nextVariant("code 0x12"))
        println("${it.variant} ${it.variantBackend(0)} ${it.variantBackend(1)}")
        println(it.explainVariant(0))
        println("${it.usageReason()} ${it.usage(Usage().device("app")).lines().size - 1}")
        try {
            it["cpu.available_cores"] = 0
        } catch (error: DeviceException) {
            println(error.message)
        }
    }
    try {
        config.select()
    } catch (error: IllegalStateException) {
        println(error.message)
    }
}
