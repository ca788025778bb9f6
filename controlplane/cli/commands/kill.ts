import * as z from 'zod'
import { KillScope } from '../../../core/wire/gateway/internal.ts'
import type { KillSwitchState } from '../../../core/wire/kill-switch.ts'
import { checkedOption, verbOf } from '../arguments.ts'
import { type ApiClient, controlPlane } from '../client/client.ts'
import { replyFields } from '../client/reply-fields.ts'
import { userClient } from '../client/user-client.ts'
import { type Command, EXIT, flag, type Invocation, text } from '../command.ts'
import { table } from '../terminal/table.ts'

const Entry = z.looseObject({
  scope: z.string(),
  source: z.string(),
  reason: z.string(),
  since: z.string(),
  /** False while the database does not contain this kill switch; absent for a stored kill switch. */
  stored: z.literal(false).optional(),
})
const Result = z.looseObject({
  agent: z.string(),
  kind: z.string(),
  id: z.string(),
  detail: z.string().optional(),
})
const HostedWork = z.looseObject({
  pending: z.number(),
  cancelled: z.array(Result),
  not_cancelled: z.array(Result),
  omitted: z.number(),
  note: z.string(),
})
const KillState = replyFields<KillSwitchState>()(
  z.looseObject({
    effective: z.array(Entry),
    acknowledged: z
      .looseObject({
        acked: z.number().optional(),
        total: z.number().optional(),
        ms: z.number().optional(),
      })
      .nullish(),
    warning: z.string().optional(),
    /** Sources of the kill switches of this scope that the request lifted. */
    released: z.array(z.string()).optional(),
    /** Names similar to the scope. Present when no object has the name in the scope. */
    nearest: z.array(z.string()).optional(),
    /**
     * Progress of cancelling the work that agents started at providers. Absent when the request lifts a kill
     * switch, and when no connected gateway has reported such work.
     */
    hosted_work: HostedWork.optional(),
  }),
)
type KillState = z.infer<typeof KillState>
const PATH = '/api/dashboard/kill-switch'

export const kill: Command = {
  name: 'kill',
  summary: 'Activate or lift the kill switch, for all agents or for a scope',
  usage: ['kill on [--scope SCOPE] [--reason TEXT]', 'kill off [--scope SCOPE]', 'kill status'],
  details:
    'An active kill switch refuses new requests, ends held requests, and closes open streams and tunnels.\n' +
    'SCOPE is all (default), agent:NAME, connector:NAME, gateway:NAME, namespace:NAME, claim:NAME, pod:NAME, or the\n' +
    'name of an agent, a connector or a gateway.\n' +
    'A scope that names no agent, connector or gateway is activated too, with a warning and exit code 4.\n' +
    'kill off lifts a kill switch from any source. A kill switch in a manifest becomes active again when the manifest is applied.',
  maxArguments: 1,
  options: {
    scope: { type: 'string', value: 'SCOPE', help: 'scope of the kill switch (default all)' },
    reason: { type: 'string', value: 'TEXT', help: 'reason for agents and the audit log' },
  },
  examples: [
    ['chaperone kill on --reason "wrong prompt shipped"', 'activate the kill switch for all agents'],
    ['chaperone kill on --scope agent:triage', 'activate it for one agent'],
    ['chaperone kill on --scope claim:team/alice', 'activate it for one SandboxClaim'],
    ['chaperone kill off', 'lift the kill switch with the scope all'],
    ['chaperone kill status', 'list active kill switches with source, time and reason'],
  ],
  run,
}

async function run(invocation: Invocation): Promise<number> {
  const { verb } = verbOf(kill, invocation.positionals, { on: null, off: null, status: null })
  const scope = checkedOption(kill, invocation, 'scope', KillScope)
  // Activation does not use the session of `chaperone login`, because a user must be able to activate a kill switch
  // after the session has expired. Lifting uses the session if there is one.
  const api = verb === 'off' ? userClient(invocation) : controlPlane(invocation)
  if (verb === 'status') return printState({ invocation, api }, await stateNow(api))
  return await toggle(invocation, api, { active: verb === 'on', scope })
}

async function toggle(
  invocation: Invocation,
  api: ApiClient,
  { active, scope }: Omit<Toggled, 'elapsedMs'>,
): Promise<number> {
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
  const shown = flag(invocation, 'json') ? state : withoutEmptyWork(state)
  printState({ invocation, api }, shown, active ? [] : ['Other kill switches are still active:'])
  return state.nearest === undefined ? EXIT.ok : EXIT.unknownScope
}

