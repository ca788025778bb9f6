import { readFile } from 'node:fs/promises'
import { nodeSearchDomains, searchDomains } from '../../core/capture/search-names.ts'
import { ChaperoneError } from '../../core/errors.ts'
import type { InjectOptions } from '../../core/inject/options.ts'
import type { InjectionConfig } from './config.ts'

const RESOLV_CONF = '/etc/resolv.conf'

/**
 * Returns the DNS settings of sidecars from the configuration. Where the configuration has none, returns the settings
 * that the kubelet wrote to the `resolv.conf` of the operator's pod: the DNS of the cluster, or its cache on the node.
 * Throws `validation` when neither names a server.
 */
export async function installedDns(
  { resolvers, clusterDomain, searchDomains: given }: Omit<InjectionConfig['dns'], 'pods'>,
  file: string = RESOLV_CONF,
): Promise<InjectOptions['dns']> {
  const text = await readFile(file, 'utf8').catch(() => '')
  const servers = resolvers.length > 0 ? resolvers : serversOf(text)
  if (servers.length === 0)
    throw new ChaperoneError('validation', {
      detail: `SIDECAR_DNS_RESOLVERS is not set, and ${file} names no DNS server that pods can reach; set the variable to the address of the cluster DNS, such as 10.96.0.10`,
    })
  const domain = clusterDomain ?? domainOf(text) ?? 'cluster.local'
  // The domains of the pod may be of another cluster domain than the configured one.
  const ofNode = nodeSearchDomains(nodeSearchDomains(searchDomains(text), domainOf(text) ?? domain), domain)
  return { resolvers: servers, clusterDomain: domain, searchDomains: given.length > 0 ? given : ofNode }
}

/** Returns the servers, without those on loopback addresses: in a pod such an address is the pod itself. */
function serversOf(resolvConf: string): readonly string[] {
  const servers = resolvConf.split('\n').flatMap((line) => /^\s*nameserver\s+(\S+)/.exec(line)?.[1] ?? [])
  return servers.filter((server) => !server.startsWith('127.') && server !== '::1')
}

/** Returns the domain of the cluster: the kubelet adds the search domain `svc.DOMAIN` to every pod with cluster DNS. */
function domainOf(resolvConf: string): string | undefined {
  return searchDomains(resolvConf)
    .find((domain) => domain.startsWith('svc.'))
    ?.slice('svc.'.length)
}
