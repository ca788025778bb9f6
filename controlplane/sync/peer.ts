import type { DownMessage } from '../../core/wire/gateway/sync.ts'
import type { HostedWorkReport } from '../../core/wire/hosted-work.ts'
import type { SidecarPrincipal } from '../http/route.ts'

/** The writable side of one stream response (`http.ServerResponse` has it). */
export type StreamSink = {
  write(text: string): boolean
  end(): void
  destroy(): void
  readonly writableLength: number
  readonly destroyed: boolean
}

/** One connected gateway process: what it was sent and what it acknowledged. */
export type Peer = {
  readonly gatewayId: string
  /** `namespace/name` of its gateway. */
  readonly name: string
  readonly processId: string
  /** The only agent that it serves, when it is the sidecar of a pod. */
  readonly agent: string | null
  /** Of a sidecar: its pod and token, and when (monotonic) the token was reviewed. Null outside of pods. */
  pod: { readonly sidecar: SidecarPrincipal; reviewedAtMs: number } | null
  readonly connectedAtMs: number
  readonly syncKey: Uint8Array
  sentVersion: number | null
  /** Epoch and hashes last sent, as one text, to see whether a new version concerns this gateway at all. */
  sentHashes: string
  appliedVersion: number | null
  lastSeenMs: number
  agents: number
  uptimeSeconds: number
  /** The stops last sent: their number and their name (see `killStateOf`). */
  sentKill: { readonly seq: number; readonly state: string } | null
  /** The name of the stops last acknowledged. */
  killState: string | null
  /** The agents that it was last told to share, as text. A process begins with sharing nothing. */
  sentSharing: string
  /** Why it refused the newest configuration that it was sent; null when it did not. */
  rejected: string | null
  /** Error conditions that it reports of itself. */
  conditions: readonly string[]
  /** Full sentences that it reports of itself. */
  warnings: readonly string[]
  /** What it cancels at providers because of kill switches; null before the first report. */
  hostedWork: HostedWorkReport | null
  send(message: DownMessage): void
  /** A message as JSON. */
  sendLine(line: string): void
  end(): void
  /** Without a last word: nobody reads it. */
  cut(): void
}

/**
 * A reader that has left this much unread when the next message comes is cut off: it comes back and gets the whole state in
 * a few lines. A message counts from the next one on, because a long kill state would cut off every gateway at its greeting.
 */
const MAX_BUFFERED_BYTES = 512 * 1024

export type PeerInit = Pick<Peer, 'gatewayId' | 'name' | 'processId' | 'syncKey'> & {
  readonly agent?: string | null
  readonly pod?: Peer['pod']
  readonly nowMs: number
  readonly sink: StreamSink
  readonly onSlow: () => void
}

export function createPeer(init: PeerInit): Peer {
  const { gatewayId, name, processId, syncKey, agent = null, pod = null, nowMs, sink, onSlow } = init
  function sendLine(line: string): void {
    if (sink.destroyed) return
    if (sink.writableLength <= MAX_BUFFERED_BYTES) return void sink.write(`${line}\n`)
    onSlow()
    sink.destroy()
  }
  return {
    gatewayId,
    name,
    processId,
    syncKey,
    agent,
    pod,
    connectedAtMs: nowMs,
    sentVersion: null,
    sentHashes: '',
    appliedVersion: null,
    lastSeenMs: nowMs,
    agents: 0,
    uptimeSeconds: 0,
    sentKill: null,
    killState: null,
    sentSharing: '[]',
    rejected: null,
    conditions: [],
    warnings: [],
    hostedWork: null,
    sendLine,
    send: (message) => sendLine(JSON.stringify(message)),
    end() {
      if (!sink.destroyed) sink.end()
    },
    cut() {
      sink.destroy()
    },
  }
}
