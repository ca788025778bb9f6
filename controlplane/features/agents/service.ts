import * as z from 'zod'
import { ChaperoneError } from '../../../core/errors.ts'
import type { Namespaces } from '../../../core/wire/access/rights.ts'
import { NewAgentName } from '../../../core/wire/schema/fields.ts'
import { newId } from '../../crypto/ids.ts'
import { type IssuedKey, issueAgentKey } from '../../crypto/tokens.ts'
import { bumpVersion } from '../../db/config-version.ts'
import type { Db, Query } from '../../db/query.ts'
import { createScopedQuery } from '../../db/scoped-query.ts'
import { parseInput } from '../../http/input.ts'
import { type Actor, originOf } from '../audit/actor.ts'
import { recordEvent } from '../audit/events.ts'
import { defaultGateway } from '../gateways/names.ts'
import { listRunningInstances, type RunningInstances } from '../pods/rows.ts'
import { type AgentRow, type AgentStatus, findAgentByName, listPresentAgentsIn } from './rows.ts'
import {
  type AgentChanges,
  type AgentInput,
  insertAgent,
  lockAgent,
  touchAgents,
  updateAgent,
} from './store.ts'

export type AgentsDeps = { readonly db: Db; readonly orgId: string }

export type NewAgent = {
  readonly name: string
  readonly runtime: string
  readonly environment: string
  readonly capabilities?: readonly string[] | undefined
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
  /** Status of the new agent; default: `active`. */
  readonly status?: AgentStatus | undefined
  /** Gateway that serves the agent. Default: the gateway `default/local` if it exists. */
  readonly gatewayId?: string | undefined
}

export type AgentFields = Partial<
  Pick<AgentRow, 'name' | 'runtime' | 'environment' | 'capabilities' | 'metadata' | 'gatewayId'>
>
export type CreatedAgent = { readonly agent: AgentRow; readonly key: IssuedKey }

export type Agents = {
  /** Lists agents, including revoked ones, without those that have ended (`HAS_ENDED`). */
  list(namespaces: Namespaces): Promise<readonly AgentRow[]>
  /** Returns the running instances by the name of their agent. */
  running(namespaces: Namespaces): Promise<ReadonlyMap<string, RunningInstances>>
  create(by: Actor, input: NewAgent): Promise<CreatedAgent>
  setStatus(by: Actor, id: string, status: AgentStatus): Promise<AgentRow>
  update(by: Actor, id: string, fields: AgentFields): Promise<AgentRow>
  rotateKey(by: Actor, id: string): Promise<CreatedAgent>
}

export function createAgents(deps: AgentsDeps): Agents {
  const { db } = deps
  return {
    list: (namespaces) => listPresentAgentsIn(createScopedQuery(db, namespaces)),
    running: (namespaces) => listRunningInstances(createScopedQuery(db, namespaces)),
    create: (by, input) => db.tx((q) => createAgent(q, deps.orgId, by, input)),
    setStatus: (by, id, status) =>
      db.tx(async (q) => {
        const agent = await existing(q, id)
        if (agent.status === status) return agent
        refuseRevoked(agent)
        const type = STATUS_EVENTS[status]
        return save(q, { by, agent, type, changes: { status }, details: { name: agent.name } })
      }),
    update: (by, id, fields) =>
      db.tx(async (q) => {
        const agent = await existing(q, id)
        refuseRevoked(agent)
        refuseManaged(agent)
        if (fields.name !== undefined && fields.name !== agent.name) {
          assertPlainName(fields.name)
          await refuseTaken(q, fields.name)
        }
        const details = { name: agent.name, change: 'fields', fields: Object.keys(fields) }
        return save(q, { by, agent, type: 'agent.updated', changes: fields, details })
      }),
    rotateKey: (by, id) =>
      db.tx(async (q) => {
        const agent = await existing(q, id)
        refuseRevoked(agent)
        const key = issueAgentKey(agent.environment)
        const changes = { apiKeyPrefix: key.prefix, apiKeySha256: key.sha256 }
        const details = { name: agent.name, change: 'key_rotated', api_key_prefix: key.prefix }
        return { agent: await save(q, { by, agent, type: 'agent.updated', changes, details }), key }
      }),
  }
}

