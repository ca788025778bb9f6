import * as z from 'zod'
import { usageError } from '../arguments.ts'
import { type ApiClient, controlPlane } from '../client/client.ts'
import { type Command, EXIT, flag, type Invocation, text } from '../command.ts'
import { table } from '../terminal/table.ts'
import { userClient } from '../client/user-client.ts'

const Entry = z.looseObject({
  ...{ scope: z.string(), source: z.string(), reason: z.string(), since: z.string() },
  /** Present when the database has not stored it yet. */
  stored: z.literal(false).optional(),
})
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
  /** Of a lift: the sources that had latched the scope. */
  released: z.array(z.string()).optional(),
  /** Present when nothing bears the scope. */
  nearest: z.array(z.string()).optional(),
})
type KillState = z.infer<typeof KillState>
const PATH = '/api/dashboard/kill-switch'

export const kill: Command = {
  name: 'kill',
  summary: 'Stops agents at once: new requests are refused, held ones end, open streams and tunnels are cut.',
  usage: ['kill on [--scope SCOPE] [--reason TEXT]', 'kill off [--scope SCOPE]', 'kill status'],
  details:
    'SCOPE is all (default), agent:NAME, connector:NAME, gateway:NAME, namespace:NAME, or a bare name of an agent,\n' +
    'a connector or a gateway.\n' +
    'A scope that names no agent, connector or gateway is set all the same, with a warning and exit code 4.\n' +
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
  // A stop never depends on a session; who lifts one has signed in.
  const api = verb === 'off' ? userClient(invocation) : controlPlane(invocation)
  if (verb === 'status') return printState({ invocation, api }, await stateNow(api))
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
  if (!flag(invocation, 'json')) {
    for (const line of outcome(state, { active, scope, elapsedMs })) invocation.terminal.print(line)
    invocation.terminal.print(installationLine(invocation, api))
  }
  if (state.warning !== undefined) invocation.terminal.warn(`chaperone: ${state.warning}`)
  printState({ invocation, api }, state, active ? [] : ['Still stopped, by scopes of their own:'])
  return state.nearest === undefined ? EXIT.ok : EXIT.unknownScope
}

type Toggled = { readonly active: boolean; readonly scope: string | undefined; readonly elapsedMs: number }

function outcome(state: KillState, { active, scope, elapsedMs }: Toggled): readonly string[] {
  const line = acknowledgement(state, active, elapsedMs)
  if (active || state.released === undefined) return [line]
  if (state.released.length === 0) return [notSet(scope)]
  return [line, `Lifted ${scope ?? 'all'}, which had been set by ${state.released.join(', ')}.`]
}

async function stateNow(api: ApiClient): Promise<KillState> {
  return KillState.parse(await api.call('GET', PATH))
}

/** Gateways acknowledge also a lift that changes nothing: their count would claim that something was released. */
function notSet(scope = 'all'): string {
  return `No kill switch had the scope ${scope}: nothing was released.`
}

/** Which installation answered: a count alone would not show that it was another one. */
function installationOf({ env, folder }: Invocation, { url }: ApiClient) {
  return { installation: env['CHAPERONE_URL'] ? null : folder.root, address: url }
}

function installationLine(invocation: Invocation, api: ApiClient): string {
  const { installation, address } = installationOf(invocation, api)
  return installation === null ? `Control plane ${address}` : `Installation ${installation} at ${address}`
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

function printState(
  { invocation, api }: { readonly invocation: Invocation; readonly api: ApiClient },
  state: KillState,
  heading: readonly string[] = [],
): number {
  const { print } = invocation.terminal
  if (flag(invocation, 'json')) print(JSON.stringify({ ...state, ...installationOf(invocation, api) }))
  else if (state.effective.length === 0) print('Nothing is stopped.')
  else {
    const rows = state.effective.map(({ scope, source, reason, since, stored }) => {
      return [scope, stored === false ? `${source} (not stored yet)` : source, since, reason]
    })
    for (const line of [...heading, ...table(['SCOPE', 'BY', 'SINCE', 'REASON'], rows)]) print(line)
  }
  return EXIT.ok
}
