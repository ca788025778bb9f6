import type * as z from 'zod'
import type { EnforcementLevelSchema } from '../../../core/crd/gateway/gateway-fields.ts'
import { GatewaySpec } from '../../../core/crd/gateway/gateway-spec.ts'
import {
  type AccessRule,
  type CatalogueEntry,
  type PatternRule,
  permissionsOfAccessRule,
} from '../../../core/decision/permissions/access-rules.ts'
import { sha256 } from '../../../runtime/sha256.ts'
import { newId } from '../../crypto/ids.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import { randomToken, syncKeyOf } from '../../crypto/tokens.ts'
import { bumpVersion } from '../../db/config-version.ts'
import type { Db, Query } from '../../db/query.ts'
import { validationError } from '../../http/input.ts'
import { findAgentByName } from '../agents/rows.ts'
import { bindAgent, createAgent, type NewAgent } from '../agents/service.ts'
import { type Actor, originOf } from '../audit/actor.ts'
import { recordEvent } from '../audit/events.ts'
import type { IdentifyBot } from '../chat/bot/bot.ts'
import type { NewConnector } from '../connectors/new-connector.ts'
import { placeConnector } from '../connectors/service.ts'
import { defaultGateway, findGateway, requireGateway } from '../gateways/names.ts'
import type { GatewayRow } from '../gateways/rows.ts'
import { saveGateway } from '../gateways/service.ts'
import type { GatewayInput } from '../gateways/store.ts'
import { refuseManaged, refuseManifestRow } from '../manifests/managed.ts'
import { savePermissions } from '../permissions/service.ts'
import { noteConnector } from './configuration.ts'

export type SetupConnector = NewConnector & {
  readonly accessRule: AccessRule
  readonly customPatterns?: readonly PatternRule[] | undefined
}

export type SetupDeps = {
  readonly db: Db
  readonly orgId: string
  readonly keyring: Keyring
  readonly identifyBot?: IdentifyBot | undefined
  /** Returns every operation that the catalogue has for the connector type. */
  readonly catalogueRows: (connectorType: string) => readonly CatalogueEntry[]
}

export type WizardInput = {
  readonly gateway: {
    readonly name: string
    readonly host?: string | undefined
    readonly port?: number | undefined
    readonly enforcementLevel?: z.infer<typeof EnforcementLevelSchema> | undefined
  }
  readonly agent?: { readonly name: string; readonly create: boolean } | undefined
  readonly connectors: readonly SetupConnector[]
}

export type WizardResult = {
  readonly gateway: GatewayRow
  /** Enrolment token for the process of a new gateway, shown once; null for an existing gateway. */
  readonly gatewayToken: string | null
  /** Key of a new agent, shown once; null for an existing agent. */
  readonly apiKey: string | null
}

export type SetupInput = {
  readonly agent: Pick<NewAgent, 'name' | 'runtime' | 'environment'>
  readonly connectors: readonly SetupConnector[]
  readonly gateway?: string | undefined
}

export type SetupResult = {
  readonly agentId: string
  readonly apiKey: string
  readonly gatewayId: string
  readonly connectors: readonly {
    readonly id: string
    readonly type: string
    readonly domains: readonly string[]
  }[]
  readonly permissionsCreated: number
}

/** Creates the objects of the setup screens. Each call is one transaction. */
export type Setup = {
  wizard(by: Actor, input: WizardInput): Promise<WizardResult>
  quick(by: Actor, input: SetupInput): Promise<SetupResult>
}

export function createSetup(deps: SetupDeps): Setup {
  return {
    wizard: (by, input) => deps.db.tx((q) => wizard(q, deps, by, input)),
    quick: (by, input) => deps.db.tx((q) => quick(q, deps, by, input)),
  }
}

async function wizard(q: Query, deps: SetupDeps, by: Actor, input: WizardInput): Promise<WizardResult> {
  const { gateway, token } = await wizardGateway(q, deps, by, input.gateway)
  // The rules apply to all agents, because agents that are created later will use this gateway too.
  await connect(q, deps, { by, gateway, agent: '*', connectors: input.connectors })
  // The agent is created last, because its creation locks the version of the configuration. To prevent
  // deadlocks, every transaction locks rows before the version.
  const apiKey =
    input.agent === undefined ? null : await wizardAgent(q, deps, { by, gateway, agent: input.agent })
  await bumpVersion(q)
  return { gateway, gatewayToken: token, apiKey }
}

async function quick(q: Query, deps: SetupDeps, by: Actor, input: SetupInput): Promise<SetupResult> {
  const gateway = await setupGateway(q, input.gateway)
  // The rules apply to the new agent only, because other agents use the same gateway.
  const target = { by, gateway, agent: input.agent.name, connectors: input.connectors }
  const made = await connect(q, deps, target)
  // The agent is created last, because its creation locks the version of the configuration. To prevent
  // deadlocks, every transaction locks rows before the version.
  const { agent, key } = await createAgent(q, deps.orgId, by, { ...input.agent, gatewayId: gateway.id })
  await bumpVersion(q)
  return { agentId: agent.id, apiKey: key.key, gatewayId: gateway.id, ...made }
}

