import { HandlesBody, HandlesReply } from '../../../../core/wire/gateway/handles.ts'
import { SYNC_PATHS } from '../../../../core/wire/gateway/sync.ts'
import { type Route, route } from '../../../http/route.ts'
import { assertOwn } from '../../pods/assert-own-agents.ts'
import { gatewayOf } from './principal.ts'

type Deps = { readonly handleOwners: (asked: HandlesBody) => Promise<HandlesReply> }

export function handles({ handleOwners }: Deps): Route {
  return route({
    method: 'POST',
    path: SYNC_PATHS.handles,
    auth: 'gateway',
    summary:
      'Returns for each provider resource, named by the hash of its id, whether this agent or another agent created it, or that its creator is unknown',
    body: HandlesBody,
    response: HandlesReply,
    handler: async ({ principal, body }) => {
      assertOwn(gatewayOf(principal).sidecar, [body.agent])
      return handleOwners(body)
    },
  })
}
