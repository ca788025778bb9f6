import { ChaperoneError } from '../../../core/errors.ts'
import type { Namespaces } from '../../../core/wire/access/rights.ts'
import { ExplainQuery, ExplainReply } from '../../../core/wire/explain.ts'
import { type Route, route } from '../../http/route.ts'
import type { Approvals } from '../approvals/service.ts'
import type { Explain } from './explain.ts'
import { grantLines } from './grant-lines.ts'

export type ExplainRoutesDeps = {
  readonly explain: Explain
  readonly approvals: Pick<Approvals, 'grantsFor'>
  /**
   * Resolves a gateway to its id. `gateway`: a name or an id. Without `gateway`, resolves to the agent's gateway; if
   * the agent has none, to the gateway `default/local`; if that does not exist, to the only gateway. Resolves to
   * undefined when there is no gateway.
   */
  readonly gatewayFor: (
    namespaces: Namespaces,
    given: { readonly gateway: string | undefined; readonly agent: string },
  ) => Promise<string | undefined>
}

export function createExplainRoutes({ explain, gatewayFor, approvals }: ExplainRoutesDeps): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/dashboard/explain',
      auth: 'explanations/get',
      isNamespaced: true,
      summary: 'Explains the decision that a request would get; sends nothing',
      query: ExplainQuery,
      statuses: [404],
      response: ExplainReply,
      handler: async ({ namespaces, query: { method, url, agent, gateway, headers = '' } }) => {
        const gatewayId = await gatewayFor(namespaces, { gateway, agent })
        if (gatewayId === undefined) {
          throw new ChaperoneError('not_found', {
            detail: gateway === undefined ? 'There is no gateway yet.' : `There is no gateway ${gateway}.`,
          })
        }
        const explained = explain({ gatewayId, method, url, agent, headers: headersOf(headers) })
        const lines = await grantLines(approvals, { gatewayId, agent, explained })
        return { ...explained, text: [explained.text, ...lines].join('\n') }
      },
    }),
  ]
}

function headersOf(lines: string): readonly string[] {
  const stated = lines.split('\n').filter((line) => line !== '')
  return stated.flatMap((line) => {
    const [, name, value] = /^([^:]+):(.*)$/.exec(line) ?? []
    if (name === undefined || value === undefined)
      throw new ChaperoneError('validation', { detail: 'headers: write each line as "Name: value".' })
    return [name.trim(), value.trim()]
  })
}