/** Creates an agent in the caller's transaction. Throws `conflict` when another agent has the name. */
export async function createAgent(
  q: Query,
  orgId: string,
  by: Actor,
  input: NewAgent,
): Promise<CreatedAgent> {
  const status = input.status ?? 'active'
  if (status !== 'revoked') await refuseTaken(q, input.name)
  const key = issueAgentKey(input.environment)
  const { name, runtime, environment } = input
  const row: AgentInput = {
    id: newId('agent'),
    orgId,
    name,
    runtime,
    environment,
    status,
    capabilities: input.capabilities ?? [],
    metadata: input.metadata ?? {},
    apiKeyPrefix: key.prefix,
    apiKeySha256: key.sha256,
    gatewayId: input.gatewayId ?? (await defaultGateway(q))?.id ?? null,
    source: 'api',
    managedBy: null,
    origin: originOf(by),
  }
  const details = { name, runtime, environment, status, api_key_prefix: key.prefix, by: by.label }
  return { agent: await registerAgent(q, row, { actor: by, details }), key }
}

const STATUS_EVENTS = {
  active: 'agent.activated',
  suspended: 'agent.suspended',
  revoked: 'agent.revoked',
} as const

async function save(
  q: Query,
  change: {
    by: Actor
    agent: AgentRow
    type: 'agent.updated' | (typeof STATUS_EVENTS)[AgentStatus]
    changes: Parameters<typeof updateAgent>[2]
    details: Readonly<Record<string, unknown>>
  },
): Promise<AgentRow> {
  const { by, agent, type, changes, details } = change
  const saved = await updateAgent(q, agent.id, changes)
  if (saved === undefined) throw notFound(agent.id)
  await recordEvent(q, { orgId: agent.orgId, actor: by, agentId: agent.id, type, details })
  await bumpVersion(q)
  return saved
}

async function existing(q: Query, id: string): Promise<AgentRow> {
  const agent = await lockAgent(q, id)
  if (agent === undefined) throw notFound(id)
  return agent
}

function notFound(id: string): ChaperoneError {
  return new ChaperoneError('not_found', {
    detail: `There is no agent ${id}. GET /api/dashboard/agents lists the agents.`,
  })
}

function refuseRevoked(agent: AgentRow): void {
  if (agent.status !== 'revoked') return
  throw new ChaperoneError('conflict', {
    detail: `The agent ${agent.name} is revoked permanently. Create a new agent, which may have the same name.`,
  })
}

function refuseManaged(agent: AgentRow): void {
  if (agent.source === 'api') return
  throw new ChaperoneError('conflict', { error: `Managed by ${agent.managedBy}; edit the manifest` })
}

/** Throws `validation` for a name that a new agent may not have. Existing agents may keep such names. */
export function assertPlainName(name: string): void {
  parseInput(NewName, { name })
}

const NewName = z.object({ name: NewAgentName })

async function refuseTaken(q: Query, name: string): Promise<void> {
  if ((await findAgentByName(q, name)) === undefined) return
  throw new ChaperoneError('conflict', {
    detail: `An agent named ${name} already exists. Choose another name, or revoke that agent first.`,
  })
}

/** An audit event without the agent, which the operation adds. */
export type AgentEvent = { readonly actor: Actor; readonly details: Readonly<Record<string, unknown>> }

/** Inserts an agent in the caller's transaction, with its audit event. The caller has checked that its name is free. */
export async function registerAgent(q: Query, row: AgentInput, event: AgentEvent): Promise<AgentRow> {
  const agent = await insertAgent(q, row)
  const of = { orgId: row.orgId, agentId: agent.id, type: 'agent.registered' as const }
  await recordEvent(q, { ...of, ...event })
  await bumpVersion(q)
  return agent
}

/**
 * Assigns an agent to a gateway in the caller's transaction. `event`: audit event of the change; null when the agent
 * had no gateway before, because such a change records no event.
 */
export async function bindAgent(
  q: Query,
  agent: AgentRow,
  changes: Pick<AgentChanges, 'gatewayId' | 'metadata'>,
  event: AgentEvent | null,
): Promise<AgentRow> {
  const bound = await updateAgent(q, agent.id, changes)
  const of = { orgId: agent.orgId, agentId: agent.id, type: 'agent.updated' as const }
  if (event !== null) await recordEvent(q, { ...of, ...event })
  await bumpVersion(q)
  return bound ?? agent
}

/** Stores that the agents with these names sent requests now. Times have a resolution of a minute. */
export function recordActivity(q: Query, names: readonly string[]): Promise<void> {
  return touchAgents(q, names)
}
