import { isPermitted } from '../../core/x509/name-constraints.ts'
import {
  type Authority,
  type CertificateAuthorityFiles,
  loadCertificateAuthority,
} from './certificate-authority.ts'
import { createIntermediate, type IntermediateDeps } from './intermediate.ts'

export type PodCa = {
  /** Stays the same object while the certificate behind it is renewed. */
  readonly authority: Authority
  readonly isReady: boolean
  /**
   * Resolves with the roots that the agent is to trust: the control plane's, unless it signs nothing within
   * `patienceMs`, and the pod's own. Rejects when the pod's own cannot be loaded.
   */
  ready(patienceMs: number): Promise<readonly string[]>
  /** The hosts whose TLS is terminated now. */
  cover(hosts: readonly string[]): void
  close(): void
}

export type PodCaDeps = IntermediateDeps & {
  /** The pod's own root. In files, so that the agent still trusts it after a restart of this process. */
  readonly own: CertificateAuthorityFiles
  readonly nowMs?: () => number
}

/**
 * The certificate authority (CA) of a governed pod: for the terminated hosts an intermediate of the control plane,
 * whose Name Constraints permit these alone; for all other names a root of the pod's own. Other names are refused, and
 * the refusal has to arrive inside TLS; a host that was added a moment ago is the only other use. This pod's agent
 * alone trusts that root: its key is worth nothing elsewhere, and a refusal needs no control plane.
 */
export function createPodCa(deps: PodCaDeps): PodCa {
  const { nowMs = Date.now } = deps
  const intermediate = createIntermediate(deps)
  let root: Authority | null = null

  function authorityFor(host: string): Authority {
    const { current } = intermediate
    // Clients refuse leaves of an expired intermediate: the control plane has not renewed it for a long time.
    if (current === null || current.notAfterMs <= nowMs()) return present(root)
    const isCovered = current.permitted === null || isPermitted(current.permitted, host)
    return isCovered ? current.authority : present(root)
  }

  const shown = (): Authority => present(intermediate.current?.authority ?? root)

  return {
    authority: {
      get certPem() {
        return shown().certPem
      },
      get caPem() {
        return shown().caPem
      },
      get isConstrained() {
        return shown().isConstrained
      },
      mint: (host) => authorityFor(host).mint(host),
    },
    get isReady() {
      return root !== null
    },
    async ready(patienceMs) {
      const own = await loadCertificateAuthority(deps.own, Date.now, 'Chaperone pod CA')
      root = own
      if (await intermediate.first(patienceMs)) return [shown().caPem, own.caPem]
      deps.log.warn({}, 'no control plane to sign for this sidecar: the agent trusts a root of its own')
      return [own.caPem]
    },
    cover: intermediate.cover,
    close: intermediate.close,
  }
}

function present(authority: Authority | null): Authority {
  if (authority === null) throw new RangeError('this sidecar has no certificate yet')
  return authority
}
