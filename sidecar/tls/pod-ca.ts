import { isPermitted } from '../../core/x509/name-constraints.ts'
import {
  type CertificateAuthority,
  type CertificateAuthorityFiles,
  loadCertificateAuthority,
} from './certificate-authority.ts'
import { createIntermediate, type IntermediateDeps } from './intermediate.ts'

export type PodCa = {
  /** The CA that mints leaves. The object stays the same while its certificate is renewed. */
  readonly ca: CertificateAuthority
  readonly isReady: boolean
  /** Validity of the intermediate certificate in epoch milliseconds; null without one. */
  readonly validity: { readonly notBeforeMs: number; readonly notAfterMs: number } | null
  /**
   * Resolves with the root certificates (PEM) for the agent: the root of the pod, and the root of the control plane
   * unless the control plane signs no certificate within `patienceMs` milliseconds. Rejects when the root of the pod
   * cannot be loaded.
   */
  ready(patienceMs: number): Promise<readonly string[]>
  /** Sets the hosts whose TLS is terminated. */
  cover(hosts: readonly string[]): void
  close(): void
}

export type PodCaDeps = IntermediateDeps & {
  /**
   * Files of the root of the pod. The files remain on disk, so that the agent still trusts the root after a restart of
   * this process.
   */
  readonly own: CertificateAuthorityFiles
  readonly nowMs?: () => number
}

/**
 * Creates the CA of a governed pod. An intermediate of the control plane signs for the terminated hosts, and is
 * restricted to them by Name Constraints. A root of the pod signs for all other names: requests to them are refused,
 * and the refusal must be sent inside TLS, also without a control plane. The root also signs for new hosts until the
 * intermediate is reissued. Only the agent of this pod trusts the root, so its key has no use elsewhere.
 */
export function createPodCa(deps: PodCaDeps): PodCa {
  const { nowMs = Date.now } = deps
  const intermediate = createIntermediate(deps)
  let root: CertificateAuthority | null = null

  function caFor(host: string): CertificateAuthority {
    const { current } = intermediate
    // Clients refuse leaves of an expired intermediate. The intermediate only expires when the control plane could not
    // renew it for a long time.
    if (current === null || current.notAfterMs <= nowMs()) return present(root)
    const isCovered = current.permitted === null || isPermitted(current.permitted, host)
    return isCovered ? current.ca : present(root)
  }

  const shown = (): CertificateAuthority => present(intermediate.current?.ca ?? root)

  return {
    ca: {
      get certPem() {
        return shown().certPem
      },
      get caPem() {
        return shown().caPem
      },
      get isConstrained() {
        return shown().isConstrained
      },
      mint: (host) => caFor(host).mint(host),
    },
    get isReady() {
      return root !== null
    },
    get validity() {
      return intermediate.current
    },
    async ready(patienceMs) {
      const own = await loadCertificateAuthority(deps.own, Date.now, 'Chaperone pod CA')
      root = own
      if (await intermediate.first(patienceMs)) return [shown().caPem, own.caPem]
      deps.log.warn(
        {},
        'control plane did not sign the sidecar certificate in time, so the agent trusts only the root certificate that this pod made',
      )
      return [own.caPem]
    },
    cover: intermediate.cover,
    close: intermediate.close,
  }
}

function present(ca: CertificateAuthority | null): CertificateAuthority {
  if (ca === null) throw new RangeError('the sidecar has no certificate yet')
  return ca
}
