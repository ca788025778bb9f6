import * as z from 'zod'
import type { GatewayList } from '../../../core/wire/gateways.ts'
import type { ApiClient } from '../client/client.ts'
import { replyFields } from '../client/reply-fields.ts'

const Gateways = replyFields<GatewayList>()(
  z.object({
    gateways: z.array(
      z.looseObject({ id: z.string(), name: z.string(), host: z.string(), port: z.number().int() }),
    ),
  }),
)
const HOST = '127.0.0.1'

/** Stores the address of the local gateway in the control plane, for the dashboard. */
export async function recordGatewayAddress(api: ApiClient, port: number): Promise<void> {
  const { gateways } = Gateways.parse(await api.call('GET', '/api/dashboard/gateway'))
  const local = gateways.find(({ name }) => name === 'default/local')
  if (local === undefined || (local.host === HOST && local.port === port)) return
  await api.call('PATCH', '/api/dashboard/gateway', { gateway_id: local.id, host: HOST, port })
}
