import { connectorOfType } from '../../../core/connectors/registry.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import type { TestCredentialReply } from '../../../core/wire/credentials.ts'
import type { ResultBody } from '../../../core/wire/gateway/sync.ts'
import { newId } from '../../crypto/ids.ts'
import type { Query } from '../../db/query.ts'
import type { OrderRelay } from '../../sync/orders/relay.ts'
import { authOf } from '../connectors/domains.ts'
import type { ConnectorRow } from '../connectors/rows.ts'
import { defaultGateway } from '../gateways/names.ts'

export type TestDeps = { readonly relay: Pick<OrderRelay, 'execute'> }

/**
 * Tests the credential: orders a gateway of the connector to send the provider's cheapest authenticated read, and
 * returns the account that the response names. Throws `conflict` for a connector that cannot be tested, `not_ready`
 * without a connected gateway.
 */
export async function testCredential(
  q: Query,
  { relay }: TestDeps,
  row: ConnectorRow,
): Promise<TestCredentialReply> {
  const { identityRead } = connectorOfType(row.spec.type)
  if (identityRead === undefined)
    throw new ChaperoneError('conflict', {
      detail: `No read request works at every server of type ${row.spec.type}, so the credential cannot be tested. Send a request through the gateway instead.`,
    })
  if (row.credential === null && authOf(row.spec).type !== 'none')
    throw new ChaperoneError('conflict', {
      detail: `The connector ${row.name} has no credential to test. Set it first.`,
    })
  const gatewayId = row.gatewayIds[0] ?? (await defaultGateway(q))?.id
  const { type, parameters } = identityRead
  const orderId = newId('order')
  const result =
    gatewayId === undefined
      ? null
      : await relay.execute(gatewayId, {
          order_id: orderId,
          action_request_id: orderId,
          agent: '',
          action_spec: { type, resource: { provider: row.spec.type }, parameters },
          credential_test: row.id,
        })
  if (result === null)
    throw new ChaperoneError('not_ready', {
      detail: `No connected gateway has the credential of the connector ${row.name}. Start its gateway (in a cluster, a pod whose agent has a permission for the connector), then test again.`,
      retryAfterS: 5,
    })
  return verdict(row, result)
}

function verdict(row: ConnectorRow, { ok, status, result, error }: ResultBody): TestCredentialReply {
  const read = connectorOfType(row.spec.type).identityRead
  const failedTest = { ok: false, identity: null, status }
  if (!ok)
    return { ...failedTest, detail: `The test did not reach the provider: ${sentence(error ?? 'no reason')}` }
  const refused = read?.error?.(result) ?? null
  if (refused !== null)
    return { ...failedTest, detail: `The provider refused the credential: ${sentence(refused)} ${REPLACE}` }
  if (status === 401)
    return { ...failedTest, detail: `The provider refused the credential (401). ${REPLACE}` }
  if (status === 403)
    return {
      ...failedTest,
      detail:
        'The provider accepted the credential for authentication, but the credential lacks the permission to read its owner (403). If requests of agents are refused too, check the permissions of the credential.',
    }
  if (status === null || status >= 300)
    return {
      ...failedTest,
      detail: `The provider answered ${status}, which does not show whether it accepts the credential. Send a request through the gateway instead.`,
    }
  const identity = read?.identity(result) ?? null
  const owner = identity === null ? '' : ` Its owner is ${identity}.`
  return { ok: true, identity, status, detail: `The provider accepted the credential.${owner}` }
}

const REPLACE = 'Replace it with a valid one.'

function sentence(text: string): string {
  return text.endsWith('.') ? text : `${text}.`
}
