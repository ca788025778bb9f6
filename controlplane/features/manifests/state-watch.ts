import { type OperatorState, STATE_WAIT_MS, type StateQuery } from '../../../core/wire/operator/operator.ts'
import { sha256 } from '../../../runtime/sha256.ts'
import type { StateChanges } from '../../sync/state-changes.ts'

/** Serves long polls for the state of this replica. */
export type StateWatch = {
  /**
   * Resolves with the state as soon as its revision differs from `known`. Otherwise resolves with the unchanged state
   * after `STATE_WAIT_MS`, when `ended` is aborted, or when the replica closes.
   */
  next(query: StateQuery, ended: AbortSignal): Promise<OperatorState>
}

type State = Pick<OperatorState, 'version'> & {
  readonly [Key in 'kills' | 'processes' | 'refused_pods' | 'failing_credentials']: Readonly<
    OperatorState[Key]
  >
}

export type StateWatchDeps = {
  readonly read: () => State
  readonly changes: Pick<StateChanges, 'onRead' | 'closing'>
  readonly waitMs?: number
}

const NO_OTHERS = { processes: [], refused_pods: [], failing_credentials: [] } as const

/** Milliseconds for which a changed state is delayed, so that several changes are sent in one reply. */
const SETTLE_MS = 100

export function createStateWatch({ read, changes, waitMs = STATE_WAIT_MS }: StateWatchDeps): StateWatch {
  function current(only: StateQuery['only']): OperatorState {
    const { kills, version, ...others } = read()
    const {
      processes,
      refused_pods: refused,
      failing_credentials: failing,
    } = only === 'kills' ? NO_OTHERS : others
    const state = {
      version,
      kills: [...kills],
      processes: [...processes],
      refused_pods: [...refused],
      failing_credentials: [...failing],
    }
    return { ...state, revision: revisionOf(state) }
  }

  return {
    async next({ known, only }, ended) {
      const first = current(only)
      const end = AbortSignal.any([ended, changes.closing, AbortSignal.timeout(waitMs)])
      if (known !== first.revision || end.aborted) return first
      const { promise, resolve } = Promise.withResolvers<void>()
      let settling: NodeJS.Timeout | undefined
      const remove = changes.onRead(() => {
        settling ??= setTimeout(() => {
          settling = undefined
          if (current(only).revision !== known) resolve()
        }, SETTLE_MS)
      })
      end.addEventListener('abort', () => resolve(), { once: true })
      await promise
      remove()
      clearTimeout(settling)
      return current(only)
    },
  }
}

/**
 * Returns a hash that is equal for equal states. For each process, the hash covers only whether the process has applied
 * the newest version, and not the number of the version. Therefore, the hash does not change when every process applies
 * a new version.
 */
function revisionOf({
  version,
  kills,
  processes,
  refused_pods: refused,
  failing_credentials: failing,
}: Omit<OperatorState, 'revision'>): string {
  const shown = processes.map(({ covered_version: covered, ...rest }) => ({
    ...rest,
    isCurrent: covered !== null && covered >= version,
  }))
  return sha256(JSON.stringify([kills, shown, refused, failing])).toString('base64url')
}
