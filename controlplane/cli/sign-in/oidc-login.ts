import { createHash, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as z from 'zod'
import { ChaperoneError } from '../../../core/errors.ts'
import type { Terminal } from '../command.ts'
import { refuse, type SignInResponse, signInRequest } from './sign-in-request.ts'

const Options = z.looseObject({
  identity_provider: z.looseObject({ name: z.string() }).nullable().default(null),
})
const Started = z.looseObject({ url: z.string() })
/** As long as the control plane takes the answer. */
const PATIENCE_MS = 10 * 60_000

/** The name of the identity provider of the control plane; null where users sign in by password only. */
export async function identityProvider(url: string): Promise<string | null> {
  const { status, body } = await signInRequest(url, 'GET /api/auth/options')
  // An older control plane has no options.
  if (status === 404) return null
  return Options.parse(body).identity_provider?.name ?? null
}

/**
 * Signs in through the identity provider: the user opens an address in a browser of this machine, which comes back to a
 * port on loopback with a code. Only this process has the secret that the code is exchanged with.
 */
export async function oidcLogin(
  url: string,
  { name, terminal }: { readonly name: string; readonly terminal: Terminal },
): Promise<SignInResponse> {
  const secret = randomBytes(32).toString('base64url')
  const challenge = createHash('sha256').update(secret).digest('base64url')
  const server = createServer()
  const port = await listen(server)
  try {
    const exchanged = untilExchanged(server, { url, secret, port })
    const started = await signInRequest(url, 'POST /api/auth/oidc/start', {
      body: { challenge, loopback_port: port },
    })
    const { url: address } = Started.parse(refuse(url, started).body)
    terminal.warn(`Sign in with ${name}: open this address in a browser on this computer.\n\n  ${address}\n`)
    terminal.warn(`Go on there only if the page shows port ${port}. Ctrl-C ends the sign-in.`)
    return await exchanged
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  return (server.address() as AddressInfo).port
}

type Waiting = { readonly url: string; readonly secret: string; readonly port: number }

/** Other programs and pages of this machine can call the port: a code that is not of this sign-in changes nothing. */
async function untilExchanged(server: Server, waiting: Waiting): Promise<SignInResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<SignInResponse>()
  const timer = setTimeout(() => reject(tooLate()), PATIENCE_MS)
  server.on('request', (request, reply) => {
    const respond = (answer: SignInResponse | null): void => {
      reply.once('close', () => answer && resolve(answer))
      reply.writeHead(answer ? 200 : 400, HEADERS).end(answer ? DONE : REFUSED)
    }
    exchange(request, waiting).then(respond, reject)
  })
  return await promise.finally(() => clearTimeout(timer))
}

const DONE = 'You are signed in at the terminal. Close this page.\n'
const REFUSED = 'This is no answer to the sign-in at the terminal.\n'

/** Null where no session begins. */
async function exchange(
  request: IncomingMessage,
  { url, secret, port }: Waiting,
): Promise<SignInResponse | null> {
  const code = codeOf(request, port)
  if (code === null) return null
  const answer = await signInRequest(url, 'POST /api/auth/oidc/exchange', { body: { code, secret } })
  return answer.status === 200 ? answer : null
}

const HEADERS = {
  'content-type': 'text/plain; charset=utf-8',
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  connection: 'close',
}

/** Null for what is no answer of the control plane. Another host name would be a page that points its name at this machine. */
function codeOf({ method, url = '', headers }: IncomingMessage, port: number): string | null {
  const isOurs = method === 'GET' && headers.host === `127.0.0.1:${port}`
  const [, code = null] = (isOurs && /^\/signed-in\?code=([\w-]{43})$/.exec(url)) || []
  return code
}

function tooLate(): ChaperoneError {
  return new ChaperoneError('conflict', {
    detail: 'Nobody signed in within ten minutes. Start again: chaperone login',
  })
}
