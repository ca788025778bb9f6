import * as z from 'zod'
import { parseKillScope } from '../decision/kill-switch/kill-switch.ts'
import { described } from './described.ts'

/** Kinds of subjects that the kill switch of a Gateway can be limited to. */
const KILL_SCOPE_KINDS = ['Connector', 'Agent', 'Claim', 'Pod'] as const
/** Kinds that a scope without a kind (a bare name) may mean. */
const BARE_KINDS = ['Connector', 'Agent'] as const

/**
 * Item of `spec.killSwitch.scopes`. `name` is the type or name of a Connector, the name or id of an agent, or the name
 * of a SandboxClaim or pod, with or without the namespace. A SandboxClaim or pod stands for the instance of the agent
 * that runs there.
 */
export const KillScope = z.strictObject(
  {
    kind: described(z.enum(KILL_SCOPE_KINDS), 'Kind of the subject.', 'Agent'),
    name: described(
      z
        .string()
        .min(1)
        .max(253)
        .regex(/^[^\s:]+$/, 'a name without blanks and colons'),
      'Type or name of a Connector, name or id of an agent, or name of a SandboxClaim or pod, with or without its namespace.',
      'release-bot',
    ),
  },
  { error: ({ input }) => (typeof input === 'string' ? formerScopeProblem(input) : undefined) },
)

export type KillScope = z.infer<typeof KillScope>

/**
 * Returns the scopes of a Gateway's kill switch in the spelling of the HTTP API, such as `connector:X` and `claim:X`;
 * `all` for a kill switch without scopes.
 */
export function killScopesOf({
  scopes,
}: {
  readonly scopes?: readonly KillScope[] | undefined
}): readonly string[] {
  return scopes?.map(({ kind, name }) => `${kind.toLowerCase()}:${name}`) ?? ['all']
}

/**
 * Parses a scope in the spelling of the HTTP API. Returns `all`, which means the whole Gateway, for the text `all` and
 * for the name of the Gateway itself. A bare name may be a Connector or an agent. Returns null for a scope that has no
 * effect on a Gateway, such as another Gateway. `gateway` is the name of the Gateway, as `namespace/name`.
 */
export function scopesOfText(text: string, gateway?: string): readonly KillScope[] | 'all' | null {
  const { kind, name } = parseKillScope(text)
  const isGateway = [gateway, gateway?.split('/')[1]].includes(name)
  const known = KILL_SCOPE_KINDS.find((each) => each.toLowerCase() === kind)
  if (known !== undefined) return [{ kind: known, name }]
  if (kind !== null || name.includes(':')) return kind === 'gateway' && isGateway ? 'all' : null
  return name.toLowerCase() === 'all' || isGateway ? 'all' : BARE_KINDS.map((each) => ({ kind: each, name }))
}

function formerScopeProblem(text: string): string {
  const scopes = scopesOfText(text)
  const given = JSON.stringify(text)
  if (scopes === 'all') return `${given} is not an object; omit scopes to cover the whole Gateway`
  if (scopes === null) return `${given} is not an object {kind: Connector|Agent|Claim|Pod, name}; remove it`
  const written = scopes.map(({ kind, name }) => `{kind: ${kind}, name: ${name}}`)
  return `${given} is not an object; use ${written.join(' or ')}`
}
