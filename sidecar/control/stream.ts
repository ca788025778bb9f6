import { SYNC_PATHS } from '../../core/wire/sync.ts'
import { createBackoff, pause } from './backoff.ts'
import { type Beats, LATE_MS } from './beats.ts'
import type { ControlClient } from './client.ts'
import { createInbox, type StreamHandlers } from './inbox.ts'
import { createLineSplitter } from './lines.ts'
import type { MacCheck } from './mac.ts'

export type StreamDeps = {
  readonly client: ControlClient
  readonly controlPlaneUrl: string
  readonly handlers: Omit<StreamHandlers, 'goaway'>
  readonly beats: Beats
  readonly checkMac: MacCheck
  readonly random: () => number
  readonly log: {
    warn(fields: object, message: string): void
    info(fields: object, message: string): void
    error(fields: object, message: string): void
  }
  /** Milliseconds of silence after which a connection counts as dead. */
  readonly silenceMs?: number
}

/** Asked to leave, a gateway comes back almost at once: the next replica is there already. */
const LEAVE_MS = 20

export type ControlStream = { start(): void; close(): void }

/** Keeps one long answer of the control plane open and reads it; comes back with jitter when it ends. */
export function createControlStream(deps: StreamDeps): ControlStream {
  const { client, beats, log, controlPlaneUrl } = deps
  const stopped = new AbortController()
  const backoff = createBackoff(deps.random)
  let session = new AbortController()
  let isLeaving = false
  let lastProblem = ''

  const receive = createInbox({
    beats,
    checkMac: deps.checkMac,
    log,
    handlers: {
      ...deps.handlers,
      hello(message) {
        backoff.reset()
        lastProblem = ''
        log.info({ gateway: message.gateway.name, controlPlane: controlPlaneUrl }, 'control plane connected')
        deps.handlers.hello(message)
      },
      goaway(message) {
        isLeaving = true
        const leaving = session
        setTimeout(() => leaving.abort(), deps.random() * message.after_ms).unref()
      },
    },
  })

  async function read(signal: AbortSignal, onChunk: () => void): Promise<void> {
    const reply = await client.open(SYNC_PATHS.stream, signal)
    if (reply.status !== 200) throw refusal(reply.status)
    const splitter = createLineSplitter()
    for await (const chunk of reply.body) {
      onChunk()
      receive(splitter.push(chunk))
    }
    throw new Error('the control plane ended the stream')
  }

  async function connect(): Promise<void> {
    isLeaving = false
    session = new AbortController()
    const silent = new Error('the control plane went silent')
    const silence = setTimeout(() => session.abort(silent), deps.silenceMs ?? LATE_MS)
    try {
      await read(AbortSignal.any([session.signal, stopped.signal]), () => silence.refresh())
    } catch (error) {
      complain(error)
    } finally {
      clearTimeout(silence)
      session.abort()
      beats.disconnected()
    }
  }

  /** The same trouble is said once, not at every attempt; leaving is none. */
  function complain(error: unknown): void {
    if (stopped.signal.aborted || isLeaving) return
    const problem = error instanceof Error ? error.message : String(error)
    if (problem !== lastProblem) log.warn({ err: error, controlPlane: controlPlaneUrl }, 'no control plane')
    lastProblem = problem
  }

  async function run(): Promise<void> {
    while (!stopped.signal.aborted) {
      await connect()
      await pause(isLeaving ? LEAVE_MS : backoff.next(), stopped.signal)
    }
  }

  return { start: () => void run(), close: () => stopped.abort() }
}

function refusal(status: number): Error {
  if (status !== 401 && status !== 403) return new Error(`the control plane answered ${status}`)
  return new Error(
    `the control plane does not accept this gateway's token (${status}): check that GATEWAY_TOKEN_FILE holds the token of an enrolled gateway, and that CONTROL_PLANE_URL is its control plane`,
  )
}
