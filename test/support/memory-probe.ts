/**
 * Module to preload (`--import`) into a process. On SIGUSR2 the process collects its garbage and writes the bytes of its
 * heap and of its external memory to `MEMORY_PROBE_DIR/PID.json`.
 */
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
const file = join(process.env['MEMORY_PROBE_DIR'] ?? '.', `${process.pid}.json`)

process.on('SIGUSR2', () => {
  // A second collection frees what finalizers of the first released.
  collect()
  setImmediate(() => {
    collect()
    const { heapUsed, external } = process.memoryUsage()
    writeFileSync(`${file}.new`, JSON.stringify({ heapUsed, external }))
    renameSync(`${file}.new`, file)
  })
})
