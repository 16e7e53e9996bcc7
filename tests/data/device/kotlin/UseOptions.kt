import org.pytorch.executorch.BackendOptionsMap
import org.pytorch.executorch.Module

fun main() {
  val options = XnnpackBackendOptions()
      .workspaceSharingMode(XnnpackBackendOptions.WorkspaceSharingMode.GLOBAL)
      .numThreads(3)
  println(options.load("a.pte").told)
  println(options.load("a.pte", Module.LOAD_MODE_MMAP, 5).told)
  println(options.addTo(BackendOptionsMap().setInt("Other", "key", 1)).told)
  try {
    options.numThreads(0)
  } catch (error: IllegalArgumentException) {
    println(error.message)
  }
}
