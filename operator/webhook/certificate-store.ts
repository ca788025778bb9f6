import * as z from 'zod'
import { FIELD_MANAGER } from '../kube/apply.ts'
import type { KubeClient } from '../kube/client.ts'
import { hasCode } from '../kube/kube-failure.ts'
import { pathOf, RESOURCES } from '../kube/objects.ts'
import type { CertificateAuthorities } from './certificate-authorities.ts'
import type { CertificatePort, StoredCertificateAuthorities } from './certificates.ts'
import {
  CONFIGURATIONS,
  MANIFESTS_CONFIGURATION,
  manifestsConfiguration,
  WEBHOOK_CONFIGURATION,
  type WebhookTarget,
  webhookConfiguration,
} from './configuration.ts'
import type { IssuedCertificate } from './issued-certificates.ts'

const WEBHOOK_SECRET = 'chaperone-webhook-ca'

export type CertificateStore = CertificatePort & {
  /** Reads a Secret of the type kubernetes.io/tls; null when it does not exist. */
  readonly readIssued: (name: string) => Promise<IssuedCertificate | null>
}

const Secret = z.looseObject({
  metadata: z.looseObject({ resourceVersion: z.string() }),
  data: z.record(z.string(), z.string()).default({}),
})

/**
 * Stores the certificate authorities in a Secret of the installation, and their bundle in both webhook configurations.
 */
export function createCertificateStore(
  client: KubeClient,
  { ownNamespace, target }: { readonly ownNamespace: string; readonly target: () => WebhookTarget },
): CertificateStore {
  const secrets = pathOf(RESOURCES.Secret, ownNamespace)
  return {
    async readCertificateAuthorities() {
      try {
        return stored(
          Secret.parse(await client.call({ method: 'GET', path: `${secrets}/${WEBHOOK_SECRET}` })),
        )
      } catch (error) {
        if (hasCode(error, 'not_found')) return null
        throw error
      }
    },
    async writeCertificateAuthorities(cas, resourceVersion) {
      const body = secretBody(cas, resourceVersion)
      try {
        if (resourceVersion === null) await client.call({ method: 'POST', path: secrets, body })
        else await client.call({ method: 'PUT', path: `${secrets}/${WEBHOOK_SECRET}`, body })
        return true
      } catch (error) {
        if (hasCode(error, 'conflict') || hasCode(error, 'not_found')) return false
        throw error
      }
    },
    async readIssued(name) {
      try {
        const { data } = Secret.parse(await client.call({ method: 'GET', path: `${secrets}/${name}` }))
        const text = (key: string) => Buffer.from(data[key] ?? '', 'base64').toString('utf8')
        return { certPem: text('tls.crt'), keyPem: text('tls.key'), caPem: text('ca.crt') }
      } catch (error) {
        if (hasCode(error, 'not_found')) return null
        throw error
      }
    },
    async writeTrustBundle(caBundle) {
      await client.call({
        method: 'PATCH',
        path: pathOf(CONFIGURATIONS.MutatingWebhookConfiguration, undefined, WEBHOOK_CONFIGURATION),
        query: { fieldManager: FIELD_MANAGER, force: true },
        contentType: 'application/apply-patch+yaml',
        body: webhookConfiguration({ ownNamespace, target: target(), caBundle }),
      })
      await client.call({
        method: 'PATCH',
        path: pathOf(CONFIGURATIONS.ValidatingWebhookConfiguration, undefined, MANIFESTS_CONFIGURATION),
        query: { fieldManager: FIELD_MANAGER, force: true },
        contentType: 'application/apply-patch+yaml',
        body: manifestsConfiguration({ target: target(), caBundle }),
      })
    },
  }
}

function secretBody({ current, previous }: CertificateAuthorities, resourceVersion: string | null): object {
  const texts = {
    'ca.crt': current.certPem,
    'ca.key': current.keyPem,
    ...(previous && { 'previous.crt': previous.certPem, 'previous.key': previous.keyPem }),
  }
  const data = Object.entries(texts).map(([name, text]) => [name, Buffer.from(text).toString('base64')])
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: WEBHOOK_SECRET,
      labels: { 'app.kubernetes.io/part-of': 'chaperone' },
      ...(resourceVersion !== null && { resourceVersion }),
    },
    type: 'Opaque',
    data: Object.fromEntries(data),
  }
}

/**
 * Returns the certificate authorities in the Secret. Ignores a certificate without a key, and a key without a
 * certificate.
 */
function stored({ metadata, data }: z.infer<typeof Secret>): StoredCertificateAuthorities {
  const pair = (name: string) => {
    const [certPem, keyPem] = [data[`${name}.crt`], data[`${name}.key`]].map((text) =>
      Buffer.from(text ?? '', 'base64').toString('utf8'),
    )
    return certPem && keyPem ? { certPem, keyPem } : undefined
  }
  const [current, previous] = [pair('ca'), pair('previous')]
  const cas = current === undefined ? null : { current, ...(previous && { previous }) }
  return { cas, resourceVersion: metadata.resourceVersion }
}
