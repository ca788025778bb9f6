import { RefreshCredentialReply } from '../../core/wire/gateway/minted-secret.ts'
import { type ConnectorEntry, SYNC_PATHS } from '../../core/wire/gateway/sync.ts'
import type { CredentialPort, RefusedSecret } from '../pipeline/ports.ts'
import { type ControlClient, jsonOf } from './client/client.ts'
import { postWithin } from './client/post-within.ts'
import type { ConditionWaits } from './snapshot/condition-waits.ts'

export type CredentialRefreshDeps = {
  readonly client: () => ControlClient
  readonly waits: () => ConditionWaits
  /** Returns the entry of the connector in the current snapshot; null when the snapshot has none. */
  readonly entryOf: (refused: RefusedSecret) => ConnectorEntry | null
  readonly isConnected: () => boolean
  readonly monotonicMs: () => number
}

/** Time limit in milliseconds of the call that requests a new credential. */
const CALL_MS = 2_000
/** Longest wait in milliseconds for a new credential. Requests of agents wait during this time. */
const WAIT_MS = 5_000
/** Milliseconds between two refreshes of one Connector. An upstream may answer 401 for other reasons. */
const PAUSE_MS = 10_000
/** Maximum number of Connectors whose last refresh is stored. */
const MAX_CONNECTORS = 1_000

type Refresh = {
  /** Serial number, given by the control plane, of the credential that the upstream refused. */
  readonly serial: number
  readonly pending: Promise<void> | null
  readonly endedAtMs: number
  /**
   * Serial number of the new credential if the upstream refused this credential too, which shows that the 401 has
   * another reason. Absent otherwise.
   */
  readonly refusedAgain?: number
}

/**
 * Creates the `CredentialPort` of the pipeline. Through it, the pipeline makes the control plane replace a refused
 * credential, and waits for the new credential.
 */
export function createCredentialRefresh(deps: CredentialRefreshDeps): CredentialPort {
  const last = new Map<string, Refresh>()

  function isReplaced(refused: RefusedSecret): boolean {
    return deps.entryOf(refused)?.minted?.serial !== refused.serial
  }

  function isRefusedAgain({ connectorId, serial }: RefusedSecret): boolean {
    return last.get(connectorId)?.refusedAgain === serial
  }

  async function refresh(refused: RefusedSecret): Promise<void> {
    const { connectorId: connector_id, serial } = refused
    const body = { connector_id, serial }
    const reply = await postWithin(deps.client(), SYNC_PATHS.credentials, body, CALL_MS).catch(
      () => undefined,
    )
    const parsed = reply === undefined ? undefined : RefreshCredentialReply.safeParse(jsonOf(reply))
    if (parsed?.data?.refreshing !== true) return
    const isSettled = () => isReplaced(refused) || deps.entryOf(refused)?.minted?.error != null
    await deps.waits().until(isSettled, WAIT_MS)
  }

  return {
    mayRefresh(refused) {
      if (isRefusedAgain(refused)) return false
      const known = last.get(refused.connectorId)
      if (known === undefined || known.pending !== null || isReplaced(refused)) return true
      return deps.monotonicMs() >= known.endedAtMs + PAUSE_MS
    },
    refusedAgain({ connectorId, serial }) {
      const known = last.get(connectorId)
      // With equal serial numbers, the refresh brought no new credential, so the upstream refused the same credential
      // twice.
      if (known?.pending !== null || known.serial === serial) return
      last.set(connectorId, { ...known, refusedAgain: serial })
    },
    refresh(refused) {
      if (isReplaced(refused) || isRefusedAgain(refused)) return Promise.resolve()
      const { connectorId, serial } = refused
      const known = last.get(connectorId)
      if (known?.pending) return known.pending
      // No refresh follows the last one within `PAUSE_MS`, because requests that were in flight during the last refresh
      // may be refused after it.
      if (known !== undefined && deps.monotonicMs() < known.endedAtMs + PAUSE_MS) return Promise.resolve()
      if (last.size >= MAX_CONNECTORS) last.clear()
      const pending = refresh(refused).finally(() => {
        last.set(connectorId, { serial, pending: null, endedAtMs: deps.monotonicMs() })
      })
      last.set(connectorId, { serial, pending, endedAtMs: 0 })
      return pending
    },
    async untilSettled(isSettled, signal) {
      if (deps.isConnected()) await deps.waits().until(isSettled, WAIT_MS, signal)
    },
  }
}
