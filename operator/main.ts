import { writeSync } from 'node:fs'
import pino from 'pino'
import { failureReason } from '../core/failure-reason.ts'
import { readConfig, readInjection } from './config.ts'
import { createOperator } from './operator.ts'

/** Ends before whoever stops it loses patience. */
const STOP_MS = 4_500

/** Starts the operator; says `ready` over IPC once it does its work and ends with its parent. */
async function main(): Promise<void> {
  const config = readConfig(process.env)
  const name = config.mode === 'folder' ? 'manifests' : 'operator'
  // Standard error, at once: what is wrong with a manifest must be readable even when the process is killed.
  const log = pino({ name, level: config.logLevel }, pino.destination({ dest: 2, sync: true }))
  const injection = readInjection(config, process.env)
  const operator = await createOperator({ config, injection, log })
  const stop = () => {
    setTimeout(() => process.exit(0), STOP_MS).unref()
    operator[Symbol.asyncDispose]().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, 'not stopped in order')
        process.exit(1)
      },
    )
  }
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
  process.once('disconnect', stop)
  const ready = await operator.ready
  const place =
    config.mode === 'folder' ? { manifests: config.manifestsDir } : { namespace: config.namespace }
  log.info({ ...ready, ...place }, config.mode === 'folder' ? 'manifests applied' : 'operator at work')
  process.send?.({ type: 'ready', ...ready })
}

// Whatever ended it: an exit code alone tells nobody what to change.
let wasTold = false
process.on('exit', (code) => {
  if (code !== 0 && !wasTold) writeSync(2, `operator ended with exit code ${code}\n`)
})

main().catch((error: unknown) => {
  const message = failureReason(error)
  wasTold = true
  writeSync(2, `operator cannot start: ${message}\n`)
  const end = () => process.exit(1)
  if (process.send === undefined) end()
  else process.send({ type: 'fatal', message }, end)
})
