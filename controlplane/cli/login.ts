import * as z from 'zod'
import { ChaperoneError } from '../../core/errors.ts'
import { controlPlane, sessionPlace } from './client.ts'
import { type Command, EXIT, flag, type Invocation, text } from './command.ts'
import { keepDevice, keptDevice } from './kept-devices.ts'
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
    'outside the data folder, and so is the proof that you signed in here before. Programs of the same user account can read your home, except under chaperone run --capture.',
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
  const place = sessionPlace(invocation)
  const known = keptDevice(env, place, email)
  const { id, role, device } = await signIn(url, { email, password }, known)
  keepSession(env, place, { id, email })
  if (device !== undefined) keepDevice(env, place, { email, cookie: device })
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

type Given = { readonly email: string; readonly password: string }

async function signIn(url: string, given: Given, device: string | undefined) {
  const answer = await post(url, JSON.stringify(given), device)
  const body: unknown = await answer.json().catch(() => ({}))
  const cookies = answer.headers.getSetCookie().map((text) => text.split(';')[0] ?? '')
  const id = cookies.find((pair) => /^svc_session=[\w-]+$/.test(pair))?.slice('svc_session='.length)
  if (!answer.ok || id === undefined) throw refused(url, answer.status, body)
  const proof = cookies.find((pair) => /^svc_device_[0-9a-f]{16}=[\w.-]+$/.test(pair))
  return { id, role: Reply.parse(body).user?.role ?? '', device: proof }
}

async function post(url: string, body: string, device: string | undefined): Promise<Response> {
  try {
    const cookie = device === undefined ? {} : { cookie: device }
    const headers = { 'content-type': 'application/json', ...cookie }
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
