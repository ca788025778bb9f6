import { fold } from '../../action/pattern.ts'
import type { Instance } from '../../wire/gateway/instance.ts'
import type { KillEntry } from '../../wire/gateway/kill.ts'
import { isWithinReach, namespaceOf } from './kill-reach.ts'

/**
 * Agent, instance, gateway and connector of a request, which a kill switch may cover. `connectors` contains the
 * connector's type and name.
 */
export type KillSubject = {
  /** Name of the Gateway, as `namespace/name`. */
  readonly gateway: string
  readonly agent: string | null
  readonly agentId: string | null
  /** Instance of the agent; null for a request from outside of a pod. */
  readonly instance: Instance | null
  readonly connectors: readonly string[]
}

/** Kinds of subjects that a scope without a kind can match. */
const BARE_KINDS = ['connector', 'agent', 'gateway'] as const
const KINDS = [...BARE_KINDS, 'namespace', 'claim', 'pod'] as const
type Kind = (typeof KINDS)[number]

/**
 * Returns the kill switch that covers the subject, or null. A kill switch for everything takes precedence over a
 * narrower one. Scopes are `all` (or empty), `connector:X`, `agent:X`, `gateway:X`, `namespace:X` (the Gateways of a
 * namespace, and its agents on other Gateways), `claim:X` and `pod:X` (instances of agents), and a bare `X` for any
 * connector, agent or gateway of that name. A scope never exceeds the reach of its source (`isWithinReach`). Names
 * ignore case, and `name` also matches `namespace/name`, because a kill switch that covers too much is safer than one
 * that covers too little.
 */
export function matchKill(entries: readonly KillEntry[], subject: KillSubject): KillEntry | null {
  let narrow: KillEntry | null = null
  for (const entry of entries) {
    if (!isWithinReach(entry.source, subject)) continue
    if (isGlobal(entry.scope)) return entry
    if (narrow === null && hits(entry.scope, subject)) narrow = entry
  }
  return narrow
}

/**
 * Returns the stored and displayed form of a scope. A missing scope and `ALL` become `all`. Kind and name become lower
 * case, as `matchKill` compares them.
 */
export function normaliseScope(scope: string | undefined): string {
  const text = scope?.trim() ?? ''
  if (isGlobal(text)) return 'all'
  const parsed = parseKillScope(text)
  return fold(parsed.kind === null ? text : `${parsed.kind}:${parsed.name}`)
}

/** Returns the only namespace that a scope affects; null if the scope may affect several namespaces, or none. */
export function namespaceOfScope(scope: string): string | null {
  const { kind, name } = parseKillScope(scope)
  if (kind === 'namespace') return fold(name)
  return kind === null || kind === 'connector' ? null : fold(namespaceOf(name)) || null
}

/** Error message that lists the valid forms of a scope. */
export const KILL_SCOPE_FORMS =
  'must be all, connector:NAME, agent:NAME, gateway:NAME, namespace:NAME, claim:NAME, pod:NAME, or only a name without blanks, for every connector, agent and gateway of that name'

/** Reports whether the text is a valid scope. The subject of the scope need not exist yet. */
export function isKillScope(scope: string): boolean {
  const { kind, name } = parseKillScope(scope)
  // Names of agents and gateways may contain blanks. A text with blanks and without a kind is refused nevertheless,
  // because such a text is more likely a sentence than a name.
  return name !== '' && (kind !== null || !/[\s:]/.test(name)) && !CONTROL.test(name)
}

const CONTROL = /\p{Cc}/u

/**
 * Returns the union of the kill switches of all sources: one kill switch (the oldest) for each scope and source, in a
 * stable order.
 */
export function unionEffective(entries: readonly KillEntry[]): readonly KillEntry[] {
  const byKey = new Map<string, KillEntry>()
  for (const entry of entries) {
    const key = `${normaliseScope(entry.scope)}\n${entry.source}`
    const known = byKey.get(key)
    if (known === undefined || entry.since < known.since) byKey.set(key, entry)
  }
  return [...byKey.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry)
}

/** Returns the reason that every refusal and every v1 denial states while the kill switch is active (spec 3.1). */
export function killReason(entry: KillEntry): string {
  return `Kill switch active: ${entry.reason.trim() || 'no reason given'}`
}

function isGlobal(scope: string): boolean {
  const text = fold(scope.trim())
  return text === '' || text === 'all'
}

function hits(scope: string, subject: KillSubject): boolean {
  const { kind, name } = parseKillScope(scope)
  const kinds = kind === null ? BARE_KINDS : [kind]
  return kinds.some((each) => namesOf(each, subject).some((own) => isSameName(own, name)))
}

/**
 * Splits a scope into its kind and its name. The kind is null for a bare name, and for a text with an unknown kind,
 * which is then a part of the name.
 */
export function parseKillScope(scope: string): { readonly kind: Kind | null; readonly name: string } {
  const text = scope.trim()
  const colon = text.indexOf(':')
  const head = fold(text.slice(0, colon))
  const kind = KINDS.find((each) => colon > 0 && each === head) ?? null
  return { kind, name: kind === null ? text : text.slice(colon + 1).trim() }
}

function namesOf(kind: Kind, subject: KillSubject): readonly string[] {
  if (kind === 'connector') return subject.connectors
  if (kind === 'gateway') return [subject.gateway]
  if (kind === 'namespace')
    return [subject.gateway, subject.agent].map(namespaceOf).filter((name) => name !== '')
  if (kind === 'agent') return [subject.agent, subject.agentId].filter((name) => name !== null)
  const { claim, pod } = subject.instance ?? {}
  return [kind === 'claim' ? claim : pod].filter((name) => name !== undefined)
}

/** Reports whether the scope covers instances of agents: a claim or a pod. */
export function isInstanceScope(scope: string): boolean {
  const { kind } = parseKillScope(scope)
  return kind === 'claim' || kind === 'pod'
}

function isSameName(own: string, scope: string): boolean {
  const ownName = fold(own)
  const wanted = fold(scope)
  return ownName === wanted || ownName.slice(ownName.indexOf('/') + 1) === wanted
}