/**
 * Omits `hosted_work` when gateways reported no work at providers. `chaperone kill status` prints an empty
 * `hosted_work`, because its note states the limits of the cancellation.
 */
function withoutEmptyWork(state: KillState): KillState {
  const { hosted_work: work, ...rest } = state
  if (work === undefined) return state
  return work.pending + work.cancelled.length + work.not_cancelled.length + work.omitted === 0 ? rest : state
}

type Toggled = { readonly active: boolean; readonly scope: string | undefined; readonly elapsedMs: number }

function outcome(state: KillState, { active, scope, elapsedMs }: Toggled): readonly string[] {
  if (active && state.nearest !== undefined)
    return [`Kill switch active, but without effect so far: nothing matches the scope ${scope ?? 'all'}.`]
  const line = acknowledgement(state, active, elapsedMs)
  if (active || state.released === undefined) return [line]
  if (state.released.length === 0) return [notSet(scope)]
  return [
    line,
    `The lifted kill switch with the scope ${scope ?? 'all'} had been activated by ${state.released.join(', ')}.`,
  ]
}

async function stateNow(api: ApiClient): Promise<KillState> {
  return KillState.parse(await api.call('GET', PATH))
}

/**
 * Returns the text for a lift that changed nothing. Omits the number of acknowledgements. Gateways also acknowledge
 * such a lift, so the number would wrongly suggest that a kill switch was lifted.
 */
function notSet(scope = 'all'): string {
  return `No kill switch has the scope ${scope}. Nothing was changed.`
}

/**
 * Returns the data folder and the address of the installation that answered. The user needs both to see whether the
 * command reached the intended installation.
 */
function installationOf({ env, folder }: Invocation, { url }: ApiClient) {
  return { installation: env['CHAPERONE_URL'] ? null : folder.root, address: url }
}

function installationLine(invocation: Invocation, api: ApiClient): string {
  const { installation, address } = installationOf(invocation, api)
  return installation === null ? `Control plane ${address}` : `Installation ${installation} at ${address}`
}

const DISCONNECTED =
  'A disconnected gateway refuses high-risk actions after 30 s and all writes after 2 minutes, and applies the kill switch when it reconnects.'

/** Returns the acknowledgement as text. `acked` is less than `total` when a gateway is disconnected. */
export function acknowledgement(state: KillState, active: boolean, elapsedMs: number): string {
  const { acked, total, ms } = state.acknowledged ?? {}
  const done = active ? 'Kill switch active' : 'Kill switch lifted'
  if (acked === undefined || total === undefined) return `${done} after ${elapsedMs} ms`
  const away =
    acked < total
      ? `. Not acknowledged: ${total - acked}. ${active ? DISCONNECTED : 'A disconnected gateway applies the change when it reconnects.'}`
      : ''
  const gateways = total === 1 ? 'gateway' : 'gateways'
  return `${done}: ${acked} of ${total} ${gateways} acknowledged in ${Math.round(ms ?? elapsedMs)} ms${away}`
}

/** Returns lines about the cancellation of work that agents started at providers. */
export function hostedLines({ hosted_work: work }: KillState): readonly string[] {
  if (work === undefined) return []
  const { pending, cancelled, not_cancelled, omitted, note } = work
  const open = pending === 0 ? '' : `, ${pending} pending (chaperone kill status shows the rest)`
  const counts = `Work of agents at providers: ${cancelled.length} cancelled, ${not_cancelled.length} not cancelled${open}`
  return [
    omitted === 0
      ? counts
      : `${counts}; ${omitted} more in the traffic log, as records with the transport system`,
    ...cancelled.map(({ agent, kind, id }) => `  cancelled: ${kind} ${id} of ${agent}`),
    ...not_cancelled.map(({ agent, kind, id, detail = '' }) =>
      `  not cancelled: ${kind} ${id} of ${agent}. ${detail}`.trimEnd(),
    ),
    note,
  ]
}

function printState(
  { invocation, api }: { readonly invocation: Invocation; readonly api: ApiClient },
  state: KillState,
  heading: readonly string[] = [],
): number {
  const { print } = invocation.terminal
  if (flag(invocation, 'json')) print(JSON.stringify({ ...state, ...installationOf(invocation, api) }))
  else if (state.effective.length === 0) print('No kill switch is active.')
  else {
    const rows = state.effective.map(({ scope, source, reason, since, stored }) => {
      return [scope, stored === false ? `${source} (not stored yet)` : source, since, reason]
    })
    for (const line of [...heading, ...table(['SCOPE', 'BY', 'SINCE', 'REASON'], rows)]) print(line)
    for (const line of hostedLines(state)) print(line)
  }
  return EXIT.ok
}
