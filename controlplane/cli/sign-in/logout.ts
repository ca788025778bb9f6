import { controlPlane, sessionStoreKey } from '../client/client.ts'
import { userClient } from '../client/user-client.ts'
import { type Command, EXIT, type Invocation } from '../command.ts'
import { storedSession, storeSession } from './stored-sessions.ts'

export const logout: Command = {
  name: 'logout',
  summary: 'End the session of chaperone login',
  usage: ['logout'],
  options: {},
  examples: [['chaperone logout', 'end the session and remove it from your home folder']],
  run,
}

async function run(invocation: Invocation): Promise<number> {
  const { env, terminal } = invocation
  const { url } = controlPlane(invocation)
  const place = sessionStoreKey(invocation)
  const session = storedSession(env, place)
  if (session === undefined) {
    terminal.print(`No user is signed in at ${url}.`)
    return EXIT.ok
  }
  try {
    await userClient(invocation).call('POST', '/api/auth/logout', {})
  } finally {
    // The stored session is removed even if the request fails, because the session may have expired.
    storeSession(env, place, null)
  }
  terminal.print(`Signed ${session.email} out at ${url}.`)
  return EXIT.ok
}
