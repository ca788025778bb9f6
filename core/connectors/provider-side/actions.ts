import type { Action } from '../../action/action.ts'
import { isRefusal, type Refusal } from '../../request/canonical.ts'
import { scanJson } from '../../request/json/json-scan.ts'
import { runSliced } from '../../sliced.ts'
import type { BodyView, CatalogueRow, Classification, ConnectorConfig, Named } from '../connector.ts'
import { actionsOf, namedAction } from '../named-action.ts'
import { unreadAct } from './batch-file.ts'
import { countFunctionTools } from './function-tools.ts'
import { PROVIDER_KINDS, type ProviderAct } from './kinds.ts'
import { readProviderActs } from './read.ts'
import type { CompiledTable } from './table.ts'

/** Returns the catalogue rows of the actions that a model provider performs for requests. */
export function providerRows(connector: string): readonly CatalogueRow[] {
  return Object.entries(PROVIDER_KINDS).map(([kind, { risk }]) => ({
    type: `${connector}.${kind}`,
    effect: 'write',
    risk,
    parameters: ['field'],
  }))
}

type Given = {
  readonly body: BodyView | undefined
  /** True if the body is a message in a format that the gateway does not read (gRPC). */
  readonly isUnread: boolean
  readonly config: ConnectorConfig
}

/** Adds the actions that the provider performs for the request, one for each host or resource that it accesses. */
export function withProviderActions(
  table: CompiledTable,
  named: Named,
  { body, isUnread, config }: Given,
): Classification {
  const own = named.kind === 'actions' ? named.actions : []
  const acts = readProviderActs(table, own, {
    found: body?.kind === 'json' ? body.found : undefined,
    uploaded: body?.kind === 'opaque' ? body.acts : undefined,
  })
  if (isRefusal(acts)) return acts
  const unread = isUnread && body?.kind !== 'absent' ? unreadActs(table, own) : []
  const all = [...acts, ...unread]
  const functionTools = body?.kind === 'json' ? countFunctionTools(table, body.found ?? []) : 0
  const counted = functionTools === 0 ? named : { ...named, functionTools }
  if (all.length === 0) return counted
  const further = all.map((act) => actionOf(table.table.connector, act, config))
  return { ...counted, kind: 'actions', actions: [...actionsOf(named), ...further] }
}

const UTF8 = new TextEncoder()

/**
 * Returns an action submitted by name, and the actions that the provider performs for it. The action's parameters are
 * read like the body of its request.
 */
export function actionsOfSpec(
  table: CompiledTable,
  action: Action,
  config: ConnectorConfig,
): readonly Action[] | Refusal {
  const scan = runSliced(
    scanJson(UTF8.encode(JSON.stringify(action.parameters)), { keep: [], find: table.find }),
  )
  const acts = isRefusal(scan) ? scan : readProviderActs(table, [action], { found: scan.found })
  if (isRefusal(acts)) return acts
  return [action, ...acts.map((act) => actionOf(table.table.connector, act, config))]
}

/** Returns the action that stands for the messages of a WebSocket, which may make the provider perform any act. */
export function unreadSocketActions({ table }: CompiledTable, config: ConnectorConfig): readonly Action[] {
  return [actionOf(table.connector, unreadAct(UNREAD_SOCKET), config)]
}

const UNREAD_SOCKET = 'the gateway does not read the messages of this WebSocket'

function unreadActs({ table }: CompiledTable, actions: readonly Action[]): readonly ProviderAct[] {
  const names = table.unreadOperations?.map((name) => `${table.connector}.${name}`) ?? []
  const isUnread = actions.some(({ type }) => names.includes(type))
  return isUnread ? [unreadAct(UNREAD)] : []
}

const UNREAD = 'the gateway cannot read this message; send the request to the REST API as JSON'

function actionOf(
  connector: string,
  { kind, target, reaches, field }: ProviderAct,
  config: ConnectorConfig,
): Action {
  const { risk, does } = PROVIDER_KINDS[kind]
  const parts = {
    connector,
    type: `${connector}.${kind}`,
    effect: 'write',
    risk,
    target,
    parameters: { field },
  } as const
  const place = target === undefined ? field : `${target} (${field})`
  return {
    ...namedAction(parts, config),
    byProvider: { kind, reaches },
    nameReason: `For this request the provider ${does}: ${place}.`,
  }
}
