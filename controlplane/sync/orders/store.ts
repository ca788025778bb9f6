import type { DownMessage, ResultBody } from '../../../core/wire/gateway/sync.ts'
import type { Query } from '../../db/query.ts'

type Order = Omit<Extract<DownMessage, { type: 'execute' }>, 'type'>

/**
 * PostgreSQL channel for messages between replicas. Payloads: `ask <id> <gateway id>`, `have <id>`, `order <id>
 * <gateway id>`, `result <order id>`.
 */
export const ORDERS_CHANNEL = 'chaperone_orders'

/**
 * Asks the other replicas, by the message `ask`, whether the gateway is connected to them. A replica with a
 * connection answers with `have`.
 */
export async function askForGateway(q: Query, askId: string, gatewayId: string): Promise<void> {
  await q.query('select pg_notify($1, $2)', [ORDERS_CHANNEL, `ask ${askId} ${gatewayId}`])
}

export async function sendHaveGateway(q: Query, askId: string): Promise<void> {
  await q.query('select pg_notify($1, $2)', [ORDERS_CHANNEL, `have ${askId}`])
}

/**
 * Offers an execution order to the replica to which the gateway is connected. The order instructs the gateway to
 * execute an action. Deletes orders that are older than 5 minutes.
 */
export async function offerOrder(q: Query, gatewayId: string, order: Order): Promise<void> {
  await q.query(
    `with old as (delete from execution_orders where created_at < now() - interval '5 minutes'),
     offered as (insert into execution_orders (id, gateway_id, payload) values ($1, $2, $3))
     select pg_notify('${ORDERS_CHANNEL}', $4)`,
    [order.order_id, gatewayId, JSON.stringify(order), `order ${order.order_id} ${gatewayId}`],
  )
}

/**
 * Time limit of an execution order in milliseconds. The replica that offers an order waits for the result until this
 * limit.
 */
export const ORDER_MS = 32_000

/**
 * SQL condition for an execution order that a replica may take. A gateway must not execute an order after the time
 * limit, because the outcome of the order may then be recorded as unknown. The condition is necessary because a replica
 * that crashed does not withdraw the orders that it offered.
 */
const IS_OPEN = `taken_at is null and created_at > now() - interval '${ORDER_MS} milliseconds'`

/** Lists the execution orders for these gateways that a replica may take. */
export async function listOffers(
  q: Query,
  gatewayIds: readonly string[],
): Promise<readonly { readonly id: string; readonly gatewayId: string }[]> {
  if (gatewayIds.length === 0) return []
  const { rows } = await q.query<{ id: string; gatewayId: string }>(
    `select id, gateway_id as "gatewayId" from execution_orders where ${IS_OPEN} and gateway_id = any($1)`,
    [gatewayIds],
  )
  return rows
}

/**
 * Takes an execution order that another replica offered. Only one replica gets the order; for all other replicas,
 * returns undefined.
 */
export async function takeOrder(q: Query, id: string): Promise<Order | undefined> {
  const { rows } = await q.query<{ payload: Order }>(
    `update execution_orders set taken_at = now() where id = $1 and ${IS_OPEN} returning payload`,
    [id],
  )
  return rows[0]?.payload
}

/**
 * Withdraws an offered execution order. Returns true when no replica had taken the order; no replica can take it
 * afterwards.
 */
export async function withdrawOrder(q: Query, id: string): Promise<boolean> {
  const { rowCount } = await q.query('delete from execution_orders where id = $1 and taken_at is null', [id])
  return rowCount === 1
}

/**
 * Value of `processId` for a result that one replica stores for another: the replica that took the order stores the
 * result, and the replica that offered the order reads it. No gateway process has an empty id.
 */
export const PASSED_ON = ''

/**
 * Stores the result of an execution order for the replica that waits for it. `processId`: id of the gateway process
 * that sent the result to this replica, or `PASSED_ON`. Deletes results that are older than 5 minutes.
 */
export async function putResult(q: Query, result: ResultBody, processId: string): Promise<void> {
  await q.query(
    `with old as (delete from execution_results where created_at < now() - interval '5 minutes'),
     put as (insert into execution_results (order_id, process_id, result) values ($1, $4, $2) on conflict do nothing)
     select pg_notify('${ORDERS_CHANNEL}', $3)`,
    [result.order_id, JSON.stringify(result), `result ${result.order_id}`, processId],
  )
}

/**
 * Returns the result of the execution order that was stored for this process id. Deletes the row, because responses of
 * upstreams must not remain stored. Returns undefined when no such result is stored.
 */
export async function takeResult(
  q: Query,
  orderId: string,
  processId: string,
): Promise<ResultBody | undefined> {
  const { rows } = await q.query<{ result: ResultBody }>(
    'delete from execution_results where order_id = $1 and process_id = $2 returning result',
    [orderId, processId],
  )
  return rows[0]?.result
}
