import { GatewaySpec } from '../../../core/crd/gateway/gateway-spec.ts'
import { namespaceOf } from '../../../core/decision/kill-switch/kill-reach.ts'
import type { RowOrigin } from '../../../core/wire/operator/origin.ts'
import { LIMITS } from '../../../core/wire/schema/limits.ts'
import type { Query } from '../../db/query.ts'
import type { Source } from '../../db/rows.ts'
import type { ScopedQuery } from '../../db/scoped-query.ts'

export type GatewayRow = {
  readonly id: string
  readonly orgId: string
  /** Full name of the gateway, `namespace/name`. */
  readonly name: string
  readonly host: string
  readonly port: number
  readonly spec: GatewaySpec
  readonly tokenSha256: Buffer | null
  /** Key that signs messages to this gateway: the SHA-256 of `sync:` followed by the gateway's token. */
  readonly syncKey: Buffer | null
  readonly source: Source
  readonly managedBy: string | null
  /** Origin of the row: `dashboard`, `command_line` or `built_in`. Null for a row of a manifest. */
  readonly origin: RowOrigin | null
  readonly createdAt: Date
}

export const COLUMNS = `id, org_id as "orgId", name, host, port, spec, token_sha256 as "tokenSha256", sync_key as "syncKey",
  source, managed_by as "managedBy", origin, created_at as "createdAt"`

export async function listGateways(q: Query): Promise<readonly GatewayRow[]> {
  const { rows } = await q.query<GatewayRow>(`select ${COLUMNS} from gateways order by name`, [])
  return rows.map(withDefaults)
}

/** The fields of a Gateway that determine which objects of other namespaces the Gateway admits. */
export type BindableGateway = Pick<GatewayRow, 'id' | 'name'> & {
  readonly spec: Pick<GatewaySpec, 'allowedNamespaces'>
}

/** Selects Gateways by full name, by id or by namespace. */
export type GatewaySelection =
  | { readonly names: readonly string[] }
  | { readonly ids: readonly string[] }
  | { readonly namespaces: readonly string[] }

/**
 * Lists Gateways with the fields that determine which objects each Gateway admits. Lists all Gateways when there is no
 * selection.
 */
export async function listBindableGateways(
  q: Query,
  selection?: GatewaySelection,
): Promise<readonly BindableGateway[]> {
  const [condition, values] = conditionOf(selection)
  const { rows } = await q.query<{ id: string; name: string; allowed: unknown }>(
    `select id, name, spec -> 'allowedNamespaces' as allowed from gateways where ${condition} order by name`,
    values,
  )
  return rows.map(({ id, name, allowed }) => ({
    id,
    name,
    spec: { allowedNamespaces: GatewaySpec.shape.allowedNamespaces.parse(allowed ?? undefined) },
  }))
}

function conditionOf(selection: GatewaySelection | undefined): readonly [string, readonly unknown[]] {
  if (selection === undefined) return ['true', []]
  if ('names' in selection) return ['name = any($1::text[])', [selection.names]]
  if ('ids' in selection) return ['id = any($1::text[])', [selection.ids]]
  return ["split_part(name, '/', 1) = any($1::text[])", [selection.namespaces]]
}

export async function listGatewaysIn(q: ScopedQuery): Promise<readonly GatewayRow[]> {
  const rows = await q.rows<GatewayRow>(
    [],
    (within) => `select ${COLUMNS} from gateways where ${within.name('name')} order by name`,
  )
  return rows.map(withDefaults)
}

/** Finds a gateway in the namespaces of the caller, by id or full name. */
export async function findGatewayIn(q: ScopedQuery, nameOrId: string): Promise<GatewayRow | undefined> {
  const rows = await q.rows<GatewayRow>(
    [nameOrId],
    (within) => `select ${COLUMNS} from gateways where (id = $1 or name = $1) and ${within.name('name')}
       order by id = $1 desc limit 1`,
  )
  return rows.map(withDefaults)[0]
}

/**
 * Returns the names of Gateways by id: Gateways in the caller's namespaces, and other Gateways that objects of these
 * namespaces reference.
 */
export async function gatewayNamesIn(q: ScopedQuery): Promise<ReadonlyMap<string, string>> {
  const rows = await q.rows<{ readonly id: string; readonly name: string }>(
    [],
    (within) => `select id, name from gateways where ${within.name('name')}
       or id in (select gateway_id from agents where ${within.name('name')}
         union all select unnest(gateway_ids) from connectors where ${within.configuration('connectors')}
         union all select unnest(gateway_ids) from policies where ${within.configuration('policies')}
         union all select gateway_id from permissions
           where source = 'kubernetes' and ${within.namespace("split_part(owner, '/', 2)")})`,
  )
  return new Map(rows.map(({ id, name }) => [id, name]))
}

export async function getGateway(q: Query, id: string): Promise<GatewayRow | undefined> {
  return one(q, 'id = $1', id)
}

