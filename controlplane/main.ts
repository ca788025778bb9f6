import { writeSync } from 'node:fs'
import { pino } from 'pino'
import { fatalMessage } from '../core/fatal-message.ts'
import { resourceFields } from '../core/resource-attributes.ts'
import { readConfig } from './config.ts'
import { type ControlPlane, createControlPlane } from './controlplane.ts'

/** Sends `ready` or `fatal` over the IPC channel to the parent process, if this process has one. */
async function tell(message: Readonly<Record<string, unknown>>): Promise<void> {
  if (process.send === undefined) return
  await new Promise<void>((resolve) => process.send?.(message, undefined, undefined, () => resolve()))
}

async function start(): Promise<ControlPlane> {
  process.report.excludeEnv = true // A diagnostic report of Node would contain the master key and credentials.
  const config = readConfig(process.env)
  // Log lines omit the values of these keys, because the values are secret.
  const redact = ['*.password', '*.token', '*.api_key', '*.authorization', '*.cookie', 'req.headers']
  const log = pino({ level: config.logLevel, redact, ...resourceFields(process.env) })
  const controlPlane = await createControlPlane(config, log)
  log.info({ url: controlPlane.url }, 'control plane serves')
  return controlPlane
}

let controlPlane: ControlPlane | undefined
let [stopping, hasPrinted] = [false, false]
// Reports an exit that no error message precedes, because the exit code alone does not name the component.
process.on('exit', (code) => {
  if (code !== 0 && !hasPrinted) writeSync(2, `The control plane ended with exit code ${code}.\n`)
})

async function stop(): Promise<void> {
  if (stopping) return
  stopping = true
  await controlPlane?.close()
  process.exit(0)
}

async function fail(what: string, error: unknown): Promise<void> {
  const fatal = fatalMessage(error)
  hasPrinted = true
  writeSync(2, `The control plane ${what}: ${fatal.message}\n`)
  await tell(fatal)
  process.exit(1)
}

for (const signal of ['SIGTERM', 'SIGINT', 'disconnect'] as const)
  process.on(signal, () => void stop().catch((error: unknown) => fail('did not stop cleanly', error)))

async function serve(): Promise<void> {
  controlPlane = await start()
  const { port, url, makeOwnerLink } = controlPlane
  await tell({ type: 'ready', port, url })
  // The link is printed only to a terminal, because other standard output is usually stored in logs.
  const ownerLink = process.send === undefined && process.stdout.isTTY ? await makeOwnerLink() : null
  if (ownerLink !== null) console.log(`Become the owner within an hour: ${ownerLink}`)
}

serve().catch((error: unknown) => fail('cannot start', error))
