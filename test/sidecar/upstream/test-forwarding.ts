import { createForwarding, type Forwarding } from '../../../sidecar/pipeline/response/forwarding.ts'
import { createDialer, type DialerOptions } from '../../../sidecar/upstream/dial.ts'
import { createUpstream } from '../../../sidecar/upstream/http.ts'

export type TestForwarding = Forwarding & { close(): Promise<void> }

/** An upstream, and the forwarding of exchanges to it, as the forward stage uses both. */
export function startForwarding(options: DialerOptions & { idleTimeoutMs?: number } = {}): TestForwarding {
  const { idleTimeoutMs, ...dial } = options
  const monotonicMs = () => performance.now()
  const upstream = createUpstream({ dialer: createDialer(dial), monotonicMs })
  const forwarding = createForwarding({
    upstream,
    monotonicMs,
    ...(idleTimeoutMs === undefined ? {} : { idleTimeoutMs }),
  })
  return { ...forwarding, close: () => upstream.close() }
}
