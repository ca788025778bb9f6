import { isRefusal } from '../../../core/request/canonical.ts'
import { canonicalise } from '../../../core/request/canonicalise.ts'
import type { Exchange } from '../../../sidecar/pipeline/exchange.ts'
import {
  identifyRecord,
  type Journaled,
  setAgent,
  setConnector,
  setIntent,
  setOutbound,
  setRequest,
  setServices,
  setSnapshot,
} from '../../../sidecar/pipeline/phases.ts'
import type { ResponseStage } from '../../../sidecar/pipeline/response/response-stage.ts'
import { createForwarding, type Forwarding } from '../../../sidecar/pipeline/stages/forward.ts'
import type { HelloRule } from '../../../sidecar/pipeline/tunnel/hello-gate.ts'
import { createDialer, type DialerOptions } from '../../../sidecar/upstream/dial.ts'
import { createUpstream } from '../../../sidecar/upstream/http.ts'
import type { Outbound } from '../../../sidecar/upstream/outbound.ts'
import type { UpstreamTarget } from '../../../sidecar/upstream/target.ts'
import { snapshotOf } from '../pipeline/test-world.ts'

/** `Forwarding` for exchanges as a listener makes them. */
export type TestForwarding = {
  forward(exchange: Exchange, outbound: Outbound, stages?: readonly ResponseStage[]): Promise<undefined>
  tunnel(exchange: Exchange, target: UpstreamTarget, hello: HelloRule): Promise<undefined>
  close(): Promise<void>
}

/** An upstream, and the forwarding of exchanges to it, as the forward stage uses both. */
export function startForwarding(options: DialerOptions & { idleTimeoutMs?: number } = {}): TestForwarding {
  const { idleTimeoutMs, ...dial } = options
  const monotonicMs = () => performance.now()
  const upstream = createUpstream({ dialer: createDialer(dial), monotonicMs })
  const forwarding: Forwarding = createForwarding({
    upstream,
    monotonicMs,
    ...(idleTimeoutMs === undefined ? {} : { idleTimeoutMs }),
  })
  return {
    forward: (exchange, ...rest) => forwarding.forward(journaled(exchange), ...rest),
    tunnel: (exchange, ...rest) => forwarding.tunnel(journaled(exchange), ...rest),
    close: () => upstream.close(),
  }
}

const SNAPSHOT = snapshotOf({}, 0, 1)
const READ = canonicalise({
  method: 'GET',
  target: '/',
  rawHeaders: ['Host', 'api.github.com'],
  httpVersion: '1.1',
  scheme: 'https',
  sources: {},
})

/** Brings an exchange to the phase in which it is sent: to a host without a connector, with the head as received. */
function journaled(exchange: Exchange): Journaled {
  const agent = SNAPSHOT.agentsByName.get('builder')
  if (agent === undefined || isRefusal(READ)) throw new Error('the fixture is invalid')
  const received = setServices(exchange, {
    assignRecord: () => undefined,
    afterRecord: (send) => send(),
    inner: null as never,
  })
  const identified = setAgent(setSnapshot(received, SNAPSHOT), agent)
  const read = setRequest(identified, { ...READ, isUpgrade: exchange.kind === 'upgrade' })
  setConnector(read, undefined, { request: read.read, losesOther: false })
  const { rawHeaders, target } = exchange.raw
  const cleared = setOutbound(read, { rawHeaders: [...rawHeaders], rawTarget: target })
  const ids = { newId: () => 'rec_test', journal: { nextSeq: () => 0 } }
  const intent = { handle: { item: null, at: 0 }, written: Promise.resolve(undefined) }
  return setIntent(identifyRecord(cleared, ids), intent as never) as unknown as Journaled
}
