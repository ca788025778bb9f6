import { type Greeting, NO_GREETING } from '../../core/wire/gateway/greeting.ts'
import type { HostedWorkReport } from '../../core/wire/gateway/hosted-work.ts'
import type { Instance } from '../../core/wire/gateway/instance.ts'
import type { DownMessage } from '../../core/wire/gateway/sync.ts'
import type { SidecarPrincipal } from '../http/route.ts'
import type { SectionSet } from './sections/sections.ts'

/** The writable side of one stream response. `http.ServerResponse` implements this type. */
export type StreamSink = {
  write(text: string): boolean
  end(): void
  destroy(): void
  readonly writableLength: number
  readonly destroyed: boolean
}

/** One connected gateway process, with the state that was last sent and last acknowledged. */
export type Peer = {
  readonly gatewayId: string
  /** Full name of the gateway, `namespace/name`. */
  readonly name: string
  readonly processId: string
  /** Name of the only agent that a sidecar serves; null for a gateway process. */
  readonly agent: string | null
  /** Protocol and version that the process reported when it connected. */
  readonly greeting: Greeting
  /** Pod and token of a sidecar, and the monotonic time of the last token review. Null for a process outside a pod. */
  pod: { readonly sidecar: SidecarPrincipal; reviewedAtMs: number } | null
  readonly connectedAtMs: number
  readonly syncKey: Uint8Array
  sentVersion: number | null
  /**
   * Epoch and section hashes that were last sent. Null before the first section index. The value is also set to null
   * to force the next section index. The comparison with a new version shows whether the sections of this gateway
   * changed.
   */
  sentSections: { readonly epoch: number | undefined; readonly hashes: SectionSet['hashes'] } | null
  appliedVersion: number | null
  lastSeenMs: number
  agents: number
  uptimeSeconds: number
  /** Kill state that was last sent: its sequence number and its name (see `killStateOf`). */
  sentKill: { readonly seq: number; readonly state: string } | null
  /** Name of the kill state that was last acknowledged; null before the first acknowledgement. */
  killState: string | null
  /**
   * JSON list, as last sent, of the agents for which the process must use quota leases because other processes serve
   * them too. A new process starts without such agents.
   */
  sentSharing: string
  /** Instance of the pod that was last sent; null before an instance was sent, and for a process outside a pod. */
  sentInstance: Instance | null
  /** Reason why the process rejected the newest configuration; null when it was not rejected. */
  rejected: string | null
  /** Error conditions that the process reported. */
  conditions: readonly string[]
  /** Warnings that the process reported, as sentences. */
  warnings: readonly string[]
  /** Hosted work that the process cancels at providers because of kill switches; null before the first report. */
  hostedWork: HostedWorkReport | null
  send(message: DownMessage): void
  /** Sends a message that is already serialised as a JSON line. */
  sendLine(line: string): void
  end(): void
  /** Destroys the stream without a last message, because the client no longer reads. */
  cut(): void
}

/**
 * Number of buffered bytes above which the next message destroys the stream. The process then reconnects and gets the
 * whole state in a few lines. The size of the next message is not counted. Otherwise, a kill state that exceeds the
 * limit would destroy every stream when the process connects.
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
    sentSections: null,
    appliedVersion: null,
    lastSeenMs: nowMs,
    agents: 0,
    uptimeSeconds: 0,
    sentKill: null,
    killState: null,
    sentSharing: '[]',
    sentInstance: null,
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
