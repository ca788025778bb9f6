import { controlPlane, sessionStoreKey } from '../client/client.ts'
import { userClient } from '../client/user-client.ts'
import { type Command, EXIT, type Invocation } from '../command.ts'
import { storedSession, storeSession } from './stored-sessions.ts'

export const logout: Command = {
  name: 'logout',
  summary: 'Ends the session of chaperone login.',
  usage: ['logout'],
  options: {},
  examples: [['chaperone logout', 'the command line is then without a user again']],
  run,
}

async function run(invocation: Invocation): Promise<number> {
  const { env, terminal } = invocation
  const { url } = controlPlane(invocation)
  const place = sessionStoreKey(invocation)
  const session = storedSession(env, place)
  if (session === undefined) {
    terminal.print(`Nobody is signed in at ${url}.`)
    return EXIT.ok
  }
  try {
    await userClient(invocation).call('POST', '/api/auth/logout', {})
  } finally {
    // Removed in any case: the session may have ended already.
    storeSession(env, place, null)
  }
  terminal.print(`Signed ${session.email} out at ${url}.`)
  return EXIT.ok
}
