import * as z from 'zod'
import { ChaperoneError } from '../../core/errors.ts'
import { controlPlane, sessionPlace } from './client.ts'
import { type Command, EXIT, flag, type Invocation, text } from './command.ts'
import { keepSession } from './kept-session.ts'
import { openPrompt } from './prompt.ts'

const Reply = z.looseObject({ user: z.looseObject({ email: z.string(), role: z.string() }).optional() })

export const login: Command = {
  name: 'login',
  summary:
    'Signs you in at this terminal: approvals, the lifting of stops and changes of agents are then yours.',
  usage: ['login [--email ADDRESS]'],
  details:
    'The session lasts 12 hours without use, 7 days at most, and ends with chaperone logout. It is kept in your home (mode 0600),\n' +
    'outside the data folder. Programs of the same user account can read your home, except under chaperone run --capture.',
  options: { email: { type: 'string', value: 'ADDRESS', help: 'who signs in; asked for otherwise' } },
  examples: [
    ['chaperone login', 'asks for e-mail address and password'],
    ['pass chaperone | chaperone login --email ada@example.com', 'the password from standard input'],
  ],
  run,
}

async function run(invocation: Invocation): Promise<number> {
  const { env, terminal } = invocation
  const { url, prove } = controlPlane(invocation)
  await prove()
  const { email, password } = await credentials(text(invocation, 'email'))
  const { id, role } = await signIn(url, email, password)
  keepSession(env, sessionPlace(invocation), { id, email })
  const facts = { email, role, url }
  terminal.print(
    flag(invocation, 'json') ? JSON.stringify(facts) : `Signed in as ${email} (${role}) at ${url}.`,
  )
  return EXIT.ok
}

async function credentials(given: string | undefined) {
  using prompt = openPrompt()
  const email = given ?? (await prompt.ask('E-mail: ')).trim()
  return { email, password: await prompt.askSecret('Password: ') }
}

async function signIn(url: string, email: string, password: string) {
  const answer = await post(url, JSON.stringify({ email, password }))
  const body: unknown = await answer.json().catch(() => ({}))
  const id = answer.headers.get('set-cookie')?.match(/^svc_session=([\w-]+)/)?.[1]
  if (!answer.ok || id === undefined) throw refused(url, answer.status, body)
  return { id, role: Reply.parse(body).user?.role ?? '' }
}

async function post(url: string, body: string): Promise<Response> {
  try {
    const headers = { 'content-type': 'application/json' }
    const signal = AbortSignal.timeout(15_000)
    return await fetch(`${url}/api/auth/login`, { method: 'POST', headers, body, signal, redirect: 'error' })
  } catch (cause) {
    throw new ChaperoneError('not_ready', {
      detail: `The control plane does not answer at ${url}. Is it running? chaperone status`,
      cause,
    })
  }
}

function refused(url: string, status: number, body: unknown): ChaperoneError {
  const { message, error } = body as { message?: unknown; error?: unknown }
  const why = typeof message === 'string' ? message : typeof error === 'string' ? error : `status ${status}`
  return new ChaperoneError('conflict', { detail: `${url} refused the sign-in: ${why}` })
}
