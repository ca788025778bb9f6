import { TOKEN_AUDIENCE, TOKEN_TTL_S, VOLUMES } from '../capture/pod-contract.ts'
import type { InjectGateway, InjectOptions } from './options.ts'
import type { Container, Volume } from './pod.ts'

/** Mode 0644 of the mounted files. Where possible, the kubelet restricts the token file further. */
const READABLE = 420

/** Returns the volumes of the injected containers. Of these, the agent's containers mount only `trust`, read-only. */
export function sidecarVolumes(gateway: InjectGateway, options: InjectOptions): readonly Volume[] {
  const { token, admin, data, trust, controlPlane, extraTrust } = VOLUMES
  const extra = gateway.spec.trust?.extraSecretRef
  return [
    {
      name: token.name,
      projected: {
        defaultMode: READABLE,
        sources: [
          {
            serviceAccountToken: {
              audience: TOKEN_AUDIENCE,
              expirationSeconds: TOKEN_TTL_S,
              path: token.file,
            },
          },
        ],
      },
    },
    { name: admin.name, emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
    { name: data.name, emptyDir: { ...dataMedium(gateway), sizeLimit: '64Mi' } },
    { name: trust.name, emptyDir: { medium: 'Memory', sizeLimit: '8Mi' } },
    ...(options.controlPlane.hasOwnCertificateAuthority
      ? [{ name: controlPlane.name, configMap: fromKey({ name: controlPlane.name }, controlPlane.file) }]
      : []),
    ...(extra === undefined
      ? []
      : [
          {
            name: extraTrust.name,
            secret: fromKey({ secretName: extra.name }, extra.key, extraTrust.file),
          },
        ]),
  ]
}

/**
 * Returns the medium of the journal's volume: memory, or the node's disk with `audit: sync`. On disk, the journal and
 * the pod survive a restart of the node. In memory, syncing the journal would have no benefit.
 */
function dataMedium({ spec }: InjectGateway): { medium?: 'Memory' } {
  return spec.audit === 'sync' ? {} : { medium: 'Memory' }
}

/** Mounts the trust folder with the certificates in the container. */
export function withTrustMount(container: Container): Container {
  const { name, path } = VOLUMES.trust
  const others = (container.volumeMounts ?? []).filter((mount) => mount.name !== name)
  return { ...container, volumeMounts: [...others, { name, mountPath: path, readOnly: true }] }
}

function fromKey<S extends Readonly<Record<string, string>>>(source: S, key: string, path = key) {
  return { ...source, defaultMode: READABLE, items: [{ key, path }] }
}
