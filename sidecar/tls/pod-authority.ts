import { type Authority, type AuthorityFiles, loadAuthority } from './authority.ts'
import { issueAuthority, type Sign } from './issued-authority.ts'

export type PodAuthority = {
  /** Stays the same object while the certificate behind it is renewed. */
  readonly authority: Authority
  readonly isReady: boolean
  /**
   * Resolves with the root that the agent is to trust, once there is one: the control plane's, or after `patienceMs`
   * one of our own, which then stays for good. Rejects when not even that can be made.
   */
  ready(patienceMs: number): Promise<string>
  close(): void
}

export type PodAuthorityDeps = {
  readonly name: string
  readonly sign: Sign
  /** Where our own is kept, so that a restart of the process shows the agent the same root. */
  readonly own: AuthorityFiles
  readonly log: { info(fields: object, message: string): void; warn(fields: object, message: string): void }
}

const RETRY_MS = 1_000
const RENEW_RETRY_MS = 60_000

/** The authority of a governed pod, from its first certificate on, renewed at two thirds of its life. */
export function createPodAuthority({ name, sign, own, log }: PodAuthorityDeps): PodAuthority {
  let current: Authority | null = null
  let timer: NodeJS.Timeout | null = null
  let isClosed = false

  function later(ms: number, work: () => Promise<void>): void {
    if (isClosed) return
    timer = setTimeout(() => void work(), ms).unref()
  }

  async function renew(): Promise<void> {
    try {
      const { authority, notAfterMs } = await issueAuthority(name, sign)
      current = authority
      log.info({ until: new Date(notAfterMs).toISOString() }, 'certificate of this sidecar signed')
      later(((notAfterMs - Date.now()) * 2) / 3, renew)
    } catch (error) {
      log.warn({ err: error }, 'certificate of this sidecar not renewed; trying again')
      later(RENEW_RETRY_MS, renew)
    }
  }

  /** False when the control plane could not be asked; a new attempt is made until `untilMs`. */
  async function first(untilMs: number): Promise<boolean> {
    for (;;) {
      try {
        const { authority, notAfterMs } = await issueAuthority(name, sign)
        current = authority
        later(((notAfterMs - Date.now()) * 2) / 3, renew)
        return true
      } catch (error) {
        log.warn({ err: error }, 'certificate of this sidecar not signed yet')
      }
      if (isClosed || performance.now() + RETRY_MS > untilMs) return false
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
    }
  }

  const now = (): Authority => {
    if (current === null) throw new RangeError('this sidecar has no certificate yet')
    return current
  }

  return {
    authority: {
      get certPem() {
        return now().certPem
      },
      get caPem() {
        return now().caPem
      },
      mint: (host) => now().mint(host),
    },
    get isReady() {
      return current !== null
    },
    async ready(patienceMs) {
      if (!(await first(performance.now() + patienceMs))) {
        current = await loadAuthority(own)
        log.warn({}, 'no control plane to sign for this sidecar: the agent trusts a root of its own')
      }
      return now().caPem
    },
    close() {
      isClosed = true
      if (timer !== null) clearTimeout(timer)
    },
  }
}
