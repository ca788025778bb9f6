import { findConnector } from '../../../core/connectors/registry.ts'
import type { Snapshot } from '../../../core/snapshot/snapshot.ts'
import type { ConnectorEntry } from '../../../core/wire/gateway/sync.ts'
import type { ExchangeSignal } from '../exchange-abort.ts'
import { injectsNone, sentTokenOf } from '../outgoing.ts'
import type { Evaluated, Journaled, Parsed, Received } from '../phases.ts'
import type { CredentialPort, PipelinePorts, RefusedSecret } from '../ports.ts'
import { refuse } from '../refusal/refuse.ts'
import type { ResponseStage } from '../response/response-stage.ts'
import type { StageResult } from '../stage.ts'

/**
 * Returns the reason why no request can be sent with the minted credential of the connector; null while that credential
 * is valid.
 */
export function expiredReason({ name, secret, minted }: ConnectorEntry, nowMs: number): string | null {
  if (minted === undefined) return null
  const { expires_at: expiresAt, error } = minted
  const isValid = secret !== null && expiresAt !== null && nowMs < Date.parse(expiresAt)
  if (isValid) return null
  const state = secret === null ? 'has no credential yet' : 'has a credential that expired'
  const cause = error ?? 'The control plane is fetching a new credential. Try again in a moment.'
  return `Connector "${name}" ${state}, so the request cannot be sent. ${cause}`
}

type SnapshotPorts = Pick<PipelinePorts, 'snapshot' | 'clock'>

/**
 * Returns the reason why the request could not be sent now with the minted credential in the current snapshot. Returns
 * null when the request could be sent, and when its connector no longer owns the host.
 */
export function credentialProblem(exchange: Parsed, { snapshot, clock }: SnapshotPorts): string | null {
  const entry = entryNow(exchange, snapshot())
  return entry === null ? null : expiredReason(entry, clock.nowMs())
}

/**
 * Returns the entry that the exchange's connector has in the snapshot. Returns null without a connector, and when the
 * connector does not own the host of the request in that snapshot.
 */
export function entryNow({ connector, request }: Parsed, snapshot: Snapshot | null): ConnectorEntry | null {
  if (connector === undefined) return null
  const { host, port } = request
  return currentEntry(snapshot, { connectorId: connector.entry.id, host, port })
}

/**
 * Waits for the credential that the control plane is minting, and refuses the request without it. Returns the exchange
 * when the current snapshot has the credential; the stage `renew` then evaluates the exchange again. An approved
 * request does not wait, because it is not evaluated again.
 *
 * @param reason Reason why the request cannot be sent with the credential of its own snapshot.
 */
export async function waitForSecret(
  exchange: Evaluated,
  ports: SnapshotPorts & Pick<PipelinePorts, 'credentials'>,
  reason: string,
): Promise<StageResult<Evaluated>> {
  const { approvalId, abort } = exchange
  if (approvalId !== undefined) return refuseExpired(exchange, reason)
  const isSettled = (): boolean =>
    entryNow(exchange, ports.snapshot())?.minted?.error !== null ||
    credentialProblem(exchange, ports) === null
  await ports.credentials.untilSettled(isSettled, abort.signal)
  abort.signal.throwIfAborted()
  const problem = ports.snapshot() === exchange.snapshot ? reason : credentialProblem(exchange, ports)
  return problem === null ? exchange : refuseExpired(exchange, problem)
}

/**
 * Returns the entry of the connector in the snapshot; null when the connector does not own the host in that snapshot.
 */
export function currentEntry(
  snapshot: Snapshot | null,
  { connectorId, host, port }: Omit<RefusedSecret, 'serial'>,
): ConnectorEntry | null {
  const bound = snapshot === null ? null : findConnector(snapshot.hosts, host, port)
  return bound?.entry.id === connectorId ? bound.entry : null
}

/** Observes whether the upstream refuses the short-lived credential of a request. */
export type CredentialWatch = ResponseStage & {
  readonly isDiscarded: boolean
  /**
   * Resolves when the snapshot has another credential, when the exchange is aborted, or after a few seconds. Never
   * rejects.
   */
  refresh(): Promise<void>
}

const UNAUTHORIZED = 401

/**
 * Returns the watch of a request. Returns null when the request carries no short-lived credential, or when the
 * credential may not be refreshed now. The watch of a repeated request only reports a refusal.
 */
export function watchCredential(exchange: Journaled, credentials: CredentialPort): CredentialWatch | null {
  const { connector, request } = exchange
  const minted = connector?.entry.minted
  if (connector === undefined || minted === undefined) return null
  const { host, port } = request
  const serial = sentTokenOf(exchange)?.serial ?? minted.serial
  const refused = { connectorId: connector.entry.id, serial, host, port }
  if (injectsNone(connector, request)) return null
  if (!exchange.isRepeated && !credentials.mayRefresh(refused)) return null
  let isDiscarded = false
  return {
    discards(status) {
      if (status !== UNAUTHORIZED) return false
      isDiscarded = !exchange.isRepeated && isRepeatable(exchange)
      // The agent receives the 401 of a request that is not sent again. The refresh gives later requests a new
      // credential.
      if (exchange.isRepeated) credentials.refusedAgain(refused)
      else if (!isDiscarded) void credentials.refresh(refused)
      return isDiscarded
    },
    get isDiscarded() {
      return isDiscarded
    },
    refresh: () => untilAborted(credentials.refresh(refused), exchange.abort.signal),
  }
}

/** Resolves with the promise, which never rejects, or when the signal fires. */
function untilAborted(pending: Promise<void>, signal: ExchangeSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const done = (): void => {
      signal.removeEventListener('abort', done)
      resolve()
    }
    signal.addEventListener('abort', done, { once: true })
    void pending.then(done)
  })
}

/**
 * Reports whether the request can be sent again after the upstream refused its credential. The request must be a read
 * whose body is empty or in memory. An approved request is not sent again, because an approval releases one request.
 */
function isRepeatable(exchange: Journaled): boolean {
  const { kind, body, bodyBytes, actions = [], approvalId, order, system } = exchange
  if (kind !== 'http' || system !== undefined) return false
  if (approvalId !== undefined || (order?.approvalId ?? null) !== null) return false
  if (!body.isEmpty && bodyBytes === undefined) return false
  return actions.length > 0 && actions.every(({ effect }) => effect === 'read')
}

const RETRY_S = 2

/**
 * Refuses a request whose credential has expired, or was never issued. The response tells the agent to send the request
 * again later.
 */
export function refuseExpired(exchange: Received, detail: string, extra: object = {}): 'responded' {
  return refuse(exchange, {
    code: 'not_ready',
    reason: 'credential',
    error: 'credential unavailable',
    detail,
    retryAfterS: RETRY_S,
    extra: { ...extra },
  })
}
