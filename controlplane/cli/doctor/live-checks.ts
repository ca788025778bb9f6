import * as z from 'zod'
import { ChaperoneError } from '../../../core/errors.ts'
import type { ConnectorList } from '../../../core/wire/connectors.ts'
import type { GatewayStatus as LocalGatewayStatus } from '../../../core/wire/gateway/internal-replies.ts'
import type { GatewayList } from '../../../core/wire/gateways.ts'
import type { HealthReply } from '../../../core/wire/health.ts'
import { type ApiClient, controlPlane, localGateway } from '../client/client.ts'
import { replyFields } from '../client/reply-fields.ts'
import type { Invocation } from '../command.ts'
import { manifestFindings } from '../commands/get.ts'
import { readRunFile } from '../state/data-folder.ts'
import { type Check, guarded, ok, problem, warning } from './check.ts'
import { installationChecks } from './installation-checks.ts'
import { Minted, shortLivedSecretChecks } from './short-lived-secrets.ts'
import { unownedHostChecks } from './unowned-host-checks.ts'

const Health = replyFields<HealthReply>()(
  z.looseObject({
    checks: z
      .record(
        z.string(),
        z.looseObject({ status: z.string(), latencyMs: z.number().optional(), error: z.string().optional() }),
      )
      .default({}),
  }),
)
const GatewayStatus = replyFields<LocalGatewayStatus>()(
  z.looseObject({
    status: z.string(),
    snapshot_version: z.number().nullable(),
    journal: z.looseObject({ state: z.string() }).optional(),
  }),
)
const Connectors = replyFields<ConnectorList>()(
  z.object({
    connectors: z.array(
      z.looseObject({
        name: z.string().optional(),
        id: z.string(),
        type: z.string(),
        has_token: z.boolean().optional(),
        credential: z
          .object({
            source: z.string().optional(),
            name: z.string().nullable(),
            remedy: z.string().nullable(),
          })
          .optional(),
        auth_type: z.string().optional(),
        managed_by: z.string().nullish(),
        minted: Minted,
        warnings: z.array(z.string()).default([]),
      }),
    ),
  }),
)
const Gateways = replyFields<GatewayList>()(
  z.object({
    gateways: z.array(
      z.looseObject({
        name: z.string(),
        live: z
          .looseObject({
            applied_version: z.number().nullish(),
            desired_version: z.number().nullish(),
            warnings: z.array(z.string()).default([]),
          })
          .nullish(),
      }),
    ),
  }),
)

/** Checks the running processes of the installation. */
export async function liveChecks(invocation: Invocation): Promise<Check[]> {
  const api = controlPlane(invocation)
  await authenticateServer(api)
  const hasGateway = readRunFile(invocation.folder)?.gateway_url != null
  const found = await Promise.all([
    guarded('control plane', 'chaperone logs control-plane', () => healthChecks(api)),
    guarded('installation', 'chaperone logs control-plane', () => installationChecks(api)),
    ...(hasGateway
      ? [guarded('gateway', 'chaperone logs gateway', () => gatewayChecks(invocation, api))]
      : []),
    guarded('manifests', 'chaperone logs manifests', () => manifestChecks(api)),
    guarded('connectors', 'chaperone get connectors', () => connectorChecks(api)),
    guarded('refused hosts', 'chaperone traffic --decision DENY', () => unownedHostChecks(api)),
  ])
  return found.flat()
}

/**
 * Authenticates the control plane. Rejects when the authentication fails. Ignores an unreachable server, because
 * every later check reports it.
 */
async function authenticateServer(api: ApiClient): Promise<void> {
  try {
    await api.prove()
  } catch (error) {
    if (!(error instanceof ChaperoneError) || error.code !== 'not_ready') throw error
  }
}

async function healthChecks(api: ApiClient): Promise<Check[]> {
  const { checks } = Health.parse((await api.send('GET', '/api/health')).body)
  return Object.entries(checks).map(([name, { status, latencyMs, error }]) =>
    status === 'ok'
      ? ok(`health: ${name}`, latencyMs === undefined ? 'ok' : `ok, ${Math.round(latencyMs)} ms`)
      : problem(
          `health: ${name}`,
          error ?? status,
          `chaperone logs ${name === 'database' ? 'postgres' : 'gateway'}`,
        ),
  )
}