async function setupGateway(q: Query, name: string | undefined): Promise<GatewayRow> {
  const found = name === undefined ? await defaultGateway(q) : await requireGateway(q, name)
  if (found !== undefined) return found
  throw validationError([
    'gateway: is required, because this installation has no gateway on this machine, which would be the default; name one of GET /api/dashboard/gateway',
  ])
}

async function wizardGateway(
  q: Query,
  { orgId }: SetupDeps,
  by: Actor,
  input: WizardInput['gateway'],
): Promise<{ gateway: GatewayRow; token: string | null }> {
  const existing = await findGateway(q, input.name)
  const level = input.enforcementLevel ?? existing?.spec.enforcementLevel
  const spec = GatewaySpec.parse({
    ...existing?.spec,
    ...(level === undefined ? {} : { enforcementLevel: level }),
  })
  const address = {
    ...(input.host === undefined ? {} : { host: input.host }),
    ...(input.port === undefined ? {} : { port: input.port }),
  }
  if (existing !== undefined) {
    const wanted = { ...existing, ...address, spec }
    const isSame =
      wanted.host === existing.host &&
      wanted.port === existing.port &&
      level === existing.spec.enforcementLevel
    if (isSame) return { gateway: existing, token: null }
    refuseManaged(q, existing)
    const details = {
      change: 'gateway',
      gateway: existing.name,
      level,
      previous: existing.spec.enforcementLevel,
    }
    const event = { actor: by, type: 'gateway.updated', details } as const
    return { gateway: await saveGateway(q, { ...wanted, origin: originOf(by) }, event), token: null }
  }
  const token = randomToken()
  const row: GatewayInput = {
    id: newId('gateway'),
    orgId,
    name: input.name,
    ...address,
    spec,
    tokenSha256: sha256(token),
    syncKey: syncKeyOf(token),
    source: 'api',
    managedBy: null,
    origin: originOf(by),
  }
  const detailsOf = ({ name, host, port }: GatewayRow) => ({
    gateway: name,
    level: spec.enforcementLevel,
    host,
    port,
  })
  const event = { actor: by, type: 'gateway.created', details: detailsOf } as const
  return { gateway: await saveGateway(q, row, event), token }
}

/** Returns the key of a new agent. Returns null when an existing agent was moved to the gateway. */
async function wizardAgent(
  q: Query,
  { orgId }: SetupDeps,
  { by, gateway, agent }: { by: Actor; gateway: GatewayRow; agent: { name: string; create: boolean } },
): Promise<string | null> {
  if (agent.create) {
    const input = { name: agent.name, runtime: '', environment: 'development', gatewayId: gateway.id }
    return (await createAgent(q, orgId, by, input)).key.key
  }
  const existing = await findAgentByName(q, agent.name)
  if (existing === undefined) {
    throw validationError([
      `agent.name: there is no agent named ${agent.name}; set agent.create to true to create it`,
    ])
  }
  if (existing.gatewayId === gateway.id) return null
  refuseManifestRow(existing)
  const details = { name: existing.name, change: 'gateway', gateway: gateway.name }
  await bindAgent(q, existing, { gatewayId: gateway.id }, { actor: by, details })
  return null
}

async function connect(
  q: Query,
  deps: SetupDeps,
  target: { by: Actor; gateway: GatewayRow; agent: string; connectors: readonly SetupConnector[] },
): Promise<Pick<SetupResult, 'connectors' | 'permissionsCreated'>> {
  const { by, gateway, agent } = target
  const connectors: SetupResult['connectors'][number][] = []
  let permissionsCreated = 0
  for (const [index, input] of target.connectors.entries()) {
    const { accessRule, customPatterns, ...connector } = input
    const place = { gatewayId: gateway.id, path: `connectors.${index}`, origin: originOf(by) }
    const placement = { ...deps, ...place, input: connector, prefersProviderShape: true }
    const placed = await placeConnector(q, placement)
    await noteConnector(q, { orgId: deps.orgId, by, gateway: gateway.name }, placed)
    connectors.push({ id: placed.row.id, type: placed.row.type, domains: placed.domains })
    const rules = permissionsOfAccessRule(
      input.type,
      accessRule,
      deps.catalogueRows(input.type),
      customPatterns,
    )
    const rows = await allowRules(q, deps.orgId, { by, gateway, agent, connectorType: input.type, rules })
    permissionsCreated += rows
    const details = {
      change: 'permissions.set',
      gateway: gateway.name,
      agent,
      connector_type: input.type,
      access_rule: accessRule,
      permissions: rows,
    }
    await recordEvent(q, { orgId: deps.orgId, actor: by, type: 'gateway.updated', details })
  }
  return { connectors, permissionsCreated }
}

async function allowRules(
  q: Query,
  orgId: string,
  granted: {
    by: Actor
    gateway: GatewayRow
    agent: string
    connectorType: string
    rules: readonly PatternRule[]
  },
): Promise<number> {
  const { by, gateway, agent, connectorType, rules } = granted
  if (rules.length === 0) return 0
  const rows = rules.map(({ pattern, decision }) => ({
    orgId,
    gatewayId: gateway.id,
    agent,
    connectorType,
    actionPattern: pattern,
    decision,
    reason: null,
    source: 'api' as const,
    managedBy: null,
    origin: originOf(by),
    owner: null,
  }))
  return (await savePermissions(q, rows)).length
}
