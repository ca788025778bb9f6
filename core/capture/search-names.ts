/** Domains of the `search` lines of a `resolv.conf`; the last `search` or `domain` line counts (resolv.conf(5)). */
export function searchDomains(resolvConf: string): readonly string[] {
  const lines = resolvConf
    .split('\n')
    .flatMap((line) => /^\s*(?:search|domain)\s+(.*)$/.exec(line)?.[1] ?? [])
  const domains = (lines.at(-1) ?? '').toLowerCase().split(/\s+/)
  return domains.map((domain) => domain.replace(/^\.+|\.+$/g, '')).filter((domain) => domain !== '')
}

/**
 * The name that the client looked up, where the resolver appended a search domain: with `ndots:5` a pod asks for
 * `api.example.com.team.svc.cluster.local` and two more before `api.example.com`. A single label keeps its search domain.
 */
export function withoutSearchDomain(name: string, domains: readonly string[]): string {
  const bare = domains
    .filter((domain) => name.endsWith(`.${domain}`))
    .map((domain) => name.slice(0, -domain.length - 1))
    .toSorted((a, b) => a.length - b.length)[0]
  return bare?.includes('.') === true ? bare : name
}
