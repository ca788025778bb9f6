import { ChaperoneError } from '../../core/errors.ts'
import { type ApiClient, controlPlane, createClient, refuseUnsuccessful } from './client.ts'
import type { Invocation } from './command.ts'
import { keepSession, keptSession } from './kept-session.ts'

/**
 * The control plane as the user who signed in with `chaperone login`, else with the token of the command line. Throws
 * `conflict` when the session has ended.
 */
export function userClient(invocation: Pick<Invocation, 'folder' | 'env'>): ApiClient {
  const api = controlPlane(invocation)
  const session = keptSession(invocation.env, api.url)
  if (session === undefined) return api
  const client = createClient(api.url, { cookie: `svc_session=${session.id}` }, 'control plane')
  const send: ApiClient['send'] = async (method, path, body) => {
    const answer = await client.send(method, path, body)
    if (answer.status !== 401) return answer
    keepSession(invocation.env, api.url, null)
    throw new ChaperoneError('conflict', {
      detail: `The session of ${session.email} has ended. Sign in again: chaperone login`,
    })
  }
  return {
    url: api.url,
    send,
    call: async (method, path, body) =>
      refuseUnsuccessful('control plane', { method, path }, await send(method, path, body)),
  }
}
