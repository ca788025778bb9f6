import * as z from 'zod'
import { ChaperoneError } from '../../../core/errors.ts'
import type { SessionReply } from '../../../core/wire/access/sessions.ts'
import { controlPlane, sessionStoreKey } from '../client/client.ts'
import { replyFields } from '../client/reply-fields.ts'
import { type Command, EXIT, flag, type Invocation, text } from '../command.ts'
import { identityProvider, oidcLogin } from './oidc-login.ts'
import { passwordLogin } from './password-login.ts'
import { cookieOf, type SignInResponse } from './sign-in-request.ts'
import { storeSession } from './stored-sessions.ts'

const Reply = replyFields<SessionReply>()(
  z.looseObject({ user: z.looseObject({ email: z.string(), role: z.string() }) }),
)

export const login: Command = {
  name: 'login',
  summary: 'Sign in at this terminal, to answer approvals and change agents as a user',
  usage: ['login [--email ADDRESS]'],
  details:
    'The session expires after 12 hours without use or after 7 days, and ends with chaperone logout. The session is stored in your home\n' +
    'folder (mode 0600), outside the data folder, together with a proof of earlier sign-ins on this computer. Programs of the same user account\n' +
    'can read your home folder, except under chaperone run --capture.\n' +
    'If the control plane has an identity provider, the sign-in continues in a browser on this computer; --email signs in by password.',
  options: {
    email: {
      type: 'string',
      value: 'ADDRESS',
      help: 'e-mail address for a sign-in by password (default: prompt)',
    },
  },
  examples: [
    ['chaperone login', 'prompt for e-mail address and password, or sign in through the identity provider'],
    ['pass chaperone | chaperone login --email ada@example.com', 'read the password from standard input'],
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
  throw new ChaperoneError('conflict', {
    detail: `${url} accepted the sign-in but sent no session cookie. Check that the address is that of a control plane.`,
  })
}
