import type { AgentList } from '../../../../core/wire/agents.ts'

export type ScopeKind = 'all' | 'agent' | 'connector' | 'gateway' | InstanceKind
/** Kinds of scopes that cover one instance of an agent: its SandboxClaim, or its pod. */
export type InstanceKind = 'claim' | 'pod'

export const SCOPE_KINDS: ReadonlyArray<{ readonly value: ScopeKind; readonly label: string }> = [
  { value: 'all', label: 'Everything' },
  { value: 'agent', label: 'One agent' },
  { value: 'connector', label: 'One connector' },
  { value: 'gateway', label: 'One gateway' },
  { value: 'claim', label: 'One claim' },
  { value: 'pod', label: 'One pod' },
]

/** Returns the names of the running instances by kind: names of claims and names of pods. */
export function instanceNames({ agents }: AgentList): Readonly<Record<InstanceKind, readonly string[]>> {
  const instances = agents.flatMap(({ running }) => running?.instances ?? [])
  return {
    claim: [...new Set(instances.flatMap(({ claim }) => claim ?? []))].sort(),
    pod: [...new Set(instances.map(({ pod }) => pod))].sort(),
  }
}

/** Formats a scope for the API: `all`, or the kind with a name, such as `agent:NAME`. */
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
