import { ChaperoneError } from '../../../core/errors.ts'
import type { Invocation } from '../command.ts'
import { storedSession, storeSession } from '../sign-in/stored-sessions.ts'
import { type ApiClient, controlPlane, requireSuccess, sessionStoreKey } from './client.ts'

/**
 * Creates a client of the control plane. The client uses the session of `chaperone login` if there is one, otherwise
 * the token from the environment or the data folder. Requests of the client throw `conflict` when the session has
 * expired.
 */
export function userClient(invocation: Pick<Invocation, 'folder' | 'env'>): ApiClient {
  const place = sessionStoreKey(invocation)
  const session = storedSession(invocation.env, place)
  if (session === undefined) return controlPlane(invocation)
  const client = controlPlane(invocation, { cookie: `svc_session=${session.id}` })
  const send: ApiClient['send'] = async (method, path, body) => {
    const answer = await client.send(method, path, body)
    if (answer.status !== 401) return answer
    storeSession(invocation.env, place, null)
    throw new ChaperoneError('conflict', {
      detail: `The session of ${session.email} has expired. Sign in again: chaperone login`,
    })
  }
  return {
    ...client,
    send,
    call: async (method, path, body) =>
      requireSuccess('control plane', { method, path }, await send(method, path, body)),
  }
}
