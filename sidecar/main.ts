import { writeSync } from 'node:fs'
import { pino } from 'pino'
import { fatalMessage } from '../core/fatal-message.ts'
import { resourceFields } from '../core/resource-attributes.ts'
import { readConfig } from './config.ts'
import { createGateway, type Gateway } from './gateway.ts'
import { openLogOutput } from './process/log-output.ts'

const output = openLogOutput()

/** Runs the gateway with the settings of the environment. Handles signals and the IPC channel of a parent process. */
async function main(): Promise<void> {
  process.report.excludeEnv = true // A diagnostic report of Node would contain secrets of the environment.
  const config = readConfig(process.env)
  // Without a handler, Node opens its inspector on SIGUSR1, on the loopback interface that the agent of a pod shares.
  process.on('SIGUSR1', () => undefined)
  const fields = { level: config.logLevel, base: { component: 'gateway' }, ...resourceFields(process.env) }
  const log = pino(fields, output.stream)
  let gateway: Gateway | null = null
  closeOnStopRequest(async () => {
    // `gateway` is null before the gateway serves. No request is pending then, and the journal and the lock tolerate an
    // exit at any moment.
    await gateway?.close()
  })
  gateway = await createGateway(config, log)
  process.send?.({ type: 'ready', host: config.host, port: gateway.port })
}

// Every abnormal exit is logged, because an exit code alone does not show the cause.
let wasReported = false
process.on('exit', (code) => {
  if (code !== 0 && !wasReported) writeSync(2, `The gateway ended with exit code ${code}.\n`)
})

function closeOnStopRequest(close: () => Promise<void>): void {
  let isStopping = false
  const stop = (): void => {
    if (isStopping) return
    isStopping = true
    close().then(
      () => exit(0),
      (error: unknown) => fail('did not stop cleanly', error),
    )
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
  if (process.send !== undefined) process.on('disconnect', stop)
}

function fail(what: string, error: unknown): void {
  const fatal = fatalMessage(error)
  wasReported = true
  writeSync(2, `The gateway ${what}. ${fatal.message}\n`)
  if (process.send === undefined || !process.connected) exit(1)
  else process.send(fatal, () => exit(1))
}

const exit = (code: number): void => void output.flush().then(() => process.exit(code))

main().catch((error: unknown) => fail('cannot start', error))
