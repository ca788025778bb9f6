import { writeSync } from 'node:fs'
import pino from 'pino'
import { fatalMessage } from '../core/fatal-message.ts'
import { resourceFields } from '../core/resource-attributes.ts'
import { readConfig, readInjection } from './config.ts'
import { createOperator } from './operator.ts'

/**
 * Time limit of a graceful stop, in milliseconds. The limit must stay below the grace period of the process
 * that sends SIGTERM.
 */
const STOP_MS = 4_500

/**
 * Starts the operator. Sends `ready` over IPC once the operator is running, and stops it when the parent disconnects.
 */
async function main(): Promise<void> {
  const config = readConfig(process.env)
  const name = config.mode === 'folder' ? 'manifests' : 'operator'
  // Log lines are written synchronously, so that problems of manifests are logged even if the process is killed.
  const log = pino(
    { name, level: config.logLevel, ...resourceFields(process.env) },
    pino.destination({ dest: 2, sync: true }),
  )
  const injection = readInjection(config, process.env)
  const operator = await createOperator({ config, injection, log })
  const stop = () => {
    setTimeout(() => process.exit(0), STOP_MS).unref()
    operator[Symbol.asyncDispose]().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, 'shutdown failed')
        process.exit(1)
      },
    )
  }
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
  process.once('disconnect', stop)
  const ready = await operator.ready
  const source =
    config.mode === 'folder' ? { manifests: config.manifestsDir } : { namespace: config.namespace }
  log.info({ ...ready, ...source }, config.mode === 'folder' ? 'manifests applied' : 'operator started')
  process.send?.({ type: 'ready', ...ready })
}

// An exit without a message would leave no reason in the log.
let isReported = false
process.on('exit', (code) => {
  if (code !== 0 && !isReported) writeSync(2, `operator ended with exit code ${code}\n`)
})

main().catch((error: unknown) => {
  const fatal = fatalMessage(error)
  isReported = true
  writeSync(2, `operator cannot start: ${fatal.message}\n`)
  const end = () => process.exit(1)
  if (process.send === undefined) end()
  else process.send(fatal, end)
})
