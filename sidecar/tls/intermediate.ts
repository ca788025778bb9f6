import { type PermittedNames, permittedNames } from '../../core/x509/name-constraints.ts'
import type { Log } from '../process/log.ts'
import { type Issued, issueCa, type Sign } from './issued-ca.ts'

/** The intermediate of a pod: renewed at two thirds of its life, reissued when the terminated hosts change. */
export type Intermediate = {
  readonly current: Issued | null
  /** False when the control plane signs nothing within `patienceMs`; there is no intermediate then. */
  first(patienceMs: number): Promise<boolean>
  /** The hosts whose TLS is terminated now; requests another certificate when the present one permits others. */
  cover(hosts: readonly string[]): void
  close(): void
}

export type IntermediateDeps = {
  readonly name: string
  readonly sign: Sign
  /** Another certificate signs leaves from now on. */
  readonly onIssued: () => void
  readonly random: () => number
  readonly log: Pick<Log, 'info' | 'warn'>
}

const RETRY_MS = 1_000
const RENEW_RETRY_MS = 60_000
/** Spreads the requests of a fleet whose Connectors changed; well below the 5 s within which it is reissued. */
const SPREAD_MS = 1_500
/** A replica may be behind by seconds. Names that differ for longer differ by version of the program, for example. */
const MAX_BACKOFF_MS = 600_000

export function createIntermediate(deps: IntermediateDeps): Intermediate {
  const { name, sign, onIssued, log } = deps
  let current: Issued | null = null
  let renewal: NodeJS.Timeout | undefined
  let isClosed = false
  const reissue = createReissue(deps, () => current?.permitted ?? null, issue)

  async function issue(): Promise<void> {
    const issued = await issueCa(name, sign)
    if (isClosed) return
    current = issued
    const until = new Date(issued.notAfterMs).toISOString()
    log.info({ until, names: issued.permitted?.length ?? null }, 'certificate of this sidecar signed')
    // The clock of this machine may be ahead of the control plane's by more than the certificate lives.
    renewAfter(Math.max(((issued.notAfterMs - Date.now()) * 2) / 3, RENEW_RETRY_MS))
    onIssued()
    reissue.compare()
  }

  function renewAfter(ms: number): void {
    clearTimeout(renewal)
    if (isClosed) return
    renewal = setTimeout(() => {
      issue().catch((error: unknown) => {
        log.warn({ err: error }, 'certificate of this sidecar not renewed; trying again')
        renewAfter(RENEW_RETRY_MS)
      })
    }, ms).unref()
  }

  return {
    get current() {
      return current
    },
    async first(patienceMs) {
      const untilMs = performance.now() + patienceMs
      for (;;) {
        try {
          await issue()
          return true
        } catch (error) {
          log.warn({ err: error }, 'certificate of this sidecar not signed yet')
        }
        if (isClosed || performance.now() + RETRY_MS > untilMs) return false
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
      }
    },
    cover: reissue.cover,
    close() {
      isClosed = true
      clearTimeout(renewal)
      reissue.close()
    },
  }
}

/** Requests another certificate while the present one permits other names than those of the terminated hosts. */
function createReissue(
  { random, log }: IntermediateDeps,
  permitted: () => PermittedNames | null,
  issue: () => Promise<void>,
) {
  // Null before the first snapshot: whatever the control plane permits is right.
  let wanted: PermittedNames | null = null
  let attempts = 0
  let timer: NodeJS.Timeout | undefined
  let isIssuing = false
  let isClosed = false

  /** Live connections go on under the certificate that is replaced: it stays valid. */
  function compare(): void {
    const present = permitted()
    // Also null below an older control plane, whose certificates permit every name.
    if (present === null || wanted === null || isSame(present, wanted)) return
    if (isIssuing || isClosed) return
    const backoffMs = attempts === 0 ? 0 : Math.min(RETRY_MS * 2 ** (attempts - 1), MAX_BACKOFF_MS)
    clearTimeout(timer)
    timer = setTimeout(() => void attempt(), backoffMs + random() * SPREAD_MS).unref()
  }

  async function attempt(): Promise<void> {
    attempts++
    isIssuing = true
    try {
      await issue()
    } catch (error) {
      log.warn({ err: error }, 'certificate of this sidecar not reissued for its present hosts')
    }
    isIssuing = false
    compare()
  }

  return {
    compare,
    cover(hosts: readonly string[]): void {
      const names = permittedNames(hosts)
      if (wanted !== null && isSame(wanted, names)) return
      wanted = names
      attempts = 0
      compare()
    },
    close(): void {
      isClosed = true
      clearTimeout(timer)
    },
  }
}

function isSame(a: PermittedNames, b: PermittedNames): boolean {
  return a.length === b.length && a.every((name, index) => name === b[index])
}
