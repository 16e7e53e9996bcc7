// What generated builders call of ExecuTorch's Android binding, with the signatures of BackendOptionsMap.kt and
// Module.kt of 1.5: `Module` keeps what it was told.
package org.pytorch.executorch

class BackendOptionsMap {
  val told = mutableListOf<String>()

  fun setInt(backendName: String, key: String, value: Int): BackendOptionsMap {
    told.add("$backendName.$key = $value")
    return this
  }
}

class Module private constructor(val told: String) {
  companion object {
    const val LOAD_MODE_FILE = 0
    const val LOAD_MODE_MMAP = 1

    @JvmStatic
    @JvmOverloads
    fun load(
        modelPath: String?,
        options: BackendOptionsMap,
        loadMode: Int = LOAD_MODE_FILE,
        numThreads: Int = 0,
    ): Module = Module("$modelPath ${options.told} $loadMode $numThreads")
  }
}
