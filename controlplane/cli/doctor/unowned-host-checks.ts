import { UnownedHostsReply } from '../../../core/wire/connectors.ts'
import type { ApiClient } from '../client/client.ts'
import { type Check, ok, warning } from './check.ts'

const SHOWN = 20

/**
 * Returns a check for each host that agents requested and that no connector owns, with the setting that allows the
 * host.
 */
export async function unownedHostChecks(api: Pick<ApiClient, 'call'>): Promise<readonly Check[]> {
  const path = `/api/dashboard/unowned-hosts?limit=${SHOWN}`
  const { hosts } = UnownedHostsReply.parse(await api.call('GET', path))
  if (hosts.length === 0) return [ok('refused hosts', 'every requested host has a connector')]
  return hosts.map(({ host, port, gateway, agents, known, manifests }) => {
    const name = `refused host ${port === 443 ? host : `${host}:${port}`}`
    const found = `requested by ${agents.join(', ') || 'an unknown agent'}, and refused because no connector owns the host`
    if (known !== null) return ok(name, known)
    const list = manifests.egress.includes('tcp:') ? 'spec.egress.tcp' : 'spec.egress.allowedHosts'
    const added = `it to ${list} of Gateway ${gateway}`
    return warning(
      name,
      found,
      manifests.connector === null ? `add ${added}` : `add a Connector with this domain, or add ${added}`,
    )
  })
}
