import { ConnectorSpec } from '../../core/crd/schemas.ts'
import { ChaperoneError } from '../../core/errors.ts'
import { ConnectorAdd, ConnectorRemove } from '../../core/wire/internal.ts'
import { newId } from '../crypto/ids.ts'
import { validationError } from '../http/input.ts'
import { appendAudit } from '../store/audit.ts'
import { bumpVersion } from '../store/config-version.ts'
import {
  type ConnectorRow,
  deleteConnector,
  getConnector,
  listConnectors,
  upsertConnector,
} from '../store/connectors.ts'
import type { Query } from '../store/query.ts'
import {
  type CommandDeps,
  type CommandGateway,
  type CommandHandler,
  parsed,
  refuseManaged,
} from './command-context.ts'
import { authOf, findOverlaps, missingDomains, ownedDomains, wrongAuth } from './connector-domains.ts'

type Names = 'connectors.add' | 'connectors.list' | 'connectors.remove'

export function createConnectorCommands(deps: CommandDeps): Record<Names, CommandHandler> {
  return {
    'connectors.add': (gateway, input) => add(deps, gateway, parsed(ConnectorAdd, input)),
    'connectors.list': async ({ gatewayId }) => ({
      connectors: (await listConnectors(deps.db, gatewayId)).map(connectorView),
    }),
    'connectors.remove': async (gateway, input) => {
      const { id } = parsed(ConnectorRemove, input)
      await remove(deps, gateway, id)
      return { ok: true }
    },
  }
}

async function add(
  { db, keyring, orgId }: CommandDeps,
  { gatewayId, name: gateway }: CommandGateway,
  input: ConnectorAdd,
): Promise<Record<string, unknown>> {
  const spec = specOf(input)
  return db.tx(async (q) => {
    const others = await listConnectors(q)
    const same = sameConnector(others, spec, gatewayId)
    const id = same?.id ?? newId('connector')
    const name = same?.name ?? freeName(input.type, others)
    refuseOverlap({ id, name, spec, gatewayIds: [gatewayId] }, others)
    const credential = keyring.seal(input.token, id)
    const gatewayIds = same?.gatewayIds ?? [gatewayId]
    await upsertConnector(q, {
      ...{ id, orgId, name, type: input.type, gatewayIds, spec, credential },
      source: 'api',
      managedBy: null,
    })
    const domains = ownedDomains({ name, spec })
    const change = same === undefined ? 'connector.added' : 'connector.updated'
    await changed(q, orgId, { change, gateway, connector: name, type: input.type, domains })
    return { ok: true, id, type: input.type, domains }
  })
}

async function remove(
  { db, orgId }: CommandDeps,
  { gatewayId, name: gateway }: CommandGateway,
  id: string,
): Promise<void> {
  await db.tx(async (q) => {
    const row = await getConnector(q, id)
    const isOurs = row !== undefined && (row.gatewayIds.length === 0 || row.gatewayIds.includes(gatewayId))
    if (!isOurs) {
      throw new ChaperoneError('not_found', {
        error: 'Connector not found',
        detail: `This gateway has no connector ${id}; GET /internal/connectors lists them`,
      })
    }
    refuseManaged(row)
    await deleteConnector(q, id)
    await changed(q, orgId, { change: 'connector.removed', gateway, connector: row.name, type: row.type })
  })
}

function specOf(input: ConnectorAdd): ConnectorSpec {
  const type = input.auth_type ?? (input.header === undefined ? undefined : 'header')
  const header = input.header === undefined ? {} : { header: input.header }
  const parsedSpec = ConnectorSpec.safeParse({
    type: input.type,
    domains: input.domains,
    baseUrl: input.base_url,
    auth: type === undefined ? undefined : { type, ...header },
  })
  if (!parsedSpec.success) {
    throw validationError(parsedSpec.error.issues.map((issue) => `${fieldOf(issue.path)}: ${issue.message}`))
  }
  const problem = missingDomains(parsedSpec.data)
  if (problem !== null) throw validationError([`domains: ${problem}`])
  const authProblem = wrongAuth(parsedSpec.data.auth)
  if (authProblem !== null) throw validationError([`header: ${authProblem}`])
  return parsedSpec.data
}

function fieldOf(path: readonly PropertyKey[]): string {
  if (path[0] === 'baseUrl') return 'base_url'
  return path[0] === 'auth' ? String(path[1] ?? 'auth_type') : path.map(String).join('.')
}

/** Adding the same again (type and domains) stores the new token in the same connector. */
function sameConnector(
  rows: readonly ConnectorRow[],
  spec: ConnectorSpec,
  gatewayId: string,
): ConnectorRow | undefined {
  const domains = (row: Pick<ConnectorRow, 'name' | 'spec'>) => [...ownedDomains(row)].sort().join()
  return rows.find(
    (row) =>
      row.source === 'api' &&
      row.type === spec.type &&
      row.gatewayIds.includes(gatewayId) &&
      domains(row) === domains({ name: row.name, spec }),
  )
}

function refuseOverlap(
  candidate: Pick<ConnectorRow, 'id' | 'name' | 'spec' | 'gatewayIds'>,
  others: readonly ConnectorRow[],
): void {
  const [overlap] = findOverlaps(candidate, others)
  if (overlap === undefined) return
  refuseManaged(overlap.connector)
  throw new ChaperoneError('conflict', {
    error: 'Domain taken',
    detail: `${overlap.domain} belongs to the connector ${overlap.connector.id} (${overlap.connector.type}) already; remove that one first`,
  })
}

function freeName(type: string, rows: readonly ConnectorRow[]): string {
  const names = new Set(rows.map((row) => row.name))
  if (!names.has(type)) return type
  let suffix = 2
  while (names.has(`${type}-${suffix}`)) suffix++
  return `${type}-${suffix}`
}

async function changed(q: Query, orgId: string, details: Record<string, unknown>): Promise<void> {
  await appendAudit(q, { orgId, eventType: 'gateway.updated', details })
  await bumpVersion(q)
}

function connectorView(row: ConnectorRow): Record<string, unknown> {
  return {
    id: row.id,
    type: row.type,
    domains: ownedDomains(row),
    auth_type: authOf(row.spec).type,
    has_token: row.credential !== null,
    source: row.source,
  }
}
