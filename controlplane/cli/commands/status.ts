import * as z from 'zod'
import { proxyOrigin, registeredAgents } from '../client/agents.ts'
import { type ApiClient, controlPlane, localGateway, readIfAllowed } from '../client/client.ts'
import { type Command, EXIT, flag, type Invocation } from '../command.ts'
import { readRunFile } from '../state/data-folder.ts'
import { lockHolder } from '../state/folder-lock.ts'
import { Cards, PENDING_PATH } from './approvals.ts'
import { manifestFindings } from './get.ts'

const Kill = z.looseObject({ effective: z.array(z.looseObject({ scope: z.string(), reason: z.string() })) })

/** Schema of the gateways with the warnings of their processes. Each warning is a sentence. */
const Gateways = z.looseObject({
  gateways: z.array(
    z.looseObject({
      name: z.string(),
      live: z.looseObject({ warnings: z.array(z.string()).default([]) }).nullish(),
    }),
  ),
})

const Journal = z.looseObject({ journal: z.looseObject({ state: z.string() }).optional() })

export const status: Command = {
  name: 'status',
  summary: 'Show the control plane, gateway, agents, kill switches, approvals and manifests',
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
  readonly agents: readonly { name: string; proxy_url: string }[]
  readonly kill_switches: readonly { scope: string; reason: string }[]
  /** Number of pending approvals; null for a user without the right to read approvals. */
  readonly pending_approvals: number | null
  readonly manifest_problems: readonly string[]
  readonly manifest_warnings: readonly string[]
  /** Warnings of gateways, each as `namespace/name: ` with a sentence. */
  readonly gateway_warnings: readonly string[]
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
  const hasGateway = readRunFile(invocation.folder)?.gateway_url != null && !invocation.env['CHAPERONE_URL']
  const gateway = hasGateway ? localGateway(invocation) : null
  const [health, gatewayStatus, agents, kill, pending, manifests, warnings] = await Promise.all([
    api.send('GET', '/api/health'),
    gateway?.call<Record<string, unknown>>('GET', '/internal/status') ?? null,
    gateway === null ? [] : registeredAgents(gateway),
    api.call('GET', '/api/dashboard/kill-switch').then((body) => Kill.parse(body)),
    pendingCount(api),
    manifestFindings(api),
    gatewayWarnings(api),
  ])
  return {
    base_url: api.url,
    pid: lockHolder(invocation.folder.lock) ?? null,
    health: String(health.body['status'] ?? health.status),
    checks: health.body['checks'],
    gateway: gatewayStatus,
    agents,
    kill_switches: kill.effective,
    pending_approvals: pending,
    manifest_problems: manifests.problems,
    manifest_warnings: manifests.warnings,
    gateway_warnings: warnings,
  }
}

async function pendingCount(api: ApiClient): Promise<number | null> {
  const answer = await readIfAllowed(api, PENDING_PATH)
  return answer === null ? null : Cards.parse(answer).approvals.length
}

async function gatewayWarnings(api: ApiClient): Promise<readonly string[]> {
  const answer = await readIfAllowed(api, '/api/dashboard/gateway')
  const { gateways } = answer === null ? { gateways: [] } : Gateways.parse(answer)
  return gateways.flatMap(({ name, live }) => live?.warnings.map((warning) => `${name}: ${warning}`) ?? [])
}

function gatewayText(gateway: Readonly<Record<string, unknown>>): string {
  const { journal } = Journal.parse(gateway)
  const trouble =
    journal === undefined || journal.state === 'ok' ? '' : `, journal ${journal.state}: chaperone doctor`
  const version = gateway['snapshot_version'] ?? 'not yet received'
  return `${gateway['status']}, ${gateway['enforcement_level']}, configuration ${version}${trouble}`
}

function lines(report: Report): string[] {
  const { gateway } = report
  const stopped = report.kill_switches.map(({ scope, reason }) => `${scope} (${reason})`)
  return [
    `control plane  ${report.health} at ${report.base_url}${report.pid === null ? '' : ` (pid ${report.pid})`}`,
    gateway === null ? 'gateway        none (Mode B)' : `gateway        ${gatewayText(gateway)}`,
    `agents         ${report.agents.map(({ name, proxy_url }) => `${name} ${proxyOrigin(proxy_url)}`).join(', ') || 'none registered'}`,
    `kill switch    ${stopped.join(', ') || 'not active'}`,
    `approvals      ${pendingText(report.pending_approvals)}`,
    ...manifestLines(report),
    ...report.gateway_warnings.map((line) => `warning        ${line}`),
  ]
}

function pendingText(count: number | null): string {
  if (count === null) return 'not shown: this requires the right to get approvals'
  return count === 0 ? 'none pending' : `${count} pending: chaperone approvals ls`
}

function manifestLines({ manifest_problems: problems, manifest_warnings: warnings }: Report): string[] {
  if (problems.length > 0)
    return [
      'manifests      not all are in force as written. Correct these lines:',
      ...problems.map((line) => `  ${line}`),
    ]
  if (warnings.length === 0) return ['manifests      in force']
  return [
    `manifests      in force, ${warnings.length} ${warnings.length === 1 ? 'warning' : 'warnings'}: chaperone get manifests`,
  ]
}
