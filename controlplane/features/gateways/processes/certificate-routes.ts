import { terminatedHostsOf } from '../../../../core/connectors/registry.ts'
import { CertificateBody, CertificateReply } from '../../../../core/wire/gateway/certificate.ts'
import { ConnectorEntry, SYNC_PATHS } from '../../../../core/wire/gateway/sync.ts'
import type { GatewayCa } from '../../../crypto/gateway-ca.ts'
import { type Route, route } from '../../../http/route.ts'
import type { SectionLibrary } from '../../../sync/sections/library.ts'
import type { SectionSet } from '../../../sync/sections/sections.ts'
import { gatewayOf } from './principal.ts'

export type CertificateDeps = { readonly gatewayCa: GatewayCa; readonly library: SectionLibrary }

export function certificate({ gatewayCa, library }: CertificateDeps): Route {
  return route({
    method: 'POST',
    path: SYNC_PATHS.certificate,
    auth: 'gateway',
    summary:
      'Issues a certificate of one day for the key of a sidecar and the hosts whose TLS the sidecar terminates. The private key never leaves the pod',
    body: CertificateBody,
    response: CertificateReply,
    handler: async ({ principal, body }) => {
      const { gatewayId, name, sidecar } = gatewayOf(principal)
      const agent = sidecar?.agent.name ?? null
      const hosts = hostsOf(library.of(gatewayId, { agent }))
      const issued = gatewayCa.issue(body.request, { subject: agent ?? name, hosts, nowMs: Date.now() })
      return { chain: issued.chain, not_after: new Date(issued.notAfterMs).toISOString() }
    },
  })
}

/**
 * Returns the hosts for which a sidecar terminates TLS, as subject names of its certificate. Returns none before the
 * control plane has read the configuration of the gateway. The sidecar requests a new certificate after it receives its
 * configuration.
 */
function hostsOf(set: SectionSet | null): readonly string[] {
  const text = set?.texts.get('connectors')
  return text === undefined ? [] : terminatedHostsOf(ConnectorEntry.array().parse(JSON.parse(text)))
}