/** Reads the row and locks it until the transaction ends, so that changes of one gateway are serialised. */
export async function lockGateway(q: Query, id: string): Promise<GatewayRow | undefined> {
  return one(q, 'id = $1 for update', id)
}

export async function getGateways(q: Query, ids: readonly string[]): Promise<readonly GatewayRow[]> {
  const { rows } = await q.query<GatewayRow>(`select ${COLUMNS} from gateways where id = any($1::text[])`, [
    ids,
  ])
  return rows.map(withDefaults)
}

/** Finds a gateway by its full name, `namespace/name`. */
export async function findGatewayByName(q: Query, name: string): Promise<GatewayRow | undefined> {
  return one(q, 'name = $1', name)
}

export async function findGatewayByTokenHash(q: Query, sha256: Buffer): Promise<GatewayRow | undefined> {
  return one(q, 'token_sha256 = $1', sha256)
}

async function one(q: Query, where: string, value: unknown): Promise<GatewayRow | undefined> {
  const { rows } = await q.query<GatewayRow>(`select ${COLUMNS} from gateways where ${where}`, [value])
  const [row] = rows
  return row === undefined ? undefined : withDefaults(row)
}

/** Adds the default values of the schema, because a row of an older version lacks newer fields. */
export function withDefaults(row: GatewayRow): GatewayRow {
  return { ...row, spec: GatewaySpec.parse(row.spec) }
}

/**
 * Returns the lease in milliseconds: the time for which a gateway admits requests while its control plane does not
 * answer.
 */
export function leaseMsOf(spec: Pick<GatewaySpec, 'failurePolicy'> | undefined): number {
  return (spec?.failurePolicy.everythingAfterSeconds ?? LIMITS.leaseEverythingMs / 1_000) * 1_000
}

/** A gateway with its full name, `namespace/name`. */
export type NamedGateway = { readonly gatewayId: string; readonly name: string }

/**
 * An agent that the gateway does not serve. `servedUntil`: Unix time in ms until which the gateway served the agent;
 * null if this was more than 7 days ago or never.
 */
export type ForeignAgent = { readonly name: string; readonly servedUntil: number | null }

/**
 * Returns the agents in the list that the gateway does not serve. These are agents that are bound to another gateway,
 * and unknown agents whose name has a namespace other than that of the gateway.
 */
export async function foreignAgents(
  q: Query,
  { gatewayId, name }: NamedGateway,
  agents: readonly string[],
): Promise<readonly ForeignAgent[]> {
  if (agents.length === 0) return []
  const { rows } = await q.query<ForeignAgent & { isKnown: boolean }>(
    `select asked.name, present.name is not null as "isKnown",
       (select extract(epoch from max(former.served_until)) * 1000 from former_gateways as former
         where former.agent = asked.name and former.gateway_id in ('', $2)
         and former.served_until > clock_timestamp() - interval '7 days')::float8 as "servedUntil"
     from (select distinct unnest($1::text[]) as name) as asked
     left join lateral (
       select name, gateway_id from agents where agents.name = asked.name
       order by status = 'revoked', created_at desc limit 1) as present on true
     where not coalesce(present.name is not null and (present.gateway_id is null or present.gateway_id = $2
         or not exists (select from gateways where gateways.id = present.gateway_id)), false)`,
    [agents, gatewayId],
  )
  return rows
    .filter((row) => row.isKnown || !mayName(name, row.name))
    .map((row) => ({ name: row.name, servedUntil: row.servedUntil }))
}

/**
 * Reports whether the gateway may create an agent with this name. The name must have no namespace, or the namespace of
 * the gateway.
 */
export function mayName(gateway: string, agent: string): boolean {
  return !agent.includes('/') || namespaceOf(agent) === namespaceOf(gateway)
}

/** Reports whether a process that serves only this agent is connected to any replica. */
export async function isAgentServed(q: Query, gatewayId: string, agent: string): Promise<boolean> {
  const { rows } = await q.query<{ isServed: boolean }>(
    `select exists (select from gateway_processes p where p.gateway_id = $1 and p.facts->>'agent' = $2
       and p.disconnected_at is null and ${isAlive('p')}) as "isServed"`,
    [gatewayId, agent],
  )
  return rows[0]?.isServed === true
}

/** Seconds without a report after which a replica counts as unresponsive. A replica reports every two seconds. */
export const SILENT_S = 10

export function isAlive(process: string): string {
  return `exists (select from replicas r where r.id = ${process}.replica_id
    and r.seen_at > clock_timestamp() - make_interval(secs => ${SILENT_S}))`
}

/** The gateway or pod whose credential authenticated a call. */
export type ProcessOwner = {
  readonly gatewayId: string
  /**
   * Pod of a sidecar. Null for a gateway process outside pods, which authenticates with the enrolment token of its
   * gateway.
   */
  readonly sidecar: { readonly podUid: string } | null
}

export function ownerKey({ gatewayId, sidecar }: ProcessOwner): string {
  return sidecar === null ? `gateway:${gatewayId}` : `pod:${sidecar.podUid}`
}