async function gatewayChecks(invocation: Invocation, api: ApiClient): Promise<Check[]> {
  const status = GatewayStatus.parse(await localGateway(invocation).call('GET', '/internal/status'))
  const { gateways } = Gateways.parse(await api.call('GET', '/api/dashboard/gateway'))
  const live = gateways.find(({ name }) => name === 'default/local')?.live
  const [applied, desired] = [live?.applied_version ?? status.snapshot_version, live?.desired_version]
  const isBehind = applied === null || (typeof desired === 'number' && applied < desired)
  return [
    stateCheck(status.status),
    ...(live?.warnings.map(egressCheck) ?? []),
    ...journalChecks(status.journal?.state ?? 'ok', invocation.folder.gateway),
    isBehind
      ? warning(
          'configuration',
          `version ${applied ?? 'none'} is applied, but version ${desired ?? '?'} is the latest: the newest rules are not in force`,
          'chaperone logs gateway',
        )
      : ok('configuration', `version ${applied} is in force`),
  ]
}

function stateCheck(state: string): Check {
  if (state === 'ok') return ok('gateway', 'ok')
  if (state === 'degraded') return warning('gateway', 'degraded', 'chaperone logs gateway')
  return problem('gateway', state.replace('_', ' '), 'chaperone logs gateway')
}

function egressCheck(found: string): Check {
  return warning('egress', found, 'correct spec.egress.allowedHosts in the manifest of the Gateway')
}

function journalChecks(state: string, folder: string): Check[] {
  if (state === 'ok') return []
  const found = `the journal is ${state}, so requests cannot be recorded and are not forwarded`
  const remedy =
    state === 'full'
      ? 'start the control plane, so that it receives the records, or raise JOURNAL_MAX_BYTES'
      : `free disk space in ${folder}, and check that it is writable`
  return [problem('journal', found, remedy)]
}

async function manifestChecks(api: ApiClient): Promise<Check[]> {
  const { problems, warnings } = await manifestFindings(api)
  const inForce = problems.length === 0 ? [ok('manifests', 'in force')] : []
  return [
    ...inForce,
    ...problems.map((line) =>
      problem(
        'manifests',
        line,
        'correct the line; until then a policy without an accepted version denies its scope, and other objects keep their last accepted version',
      ),
    ),
    ...warnings.map((line) => warning('manifests', line, 'correct the manifest if this is not intended')),
  ]
}

/** Returns the number of credentials of each source as text, such as `; credentials: 2 vault, 1 exec (gh)`. */
function sourcesOf(connectors: z.infer<typeof Connectors>['connectors']): string {
  const sources = connectors.flatMap(({ credential: { source, name } = { name: null } }) => {
    if (source === undefined || source === 'none') return []
    return [READ_SOURCES.includes(source) ? `${source} (${name ?? 'unknown'})` : source]
  })
  if (sources.length === 0) return ''
  const counted = [...Map.groupBy(sources, (source) => source)].map(
    ([source, each]) => `${each.length} ${source}`,
  )
  return `; credentials: ${counted.join(', ')}`
}

/** Sources of credentials that the control plane reads itself: environment variables, files and commands. */
const READ_SOURCES: readonly string[] = ['env', 'file', 'exec']

async function connectorChecks(api: ApiClient): Promise<Check[]> {
  const { connectors } = Connectors.parse(await api.call('GET', '/api/dashboard/connectors'))
  const bare = connectors.filter(({ has_token: has, auth_type: auth }) => has === false && auth !== 'none')
  const count = connectors.length - bare.length
  const complete =
    count > 0
      ? [
          ok(
            'connectors',
            `${count} of ${connectors.length} have a credential or need none${sourcesOf(connectors)}`,
          ),
        ]
      : []
  const secrets = connectors.map(({ name, type, minted }) => ({ connector: name ?? type, minted }))
  return [
    ...complete,
    ...shortLivedSecretChecks(secrets, Date.now()),
    ...bare.map(({ name, type, credential }) =>
      warning(
        `connector ${name ?? type}`,
        'has no credential, so allowed requests are refused',
        credential?.remedy ?? `chaperone credential set ${credential?.name ?? type}`,
      ),
    ),
    ...connectors.flatMap(({ name, type, managed_by: file, warnings }) =>
      warnings.map((text) =>
        warning(
          `connector ${name ?? type}`,
          text,
          `change the connector${file == null ? '' : ` in ${file}`}`,
        ),
      ),
    ),
  ]
}
