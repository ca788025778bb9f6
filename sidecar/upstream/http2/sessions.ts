import { ChaperoneError } from '../../../core/errors.ts'
import { LIMITS } from '../../../core/wire/limits.ts'
import type { Dialer } from '../dial.ts'
import type { UpstreamTarget } from '../target.ts'
import { dialSession } from './dial-session.ts'
import type { OpenedStream, UpstreamSession } from './session.ts'

export type Sessions = {
  /**
   * A stream for one call, on a session that has room or a new one. Rejects with `upstream_failed` when the upstream
   * does not speak HTTP/2 or takes no calls, and as the dialler does; nothing was sent of the call then.
   */
  begin(target: UpstreamTarget, call: Call): Promise<OpenedStream>
  /** Destroys all sessions; what runs on them fails. */
  close(): void
}

export type Call = {
  readonly fields: readonly string[]
  readonly hasBody: boolean
  /** True once the call has been abandoned. */
  isOver(): boolean
}

export type SessionsOptions = { readonly probeMs?: number }

const SWEEP_MS = 1_000
/** Silent sweeps after which a session is pinged before its next call. */
const QUIET_SWEEPS = 5
/**
 * Idle limit in sweeps. Servers announce their close by GOAWAY, but middleboxes may drop a silent connection sooner.
 */
const IDLE_SWEEPS = 60
/** So that a name which has moved, or a certificate that was replaced, is found in time. */
const AGE_SWEEPS = 600
const PROBE_MS = 2_000
/** Sessions in a row that were gone before they took a call. */
const MAX_LOST = 3

/** Sessions by target: a target has one until it is full. Like the pool of HTTP/1.1, without a cap on their number. */
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
    throw failed(target.host, 'it takes no calls')
  }

  /** Calls that come while a session is dialled wait for it together. */
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
    for (const of of known.values()) for (const session of of) look(session)
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

/** Returns a session with capacity that is alive as far as is known. */
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

/** The client may have disconnected during the dial; the session stays for later calls. */
function beginOn(session: UpstreamSession, call: Call): OpenedStream | null {
  if (call.isOver()) throw new DOMException('the exchange was ended', 'AbortError')
  return session.begin(call.fields, call.hasBody)
}

/** A full session is not an error, unless it has no call in progress: then it never accepts one. */
function isUseless(session: UpstreamSession): boolean {
  return session.isOver || session.calls === 0
}

/** A session leaves the pool by itself when it has closed; one that was told to is given until the next sweep. */
function look(session: UpstreamSession): void {
  session.age += 1
  session.quiet += 1
  if (session.isOver && session.calls === 0) session.destroy()
  else if (session.age > AGE_SWEEPS || (session.calls === 0 && session.quiet > IDLE_SWEEPS)) session.retire()
}

function failed(host: string, why: string): ChaperoneError {
  const detail = `${host} could not be called over HTTP/2: ${why}. Nothing was sent.`
  return new ChaperoneError('upstream_failed', { detail, extra: { error_type: 'connect' } })
}
