import * as z from 'zod'
import { ChaperoneError } from '../../../core/errors.ts'
import { controlPlane, sessionStoreKey } from '../client/client.ts'
import { type Command, EXIT, flag, type Invocation, text } from '../command.ts'
import { identityProvider, oidcLogin } from './oidc-login.ts'
import { passwordLogin } from './password-login.ts'
import { cookieOf, type SignInResponse } from './sign-in-request.ts'
import { storeSession } from './stored-sessions.ts'

const Reply = z.looseObject({ user: z.looseObject({ email: z.string(), role: z.string() }) })

export const login: Command = {
  name: 'login',
  summary:
    'Signs you in at this terminal: approvals, the lifting of stops and changes of agents are then yours.',
  usage: ['login [--email ADDRESS]'],
  details:
    'The session lasts 12 hours without use, 7 days at most, and ends with chaperone logout. It is kept in your home (mode 0600),\n' +
    'outside the data folder, and so is the proof that you signed in here before. Programs of the same user account can read your home, except under chaperone run --capture.\n' +
    'Where the control plane has an identity provider, the sign-in goes on in a browser of this computer; --email signs in by password.',
  options: {
    email: { type: 'string', value: 'ADDRESS', help: 'who signs in by password; asked for otherwise' },
  },
  examples: [
    ['chaperone login', 'asks for e-mail address and password, or leads to the identity provider'],
    ['pass chaperone | chaperone login --email ada@example.com', 'the password from standard input'],
  ],
  run,
}

async function run(invocation: Invocation): Promise<number> {
  const { env, terminal } = invocation
  const { url, prove } = controlPlane(invocation)
  await prove()
  const email = text(invocation, 'email')
  const name = email === undefined ? await identityProvider(url) : null
  const place = sessionStoreKey(invocation)
  const answer =
    name === null ? await passwordLogin(url, { env, place, email }) : await oidcLogin(url, { name, terminal })
  const { id, user } = sessionOf(url, answer)
  storeSession(env, place, { id, email: user.email })
  const facts = { email: user.email, role: user.role, url }
  terminal.print(
    flag(invocation, 'json') ? JSON.stringify(facts) : `Signed in as ${user.email} (${user.role}) at ${url}.`,
  )
  return EXIT.ok
}

function sessionOf(url: string, answer: SignInResponse) {
  const id = cookieOf(answer, /^svc_session=([\w-]+)$/)?.[1]
  if (id !== undefined) return { id, user: Reply.parse(answer.body).user }
  throw new ChaperoneError('conflict', { detail: `${url} began no session` })
}
