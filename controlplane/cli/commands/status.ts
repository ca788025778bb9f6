import * as z from 'zod'
import type { ConnectorList } from '../../../core/wire/connectors.ts'
import type { GatewayStatus } from '../../../core/wire/gateway/internal-replies.ts'
import type { GatewayList } from '../../../core/wire/gateways.ts'
import type { KillSwitchState } from '../../../core/wire/kill-switch.ts'
import { type AgentRow, listAgentsIfAllowed, proxyOrigin, registeredAgents } from '../client/agents.ts'
import { type ApiClient, controlPlane, localGateway, readIfAllowed } from '../client/client.ts'
import { replyFields } from '../client/reply-fields.ts'
import { type Command, EXIT, flag, type Invocation } from '../command.ts'
import { type ConnectorSecret, Minted, shortLivedSecretLines } from '../doctor/short-lived-secrets.ts'
import { readRunFile } from '../state/data-folder.ts'
import { lockHolder } from '../state/folder-lock.ts'
import { Cards, PENDING_PATH } from './approvals.ts'
import { manifestFindings } from './get.ts'

const Kill = replyFields<KillSwitchState>()(
  z.looseObject({ effective: z.array(z.looseObject({ scope: z.string(), reason: z.string() })) }),
)

/**
 * Schema of the gateways with the number of their connected processes, and their warnings. Each warning is a
 * sentence.
 */
const Gateways = replyFields<GatewayList>()(
  z.looseObject({
    gateways: z.array(
      z.looseObject({
        name: z.string(),
        live: z
          .looseObject({ processes: z.number().default(0), warnings: z.array(z.string()).default([]) })
          .nullish(),
      }),
    ),
  }),
)
type Gateways = z.infer<typeof Gateways>['gateways']

const Journal = replyFields<GatewayStatus>()(
  z.looseObject({ journal: z.looseObject({ state: z.string() }).optional() }),
)

const Connectors = replyFields<ConnectorList>()(
  z.looseObject({ connectors: z.array(z.looseObject({ name: z.string(), minted: Minted })) }),
)

export const status: Command = {
  name: 'status',
  summary: 'Show the control plane, gateway, agents, kill switches, approvals, credentials and manifests',
  usage: ['status'],
  options: {},
  examples: [
    ['chaperone status', 'exit code 0: healthy; 1: not healthy; 3: not running'],
    ['chaperone status --json | jq .pending_approvals', 'print a value for scripts'],
  ],
  run,
}

type Report = {
  readonly base_url: string
  readonly pid: number | null
  readonly health: string
  readonly checks: unknown
  readonly gateway: Readonly<Record<string, unknown>> | null
  /** Agents with a port on the local gateway. */
  readonly agents: readonly { name: string; proxy_url: string }[]
  /** Gateways and agents of a remote control plane; null when the control plane is local. */
  readonly remote: Remote | null
  readonly kill_switches: readonly { scope: string; reason: string }[]
  /** Number of pending approvals; null for a user without the right to read approvals. */
  readonly pending_approvals: number | null
  /** Connectors with short-lived credentials; null for a user without the right to read connectors. */
  readonly short_lived_credentials: readonly ConnectorSecret[] | null
  readonly manifest_problems: readonly string[]
  readonly manifest_warnings: readonly string[]
  /** Warnings of gateways, each as `namespace/name: ` with a sentence. */
  readonly gateway_warnings: readonly string[]
}

type Remote = {
  /** Gateways with the numbers of their connected processes; null for a user without the right to read gateways. */
  readonly gateways: readonly { readonly name: string; readonly processes: number }[] | null
  /** Active agents with the numbers of their running pods; null for a user without the right to read agents. */
  readonly agents: readonly { readonly name: string; readonly pods: number }[] | null
}

async function run(invocation: Invocation): Promise<number> {
  const report = await gather(invocation, controlPlane(invocation))
  const { print } = invocation.terminal
  if (flag(invocation, 'json')) print(JSON.stringify(report))
  else for (const line of lines(report)) print(line)
  const isGatewayWell = report.gateway === null || report.gateway['status'] === 'ok'
  const isWell = report.health === 'healthy' && isGatewayWell && report.manifest_problems.length === 0
  return isWell ? EXIT.ok : EXIT.refused
}

async function gather(invocation: Invocation, api: ApiClient): Promise<Report> {
  const isRemote = Boolean(invocation.env['CHAPERONE_URL'])
  const hasGateway = readRunFile(invocation.folder)?.gateway_url != null && !isRemote
  const gateway = hasGateway ? localGateway(invocation) : null
  const [health, gatewayStatus, agents, kill, pending, secrets, manifests, gateways, remoteAgents] =
    await Promise.all([
      api.send('GET', '/api/health'),
      gateway?.call<Record<string, unknown>>('GET', '/internal/status') ?? null,
      gateway === null ? [] : registeredAgents(gateway),
      api.call('GET', '/api/dashboard/kill-switch').then((body) => Kill.parse(body)),
      pendingCount(api),
      readShortLived(api),
      manifestFindings(api),
      readGateways(api),
      isRemote ? listAgentsIfAllowed(api) : null,
    ])
  return {
    base_url: api.url,
    pid: lockHolder(invocation.folder.lock) ?? null,
    health: String(health.body['status'] ?? health.status),
    checks: health.body['checks'],
    gateway: gatewayStatus,
    agents,
    remote: isRemote ? remoteOf(gateways, remoteAgents) : null,
    kill_switches: kill.effective,
    pending_approvals: pending,
    short_lived_credentials: secrets,
    manifest_problems: manifests.problems,
    manifest_warnings: manifests.warnings,
    gateway_warnings: (gateways ?? []).flatMap(
      ({ name, live }) => live?.warnings.map((warning) => `${name}: ${warning}`) ?? [],
    ),
  }
}

