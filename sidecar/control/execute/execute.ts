import { isDeepStrictEqual } from 'node:util'
import { ActionSpec, actionFromSpec } from '../../../core/action/spec.ts'
import type { Connector, ExecuteRequest } from '../../../core/connectors/connector.ts'
import { baseOf } from '../../../core/connectors/domains.ts'
import type { BoundConnector } from '../../../core/connectors/registry.ts'
import { isRefusal } from '../../../core/request/canonical.ts'
import type { Snapshot } from '../../../core/snapshot/snapshot.ts'
import type { DownMessage, ResultBody } from '../../../core/wire/gateway/sync.ts'
import { sleep } from '../../../runtime/sleep.ts'
import { createLru } from '../../collections/lru.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import type { PipelinePorts } from '../../pipeline/ports.ts'
import { credentialTestExchange, orderExchange } from './execute-exchange.ts'
import { answerOf, createReplyCapture } from './execute-reply.ts'

export type Order = Extract<DownMessage, { type: 'execute' }>

export type ExecutorDeps = {
  readonly ports: Pick<PipelinePorts, 'snapshot' | 'clock' | 'newId'>
  /** Runs the pipeline for an exchange. */
  readonly handle: (exchange: Exchange) => Promise<unknown>
}

/**
 * Maximum number of execution orders whose ids are stored to detect duplicates. The least recently used id is evicted.
 */
const MAX_ORDER_IDS = 10_000

/**
 * Executes the action for which a decision token was spent. The action passes the pipeline like every other request:
 * kill switch, agent, permissions and policies are evaluated again, and a record is written. The executor also sends
 * the read that tests a credential, for which only kill switches are evaluated. Never rejects. Refuses an execution
 * order whose id is stored as executed.
 */
export function createOrderExecutor({ ports, handle }: ExecutorDeps): (order: Order) => Promise<ResultBody> {
  const seen = createLru<true>(MAX_ORDER_IDS)
  return async (order) => {
    if (seen.get(order.order_id) === true)
      return failed(
        order,
        'the gateway already executed this action and does not execute it again; submit a new action',
      )
    seen.set(order.order_id, true)
    if (order.credential_test == null) await agentIsKnown(order.agent, ports)
    const request = requestOf(order, ports.snapshot())
    if (typeof request === 'string') return failed(order, request)
    const capture = createReplyCapture()
    const parts = { ...request, ports, reply: capture.reply }
    const exchange =
      order.credential_test == null
        ? orderExchange(order, parts)
        : credentialTestExchange(order.credential_test, parts)
    await handle(exchange)
    return { ...answerOf(exchange, capture), ...numbers(order) }
  }
}

/**
 * Longest wait in milliseconds for a snapshot that contains the agent of an execution order. The execution order may
 * arrive before that snapshot, and its decision token is then already spent.
 */
const NEWS_MS = 2_000
const POLL_MS = 20

async function agentIsKnown(agent: string, { snapshot, clock }: ExecutorDeps['ports']): Promise<void> {
  const until = clock.monotonicMs() + NEWS_MS
  while (snapshot()?.agentsByName.has(agent) !== true && clock.monotonicMs() < until) await sleep(POLL_MS)
}

export type OrderRequest = {
  readonly request: ExecuteRequest
  readonly scheme: 'http' | 'https'
  readonly actionType: string
}

/** Returns the request for the action of an execution order, or the reason why no request can be built. */
function requestOf(order: Order, snapshot: Snapshot | null): OrderRequest | string {
  const parsed = ActionSpec.safeParse(order.action_spec)
  if (snapshot === null || !parsed.success)
    return 'the gateway has no configuration yet, or its version does not understand the action; try again in a moment'
  const { data: spec } = parsed
  const type = spec.type.slice(0, spec.type.indexOf('.'))
  const bound = connectorOf(snapshot, type, order.credential_test ?? null)
  if (bound?.connector.toRequest === undefined) return `this gateway has no connector for ${spec.type}`
  if (order.credential_test != null && !isIdentityRead(bound.connector, spec)) return NO_IDENTITY_READ
  const { resource, parameters } = actionFromSpec(spec, null)
  const given = { type: spec.type, parameters, resource: { ...resource, provider: type } }
  const request = bound.connector.toRequest(given, bound.config)
  if (isRefusal(request)) return request.detail
  return { request, scheme: baseOf(bound.config)?.scheme ?? 'https', actionType: spec.type }
}

const NO_IDENTITY_READ =
  'the action is not the read that tests a credential of this connector type, so it was not sent'

/**
 * Reports whether the action is the read that tests a credential. A test is not evaluated by rules, so it must not send
 * anything else.
 */
function isIdentityRead({ name, identityRead }: Connector, spec: ActionSpec): boolean {
  if (identityRead === undefined) return false
  const { type, resource, parameters } = spec
  const read = { type: identityRead.type, resource: { provider: name }, parameters: identityRead.parameters }
  return isDeepStrictEqual({ type, resource, parameters }, read)
}

/** Returns the connector of the type that has the id; with `id` null, the first connector of the type. */
function connectorOf({ hosts }: Snapshot, type: string, id: string | null): BoundConnector | undefined {
  for (const owners of [...hosts.exact.values(), ...hosts.wildcards.values()]) {
    const owner = owners.find(
      ({ bound }) => bound.connector.name === type && (id === null || bound.entry.id === id),
    )
    if (owner !== undefined) return owner.bound
  }
  return undefined
}

function failed(order: Order, error: string): ResultBody {
  return { ...numbers(order), ok: false, status: null, result: null, error }
}

function numbers({ order_id, action_request_id }: Order) {
  return { order_id, action_request_id }
}
