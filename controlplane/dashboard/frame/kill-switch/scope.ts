export type ScopeKind = 'all' | 'agent' | 'connector' | 'gateway'

export const SCOPE_KINDS: ReadonlyArray<{ readonly value: ScopeKind; readonly label: string }> = [
  { value: 'all', label: 'Everything' },
  { value: 'agent', label: 'One agent' },
  { value: 'connector', label: 'One connector' },
  { value: 'gateway', label: 'One gateway' },
]

/** Formats a scope for the API: `all`, `agent:NAME`, `connector:TYPE`, or `gateway:NAME`. */
export function scopeText(kind: ScopeKind, name: string): string {
  return kind === 'all' ? 'all' : `${kind}:${name}`
}

/** Formats a scope for users: `agent:dev` becomes `agent dev`, `all` becomes `everything`. */
export function scopeLabel(scope: string): string {
  if (scope === 'all') return 'everything'
  const [kind, name] = scope.includes(':')
    ? [scope.split(':')[0], scope.slice(scope.indexOf(':') + 1)]
    : ['', scope]
  return kind === '' ? (name ?? scope) : `${kind} ${name}`
}