function remoteOf(gateways: Gateways | null, agents: readonly AgentRow[] | null): Remote {
  return {
    gateways: gateways?.map(({ name, live }) => ({ name, processes: live?.processes ?? 0 })) ?? null,
    agents:
      agents
        ?.filter(({ status: state }) => state === 'active')
        .map(({ name, running }) => ({ name, pods: running?.pods ?? 0 })) ?? null,
  }
}

async function pendingCount(api: ApiClient): Promise<number | null> {
  const answer = await readIfAllowed(api, PENDING_PATH)
  return answer === null ? null : Cards.parse(answer).approvals.length
}

/** Returns the Connectors with short-lived credentials; null when the user lacks the right to read connectors. */
async function readShortLived(api: ApiClient): Promise<readonly ConnectorSecret[] | null> {
  const answer = await readIfAllowed(api, '/api/dashboard/connectors')
  if (answer === null) return null
  return Connectors.parse(answer).connectors.flatMap(({ name, minted }) =>
    minted == null ? [] : [{ connector: name, minted }],
  )
}

/** Returns the gateways; null when the user lacks the right to read gateways. */
async function readGateways(api: ApiClient): Promise<Gateways | null> {
  const answer = await readIfAllowed(api, '/api/dashboard/gateway')
  return answer === null ? null : Gateways.parse(answer).gateways
}

function gatewayText(gateway: Readonly<Record<string, unknown>>): string {
  const { journal } = Journal.parse(gateway)
  const trouble =
    journal === undefined || journal.state === 'ok'
      ? ''
      : `, journal ${journal.state} (see: chaperone doctor)`
  const version = gateway['snapshot_version'] ?? 'not yet received'
  return `${gateway['status']}, ${gateway['enforcement_level']}, configuration ${version}${trouble}`
}

function lines(report: Report): string[] {
  const stopped = report.kill_switches.map(({ scope, reason }) => `${scope} (${reason})`)
  return [
    `control plane  ${report.health} at ${report.base_url}${report.pid === null ? '' : ` (pid ${report.pid})`}`,
    ...(report.remote === null ? localLines(report) : remoteLines(report.remote)),
    `kill switch    ${stopped.join(', ') || 'not active'}`,
    `approvals      ${pendingText(report.pending_approvals)}`,
    ...shortLivedSecretLines(report.short_lived_credentials ?? [], Date.now()).map(
      (line) => `credential     ${line}`,
    ),
    ...manifestLines(report),
    ...report.gateway_warnings.map((line) => `warning        ${line}`),
  ]
}

function localLines({ gateway, agents }: Report): string[] {
  return [
    gateway === null ? 'gateway        none (Mode B)' : `gateway        ${gatewayText(gateway)}`,
    `agents         ${agents.map(({ name, proxy_url }) => `${name} ${proxyOrigin(proxy_url)}`).join(', ') || 'none registered'}`,
  ]
}

/** Maximum number of gateways and of agents that a line names. */
const NAMED = 10

function remoteLines({ gateways, agents }: Remote): string[] {
  const gatewayTexts = gateways?.map(
    ({ name, processes }) => `${name} (${processes === 0 ? 'not' : processes} connected)`,
  )
  // Sorts by the number of pods, because only the first `NAMED` agents are printed.
  const agentTexts = agents
    ?.toSorted((a, b) => b.pods - a.pods)
    .map(({ name, pods }) => `${name} (${pods} ${pods === 1 ? 'pod' : 'pods'})`)
  return [
    `gateways       ${someOf(gatewayTexts, 'gateways')}`,
    `agents         ${someOf(agentTexts, 'agents')}`,
  ]
}

function someOf(texts: readonly string[] | undefined, resource: string): string {
  if (texts === undefined) return `not shown: this requires the right to get ${resource}`
  const rest = texts.length - NAMED
  return `${texts.slice(0, NAMED).join(', ') || 'none'}${rest > 0 ? `, and ${rest} more` : ''}`
}

function pendingText(count: number | null): string {
  if (count === null) return 'not shown: this requires the right to get approvals'
  return count === 0 ? 'none pending' : `${count} pending: chaperone approvals ls`
}

function manifestLines({ manifest_problems: problems, manifest_warnings: warnings }: Report): string[] {
  if (problems.length > 0)
    return [
      'manifests      some are not in force as written. Correct these lines:',
      ...problems.map((line) => `  ${line}`),
    ]
  if (warnings.length === 0) return ['manifests      in force']
  return [
    `manifests      in force, ${warnings.length} ${warnings.length === 1 ? 'warning' : 'warnings'}: chaperone get manifests`,
  ]
}
