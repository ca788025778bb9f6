import { type Greeting, NO_GREETING } from '../../core/wire/gateway/greeting.ts'
import type { HostedWorkReport } from '../../core/wire/gateway/hosted-work.ts'
import type { DownMessage } from '../../core/wire/gateway/sync.ts'
import type { SidecarPrincipal } from '../http/route.ts'

/** The writable side of one stream response (`http.ServerResponse` has it). */
export type StreamSink = {
  write(text: string): boolean
  end(): void
  destroy(): void
  readonly writableLength: number
  readonly destroyed: boolean
}

/** One connected gateway process, with the state that was sent and acknowledged. */
export type Peer = {
  readonly gatewayId: string
  /** Full name of its gateway, `namespace/name`. */
  readonly name: string
  readonly processId: string
  /** Agent of a sidecar, the only one that it serves; null for a gateway process. */
  readonly agent: string | null
  /** Protocol and version that the process named when it connected. */
  readonly greeting: Greeting
  /** Pod and token of a sidecar, and the monotonic time of the token's review. Null outside of pods. */
  pod: { readonly sidecar: SidecarPrincipal; reviewedAtMs: number } | null
  readonly connectedAtMs: number
  readonly syncKey: Uint8Array
  sentVersion: number | null
  /** Epoch and section hashes last sent, as one text, to detect whether a new version concerns this gateway. */
  sentHashes: string
  appliedVersion: number | null
  lastSeenMs: number
  agents: number
  uptimeSeconds: number
  /** Kill state last sent: its sequence number and its name (see `killStateOf`). */
  sentKill: { readonly seq: number; readonly state: string } | null
  /** Name of the kill state last acknowledged. */
  killState: string | null
  /** Agents that the process shares with others, as last sent, in text form. A new process starts with none. */
  sentSharing: string
  /** Reason why the process rejected the newest configuration; null when it did not. */
  rejected: string | null
  /** Error conditions of the process, as it reports them. */
  conditions: readonly string[]
  /** Warnings of the process, as sentences. */
  warnings: readonly string[]
  /** Work that the process cancels at providers because of kill switches; null before the first report. */
  hostedWork: HostedWorkReport | null
  send(message: DownMessage): void
  /** Sends a message in JSON form. */
  sendLine(line: string): void
  end(): void
  /** Destroys the stream without a last message, because its client no longer reads. */
  cut(): void
}

/**
 * Unread bytes beyond which a stream is cut off at its next message: the process reconnects and gets the whole state in
 * a few lines. The next message itself does not count, because a long kill state would cut off every gateway at its
 * greeting.
 */
const MAX_BUFFERED_BYTES = 512 * 1024

export type PeerInit = Pick<Peer, 'gatewayId' | 'name' | 'processId' | 'syncKey'> & {
  readonly agent?: string | null
  readonly greeting?: Greeting
  readonly pod?: Peer['pod']
  readonly nowMs: number
  readonly sink: StreamSink
  readonly onSlow: () => void
}

export function createPeer(init: PeerInit): Peer {
  const { gatewayId, name, processId, syncKey, agent = null, pod = null, nowMs, sink, onSlow } = init
  const { greeting = NO_GREETING } = init
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
    greeting,
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
