import type { DialerOptions } from '../../../sidecar/upstream/dial.ts'
import type { Outbound } from '../../../sidecar/upstream/outbound.ts'
import type { UpstreamTarget } from '../../../sidecar/upstream/target.ts'
import { type Recorder, type RecorderOptions, startRecorder } from '../../support/recorder.ts'
import { type TestExchangeInput, testExchange } from '../pipeline/test-exchange.ts'
import { startForwarding, type TestForwarding } from './test-forwarding.ts'

const open: Array<() => Promise<void>> = []

/** Adds a resource that `closeAll` closes. */
export function closeLater(close: () => Promise<void>): void {
  open.push(close)
}

/** Closes what the test opened, the newest first. */
export async function closeAll(): Promise<void> {
  for (const close of open.splice(0).reverse()) await close()
}

/** A recorder that `closeAll` closes. */
export async function recorder(options: RecorderOptions = {}): Promise<Recorder> {
  const started = await startRecorder(options)
  closeLater(() => started.close())
  return started
}

/** An upstream that `closeAll` closes. */
export function upstreamWith(options: DialerOptions & { idleTimeoutMs?: number } = {}): TestForwarding {
  const upstream = startForwarding(options)
  closeLater(() => upstream.close())
  return upstream
}

/** A plain target at 127.0.0.1. */
export function targetOf(port: number, over: Partial<UpstreamTarget> = {}): UpstreamTarget {
  return {
    key: `${port}${JSON.stringify(over)}`,
    isTls: false,
    host: '127.0.0.1',
    port,
    servername: '',
    identities: ['127.0.0.1'],
    hostHeader: 'api.github.com',
    pathPrefix: '',
    allowPrivateAddresses: true,
    caBundle: null,
    ...over,
  }
}

/** Forwards a new exchange to the target. Resolves with the exchange once it is answered. */
export async function send(
  upstream: TestForwarding,
  target: UpstreamTarget,
  input: TestExchangeInput & { path?: string } = {},
) {
  const exchange = testExchange({ target: input.path ?? '/', ...input })
  await upstream.forward(exchange, outboundOf(exchange, target))
  return exchange
}

export function outboundOf(exchange: ReturnType<typeof testExchange>, target: UpstreamTarget): Outbound {
  return {
    target,
    method: exchange.raw.method,
    path: exchange.raw.target,
    rawHeaders: exchange.raw.rawHeaders,
    body: exchange.body.forward(),
  }
}
