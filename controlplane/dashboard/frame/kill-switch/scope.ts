export type ScopeKind = 'all' | 'agent' | 'connector' | 'gateway'

export const SCOPE_KINDS: ReadonlyArray<{ readonly value: ScopeKind; readonly label: string }> = [
  { value: 'all', label: 'Everything' },
  { value: 'agent', label: 'One agent' },
  { value: 'connector', label: 'One connector' },
  { value: 'gateway', label: 'One gateway' },
]

/** `all`, `agent:NAME`, …: what the API calls it. */
export function scopeText(kind: ScopeKind, name: string): string {
  return kind === 'all' ? 'all' : `${kind}:${name}`
}

/** `agent:dev` -> `The agent dev`. */
export function scopeLabel(scope: string): string {
  if (scope === 'all') return 'Everything'
  const [kind, name] = scope.includes(':')
    ? [scope.split(':')[0], scope.slice(scope.indexOf(':') + 1)]
    : ['', scope]
  return kind === '' ? (name ?? scope) : `The ${kind} ${name}`
}
