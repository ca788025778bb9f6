import * as z from 'zod'
import { nearest } from '../../core/nearest.ts'
import { usageError } from './arguments.ts'
import { type ApiClient, controlPlane } from './client.ts'
import { type Command, EXIT, flag, type Invocation, text } from './command.ts'
import { table } from './table.ts'

const Entry = z.looseObject({ scope: z.string(), source: z.string(), reason: z.string(), since: z.string() })
const KillState = z.looseObject({
  effective: z.array(Entry),
  acknowledged: z
    .looseObject({
      acked: z.number().optional(),
      total: z.number().optional(),
      ms: z.number().optional(),
    })
    .nullish(),
  warning: z.string().optional(),
})
type KillState = z.infer<typeof KillState>
const PATH = '/api/dashboard/kill-switch'

export const kill: Command = {
  name: 'kill',
  summary: 'Stops agents at once: new requests are refused, held ones end, open streams and tunnels are cut.',
  usage: ['kill on [--scope SCOPE] [--reason TEXT]', 'kill off [--scope SCOPE]', 'kill status'],
  details:
    'SCOPE is all (default), agent:NAME, connector:NAME, gateway:NAME, or a bare name that fits any of them.\n' +
    'kill off lifts a scope whatever stopped it; only a stop that a manifest asks for comes back with the manifest.',
  words: 1,
  options: {
    scope: { type: 'string', value: 'SCOPE', help: 'what to stop (default all)' },
    reason: { type: 'string', value: 'TEXT', help: 'told to agents and kept in the audit log' },
  },
  examples: [
    ['chaperone kill on --reason "wrong prompt shipped"', 'everything stops'],
    ['chaperone kill on --scope agent:triage', 'one agent stops'],
    ['chaperone kill off', 'lifts it'],
    ['chaperone kill status', 'what is stopped, by whom, since when'],
  ],
  run,
}

async function run(invocation: Invocation): Promise<number> {
  const [verb] = invocation.positionals
  const api = controlPlane(invocation)
  if (verb === 'status') return printState(invocation, KillState.parse(await api.call('GET', PATH)))
  if (verb !== 'on' && verb !== 'off')
    throw usageError(
      kill,
      verb === undefined ? 'Say on, off or status.' : `kill ${verb} is none of on, off, status.`,
    )
  return await toggle(invocation, api, verb === 'on')
}

async function toggle(invocation: Invocation, api: ApiClient, active: boolean): Promise<number> {
  const scope = text(invocation, 'scope')
  const reason = text(invocation, 'reason')
  const started = performance.now()
  const body = {
    active,
    ...(scope === undefined ? {} : { scope }),
    ...(reason === undefined ? {} : { reason }),
  }
  const state = KillState.parse(await api.call('POST', PATH, body))
  const elapsedMs = Math.round(performance.now() - started)
  if (!flag(invocation, 'json')) invocation.terminal.print(acknowledgement(state, active, elapsedMs))
  const warnings = [state.warning, active && scope !== undefined ? await unknownScope(api, scope) : undefined]
  for (const warning of warnings) if (warning !== undefined) invocation.terminal.warn(`chaperone: ${warning}`)
  return printState(invocation, state, active ? [] : ['Still stopped, by scopes of their own:'])
}

/** `37 of 37 stopped in 84 ms`; `4 of 5 …` when one is away. */
export function acknowledgement(state: KillState, active: boolean, elapsedMs: number): string {
  const { acked, total, ms } = state.acknowledged ?? {}
  const verb = active ? 'stopped' : 'released'
  if (acked === undefined || total === undefined) return `${verb} in ${elapsedMs} ms`
  const away =
    acked < total
      ? ` (${total - acked} away: they stop what is risky by themselves, and the rest when they are back)`
      : ''
  return `${acked} of ${total} ${verb} in ${Math.round(ms ?? elapsedMs)} ms${away}`
}

const NAMES: Readonly<Record<string, { readonly list: string; readonly path: string }>> = {
  agent: { list: 'agents', path: '/api/dashboard/agents' },
  connector: { list: 'connectors', path: '/api/dashboard/connectors' },
  gateway: { list: 'gateways', path: '/api/dashboard/gateway' },
}
const Named = z.array(
  z.looseObject({ name: z.string(), type: z.string().optional(), agent_id: z.string().optional() }),
)

/** A stop of a misspelt name stops nothing; said after it is set, because a stop must not wait for look-ups. */
async function unknownScope(api: ApiClient, scope: string): Promise<string | undefined> {
  const colon = scope.indexOf(':')
  const kind = scope.slice(0, Math.max(colon, 0))
  const wanted = scope.slice(colon + 1)
  const source = NAMES[kind]
  if (source === undefined) return undefined
  const answer = await api.call<Record<string, unknown>>('GET', source.path)
  const rows = Named.parse(answer[source.list] ?? [])
  const names = rows.flatMap(({ name, type, agent_id: id }) =>
    [name, name.split('/').at(-1), type, id].filter((each) => each !== undefined),
  )
  if (names.some((name) => name.toLowerCase() === wanted.toLowerCase())) return undefined
  const meant = nearest(wanted, names)
  const hint =
    meant === undefined
      ? `There are: ${rows.map(({ name }) => name).join(', ')}.`
      : `Did you mean ${kind}:${meant}?`
  return `No ${kind} is called ${wanted}, so this stops nothing that exists now. ${hint}`
}

function printState(invocation: Invocation, state: KillState, heading: readonly string[] = []): number {
  const { print } = invocation.terminal
  if (flag(invocation, 'json')) print(JSON.stringify(state))
  else if (state.effective.length === 0) print('Nothing is stopped.')
  else {
    const rows = state.effective.map(({ scope, source, reason, since }) => [scope, source, since, reason])
    for (const line of [...heading, ...table(['SCOPE', 'BY', 'SINCE', 'REASON'], rows)]) print(line)
  }
  return EXIT.ok
}
