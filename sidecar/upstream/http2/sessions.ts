import { ChaperoneError } from '../../../core/errors.ts'
import { LIMITS } from '../../../core/wire/schema/limits.ts'
import type { Dialer } from '../dial.ts'
import type { UpstreamTarget } from '../target.ts'
import { dialSession } from './dial-session.ts'
import type { OpenedStream, UpstreamSession } from './session.ts'

export type Sessions = {
  /**
   * Opens a stream for one call, on a session with capacity or on a new one. Rejects with `upstream_failed` when the
   * upstream does not support HTTP/2 or accepts no calls, and with the errors of the dialer. After a rejection, nothing
   * of the call was sent.
   */
  begin(target: UpstreamTarget, call: Call): Promise<OpenedStream>
  /** Destroys all sessions. Calls in progress fail. */
  close(): void
}

export type Call = {
  readonly fields: readonly string[]
  readonly hasBody: boolean
  /** Returns true when the exchange of the call has ended, so that nothing must be sent. */
  isOver(): boolean
}

export type SessionsOptions = { readonly probeMs?: number }

const SWEEP_MS = 1_000
/**
 * Number of sweeps (one a second) without a response of the server, after which a session is pinged before its next
 * call.
 */
const QUIET_SWEEPS = 5
/**
 * Idle limit of a session in sweeps (one a second). Servers announce their close by GOAWAY, but middleboxes may drop a
 * silent connection sooner.
 */
const IDLE_SWEEPS = 60
/**
 * Maximum age of a session in sweeps (one a second). The limit makes changed DNS records and certificates take effect.
 */
const AGE_SWEEPS = 600
const PROBE_MS = 2_000
/** Maximum number of sessions that may close, one after the other, before they accept the call. */
const MAX_LOST = 3

/**
 * Creates the pool of sessions by target. A target gets another session only when none of its sessions has capacity.
 * The number of sessions is not limited, like the number of connections in the HTTP/1.1 pool.
 */
export function createSessions(dialer: Dialer, options: SessionsOptions = {}): Sessions {
  const { probeMs = PROBE_MS } = options
  const known = new Map<string, Set<UpstreamSession>>()
  const dialling = new Map<string, Promise<UpstreamSession>>()
  const state: { timer: NodeJS.Timeout | undefined; isClosed: boolean } = {
    timer: undefined,
    isClosed: false,
  }

  async function begin(target: UpstreamTarget, call: Call): Promise<OpenedStream> {
    for (let lost = 0; lost < MAX_LOST; ) {
      const session = (await free(known.get(target.key), probeMs)) ?? (await shared(target))
      const opened = beginOn(session, call)
      if (opened !== null) return opened
      if (isUseless(session)) lost += 1
    }
    throw failed(target.host, 'the server accepts no streams')
  }

  /** Returns the session that is being dialed, or dials one. Calls that arrive during a dial share its session. */
  function shared(target: UpstreamTarget): Promise<UpstreamSession> {
    const { key } = target
    const started = dialling.get(key) ?? dial(target).finally(() => dialling.delete(key))
    dialling.set(key, started)
    return started
  }

  async function dial(target: UpstreamTarget): Promise<UpstreamSession> {
    const { key } = target
    const session = await dialSession(dialer, target, {
      timeoutMs: LIMITS.connectTimeoutMs,
      onClosed: (closed) => evict(key, closed),
    })
    if (state.isClosed) session.destroy()
    known.set(key, (known.get(key) ?? new Set()).add(session))
    state.timer ??= setInterval(sweep, SWEEP_MS).unref()
    return session
  }

  function evict(key: string, session: UpstreamSession): void {
    const of = known.get(key)
    of?.delete(session)
    if (of?.size === 0) known.delete(key)
  }

  function sweep(): void {
    for (const of of known.values()) for (const session of of) ageSession(session)
    if (known.size > 0) return
    clearInterval(state.timer)
    state.timer = undefined
  }

  function close(): void {
    state.isClosed = true
    for (const of of known.values()) for (const session of of) session.destroy()
  }

  return { begin, close }
}

/** Returns a session with capacity; null when there is none. A session without a recent response is pinged first. */
async function free(
  of: ReadonlySet<UpstreamSession> | undefined,
  probeMs: number,
): Promise<UpstreamSession | null> {
  const open = [...(of ?? [])].filter((session) => !session.isOver && !session.isFull)
  for (const session of open) {
    if (session.quiet < QUIET_SWEEPS || (await session.probe(probeMs))) return session
    session.retire()
  }
  return null
}

/**
 * Opens the stream on the session. Throws when the exchange has ended during the dial; the session then stays available
 * for later calls.
 */
function beginOn(session: UpstreamSession, call: Call): OpenedStream | null {
  if (call.isOver()) throw new DOMException('the exchange was ended', 'AbortError')
  return session.begin(call.fields, call.hasBody)
}

/**
 * Returns true when the session cannot accept calls. A full session without a call in progress counts too, because it
 * never accepts one.
 */
function isUseless(session: UpstreamSession): boolean {
  return session.isOver || session.calls === 0
}

/**
 * Increases the age of one session. Retires an old or idle session. A retired session that has not closed by itself is
 * destroyed at the next sweep.
 */
function ageSession(session: UpstreamSession): void {
  session.age += 1
  session.quiet += 1
  if (session.isOver && session.calls === 0) session.destroy()
  else if (session.age > AGE_SWEEPS || (session.calls === 0 && session.quiet > IDLE_SWEEPS)) session.retire()
}

function failed(host: string, why: string): ChaperoneError {
  const detail = `${host} could not be called over HTTP/2: ${why}. Nothing was sent.`
  return new ChaperoneError('upstream_failed', { detail, extra: { error_type: 'connect' } })
}
