import { nearestNames } from '../../nearest.ts'
import type { Instance } from '../../wire/gateway/instance.ts'
import { namespaceOf } from './kill-reach.ts'
import { isInstanceScope, matchKill, parseKillScope } from './kill-switch.ts'

/**
 * Names that the scope of a kill switch can match. Connectors have a type and a name, agents a name and an id,
 * instances a pod and a claim.
 */
export type KillNames = {
  readonly agents: ReadonlyArray<{ readonly id: string; readonly name: string }>
  readonly connectors: ReadonlyArray<{ readonly type: string; readonly name: string }>
  readonly gateways: readonly string[]
  /** Instances with a running pod. */
  readonly instances: readonly Instance[]
}

export type UnknownScope = { readonly warning: string; readonly nearest: readonly string[] }

const MAX_NEAREST = 3
const NOBODY = { gateway: '', agent: null, agentId: null, instance: null, connectors: [] } as const

/**
 * Returns a warning with the nearest names if a normalised scope matches no existing subject; null if it matches one.
 */
export function unknownScope(scope: string, names: KillNames): UnknownScope | null {
  const entry = { scope, source: '', reason: '', since: '' }
  const isHit = (subject: Partial<Parameters<typeof matchKill>[1]>) =>
    matchKill([entry], { ...NOBODY, ...subject }) !== null
  const { agents, connectors, gateways, instances } = names
  if (instances.some((instance) => isHit({ instance }))) return null
  if (agents.some(({ id, name }) => isHit({ agent: name, agentId: id }))) return null
  if (connectors.some(({ type, name }) => isHit({ connectors: [type, name] }))) return null
  if (gateways.some((gateway) => isHit({ gateway }))) return null
  const nearest = nearestNames(scope.toLowerCase(), candidates(scope, names), MAX_NEAREST)
  const hint = nearest.length === 0 ? '' : ` Did you mean ${nearest.join(' or ')}?`
  return {
    nearest,
    warning: `No ${subjectsOf(scope)} is called ${scope}: the kill switch is active but matches nothing.${hint}`,
  }
}

function subjectsOf(scope: string): string {
  return isInstanceScope(scope) ? 'running pod or its claim' : 'agent, connector or gateway'
}

/** Returns the existing names in the form of the given scope: with a kind (`agent:X`), or bare (`X`). */
function candidates(
  scope: string,
  { agents, connectors, gateways, instances }: KillNames,
): readonly string[] {
  const kinds = {
    agent: agents.map(({ name }) => name),
    connector: connectors.flatMap(({ type, name }) => [type, name]),
    gateway: gateways,
    claim: isInstanceScope(scope) ? instances.flatMap(({ claim }) => claim ?? []) : [],
    pod: isInstanceScope(scope) ? instances.map(({ pod }) => pod) : [],
    namespace: [...new Set([...gateways, ...agents.map(({ name }) => name)].map(namespaceOf))].filter(
      (name) => name !== '',
    ),
  }
  const { kind } = parseKillScope(scope)
  const all = Object.entries(kinds).flatMap(([each, listed]) =>
    listed.flatMap(bothForms).map((name) => ({ each, name })),
  )
  const own = all.filter(({ each }) => each === kind)
  return own.length > 0
    ? own.map(({ each, name }) => `${each}:${name}`)
    : all.map(({ each, name }) => (each === 'namespace' ? `${each}:${name}` : name))
}

/** Returns both `namespace/name` and `name`, because a scope may contain either. */
function bothForms(name: string): readonly string[] {
  const bare = name.slice(name.lastIndexOf('/') + 1)
  return bare === name ? [name] : [bare, name]
}
