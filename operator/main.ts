import pino from 'pino'
import { readConfig } from './config.ts'
import { createOperator } from './operator.ts'

/** Starts the manifests watcher; says `ready` over IPC after the first pass and ends with its parent. */
async function main(): Promise<void> {
  const config = readConfig(process.env)
  // Standard error, at once: what is wrong with a manifest must be readable even when the process is killed.
  const log = pino({ name: 'manifests', level: config.logLevel }, pino.destination({ dest: 2, sync: true }))
  const operator = createOperator({ config, log })
  const stop = () => {
    operator[Symbol.dispose]()
    process.exit(0)
  }
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
  process.once('disconnect', stop)
  const { applied, problems } = await operator.firstPass
  log.info({ applied, problems: problems.length, manifests: config.manifestsDir }, 'manifests applied')
  process.send?.({ type: 'ready', applied, problems: problems.length })
}

main().catch((error: unknown) => {
  const message = error instanceof Error ? error.message : String(error)
  process.stderr.write(`manifests watcher cannot start: ${message}\n`)
  const end = () => process.exit(1)
  if (process.send === undefined) end()
  else process.send({ type: 'fatal', message }, end)
})
