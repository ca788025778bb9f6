import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agentEntry, FakeControlPlane, TOKEN } from '../sidecar/control/fake-control-plane.ts'
import { AGENT_KEY, genericConnector, permission } from '../sidecar/gateway/gateway-world.ts'
import { bundledProgram } from '../support/bundled-program.ts'
import { end, type Served, serve } from '../support/processes.ts'
import { type Recorder, startRecorder } from '../support/recorder.ts'
import { startTcpRelay, type TcpRelay } from '../support/tcp-relay.ts'
import { approveAndDeny, type Load, startLoad } from './fault-load.ts'

/** A gateway process under load, between agents, an upstream and a control plane behind a relay. */
export type FaultWorld = AsyncDisposable & {
  readonly dir: string
  readonly journal: string
  readonly fake: FakeControlPlane
  readonly relay: TcpRelay
  readonly upstream: Recorder
  readonly load: Load
  readonly pid: number
  /** Sends the signal to the gateway and waits until the process has ended. */
  stop(signal: NodeJS.Signals): Promise<void>
  /** Starts the gateway again, with these variables besides its own. */
  start(env?: Readonly<Record<string, string>>): Promise<void>
}

/** Starts the gateway with these variables besides its own. */
export async function startFaultWorld(given: Readonly<Record<string, string>> = {}): Promise<FaultWorld> {
  const main = await bundledProgram('sidecar')
  const dir = mkdtempSync(join(tmpdir(), 'chaperone-faults-'))
  writeFileSync(join(dir, 'enrol.token'), TOKEN)
  const upstream = await startRecorder()
  const fake = await FakeControlPlane.start()
  fake.configure({
    gateway: { ...(fake.sections['gateway'] as object), rateLimit: { requestsPerMinute: 1_000_000 } },
    agents: [agentEntry('bot', AGENT_KEY)],
    connectors: [genericConnector(upstream.url)],
    'permissions.00': [
      permission('generic.get', 'allow'),
      permission('generic.post', 'allow'),
      permission('generic.put', 'require_approval'),
    ],
  })
  const relay = await startTcpRelay(fake.url)
  const env = {
    ...{ PORT: '0', CONTROL_PLANE_URL: relay.url, DATA_DIR: dir, WHOLE_REFUSALS_PER_MINUTE: '999999' },
    GATEWAY_TOKEN_FILE: join(dir, 'enrol.token'),
    ...given,
  }
  let gateway: Served = await serve(main, env)
  const load = startLoad(() => gateway.port)
  const approver = approveAndDeny(fake)
  return {
    ...{ dir, journal: join(dir, 'journal'), fake, relay, upstream, load },
    get pid() {
      return gateway.pid
    },
    async stop(signal) {
      const gone = once(gateway.child, 'exit')
      gateway.child.kill(signal)
      await gone
    },
    async start(extra = {}) {
      gateway = await serve(main, { ...env, ...extra })
    },
    async [Symbol.asyncDispose]() {
      clearInterval(approver)
      await load.stop()
      await end(gateway.child)
      await relay[Symbol.asyncDispose]()
      await fake.stop()
      await upstream.close()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}
