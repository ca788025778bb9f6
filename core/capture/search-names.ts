/** Characters of a search domain, in lower case. */
export const SEARCH_DOMAIN = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/

/**
 * Returns the search domains of a `resolv.conf`, in lower case: the domains of its last `search` or `domain` line
 * (resolv.conf(5)).
 */
export function searchDomains(resolvConf: string): readonly string[] {
  const lines = resolvConf
    .split('\n')
    .flatMap((line) => /^\s*(?:search|domain)\s+(.*)$/.exec(line)?.[1] ?? [])
  const domains = (lines.at(-1) ?? '').toLowerCase().split(/\s+/)
  return domains.map((domain) => domain.replace(/^\.+|\.+$/g, '')).filter((domain) => domain !== '')
}

/**
 * Returns the search domains that the kubelet gives the pods of a namespace with cluster DNS: those of the cluster, and
 * those of the `resolv.conf` of the node. Ignores the settings of the pod, because its author could choose a domain that
 * hides DNS look-ups from the records.
 */
export function podSearchDomains(
  namespace: string,
  {
    clusterDomain,
    searchDomains,
  }: { readonly clusterDomain: string; readonly searchDomains: readonly string[] },
): readonly string[] {
  const domain = clusterDomain.toLowerCase().replace(/^\.+|\.+$/g, '')
  return [`${namespace}.svc.${domain}`, `svc.${domain}`, domain, ...searchDomains]
}

/** Returns the search domains of the node from those of a pod with cluster DNS, sorted. */
export function nodeSearchDomains(domains: readonly string[], clusterDomain: string): readonly string[] {
  const isOfCluster = (domain: string) =>
    domain === clusterDomain || `.${domain}`.endsWith(`.svc.${clusterDomain}`)
  return [...new Set(domains)].filter((domain) => !isOfCluster(domain) && SEARCH_DOMAIN.test(domain)).sort()
}

/**
 * Returns the name that the client looked up, without a search domain that its resolver appended. For example, with
 * `ndots:5` a pod queries `api.example.com.team.svc.cluster.local` and two more names before `api.example.com`. The
 * name stays unchanged if only a single label would remain.
 */
export function withoutSearchDomain(name: string, domains: readonly string[]): string {
  const bare = domains
    .filter((domain) => name.endsWith(`.${domain}`))
    .map((domain) => name.slice(0, -domain.length - 1))
    .toSorted((a, b) => a.length - b.length)[0]
  return bare?.includes('.') === true ? bare : name
}
