import { writeSync } from 'node:fs'
import { pino } from 'pino'
import { failureReason } from '../core/failure-reason.ts'
import { readConfig } from './config.ts'
import { type ControlPlane, createControlPlane } from './controlplane.ts'

/** Whoever started us with an IPC channel hears when we serve, or why we cannot. */
async function tell(message: Readonly<Record<string, unknown>>): Promise<void> {
  if (process.send === undefined) return
  await new Promise<void>((resolve) => process.send?.(message, undefined, undefined, () => resolve()))
}

async function start(): Promise<ControlPlane> {
  const config = readConfig(process.env)
  // Values that are secret by their name never reach a log line, whoever puts an object there.
  const redact = ['*.password', '*.token', '*.api_key', '*.authorization', '*.cookie', 'req.headers']
  const log = pino({ level: config.logLevel, redact })
  const controlPlane = await createControlPlane(config, log)
  log.info({ url: controlPlane.url }, 'control plane serves')
  return controlPlane
}

let controlPlane: ControlPlane | undefined
let stopping = false
let wasTold = false

// Whatever ended it: an exit code alone tells nobody what to change.
process.on('exit', (code) => {
  if (code !== 0 && !wasTold) writeSync(2, `The control plane ended with exit code ${code}.\n`)
})

async function stop(): Promise<void> {
  if (stopping) return
  stopping = true
  await controlPlane?.close()
  process.exit(0)
}

async function fail(what: string, error: unknown): Promise<void> {
  const message = failureReason(error)
  wasTold = true
  writeSync(2, `The control plane ${what}: ${message}\n`)
  await tell({ type: 'fatal', message })
  process.exit(1)
}

for (const signal of ['SIGTERM', 'SIGINT', 'disconnect'] as const)
  process.on(signal, () => void stop().catch((error: unknown) => fail('did not stop cleanly', error)))

async function serve(): Promise<void> {
  controlPlane = await start()
  const { port, url, makeOwnerLink } = controlPlane
  await tell({ type: 'ready', port, url })
  // To a terminal only: standard output is a log otherwise, which stores keep.
  const ownerLink = process.send === undefined && process.stdout.isTTY ? await makeOwnerLink() : null
  if (ownerLink !== null) console.log(`Become the owner within an hour: ${ownerLink}`)
}

serve().catch((error: unknown) => fail('cannot start', error))
